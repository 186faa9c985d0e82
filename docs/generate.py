"""Writes the generated parts of the documentation: tables made from the code, between markers.

A generated part of a page is between `<!-- generated: NAME -->` and `<!-- end: NAME -->`. Run by
`make docs`; with `--check` nothing is written, and the exit code is 1 where a page is out of date. A new part
is a function and a line in `GENERATORS`.
"""

from __future__ import annotations

import ast
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from holter.detectors.findings import CATALOGUE, kinds_table
from holter.types import Kind

ROOT = Path(__file__).parents[1]
sys.path.append(str(ROOT / "benchmarks"))

from laboratory.lists import LISTS, describe  # noqa: E402  (the path is set above)

BASE_CLASS = "Thresholds"


@dataclass(frozen=True, kw_only=True)
class ThresholdField:
    """One threshold: its name, its default as the code has it, and its unit, reason and source in words."""

    name: str
    default: str
    text: str


@dataclass(frozen=True, kw_only=True)
class ThresholdClass:
    """A class of thresholds: its module below detectors/, its base classes, its docstring and its fields."""

    name: str
    module: str
    bases: tuple[str, ...]
    text: str
    fields: tuple[ThresholdField, ...]


def read_threshold_classes(folder: Path) -> list[ThresholdClass]:
    """All classes of thresholds in a folder, by module, read from the source without importing it."""
    classes = [
        _read_class(node, path.relative_to(folder).as_posix())
        for path in sorted(folder.rglob("*.py"))
        for node in ast.parse(path.read_text(encoding="utf-8")).body
        if isinstance(node, ast.ClassDef)
    ]
    known = {BASE_CLASS}
    while True:
        derived = {each.name for each in classes if known.intersection(each.bases)} - known
        if not derived:
            return [each for each in classes if each.name in known - {BASE_CLASS}]
        known |= derived


def _read_class(node: ast.ClassDef, module: str) -> ThresholdClass:
    return ThresholdClass(
        name=node.name,
        module=module,
        bases=tuple(ast.unparse(base) for base in node.bases),
        text=_one_line(ast.get_docstring(node) or ""),
        fields=tuple(_read_fields(node)),
    )


def _read_fields(node: ast.ClassDef) -> Iterator[ThresholdField]:
    for statement, following in zip(node.body, [*node.body[1:], None], strict=True):
        if isinstance(statement, ast.AnnAssign) and statement.value is not None:
            yield ThresholdField(
                name=ast.unparse(statement.target),
                default=ast.unparse(statement.value),
                text=_one_line(_string_of(following)),
            )


def _string_of(statement: ast.stmt | None) -> str:
    """The text of a string literal that stands as a statement of its own; "" for any other statement."""
    value = statement.value if isinstance(statement, ast.Expr) else None
    return value.value if isinstance(value, ast.Constant) and isinstance(value.value, str) else ""


def _one_line(text: str) -> str:
    return " ".join(text.split())


def thresholds_table() -> str:
    """All thresholds of the detectors as Markdown: a table for each class, by module."""
    classes = read_threshold_classes(ROOT / "detectors")
    names = {each.name for each in classes}
    parts = []
    for each in classes:
        inherited = [base for base in each.bases if base != BASE_CLASS and base in names]
        others = f" Other fields as in `{inherited[0]}`." if inherited else ""
        rows = [
            f"| `{field.name}` | {_default(field, names)} | {_cell(field.text)} |" for field in each.fields
        ]
        heading = f"**`{each.name}`** (`detectors/{each.module}`): {each.text}{others}"
        parts.append(
            "\n".join([heading, "", "| threshold | default | unit, reason, source |", "|---|---|---|", *rows])
        )
    return "\n\n".join(parts)


def _default(field: ThresholdField, names: set[str]) -> str:
    nested = field.default.removesuffix("()")
    return f"see `{nested}`" if nested in names else f"`{_cell(field.default)}`"


def _cell(text: str) -> str:
    """Text as it can be written into a cell of a Markdown table."""
    return text.replace("|", "\\|")


def short_kinds_table() -> str:
    """The kinds of findings as Markdown, with their meaning and advice."""
    rows = [
        f"| `{kind}` | {_cell(CATALOGUE[kind].meaning)} | {_cell(CATALOGUE[kind].advice)} |"
        for kind in CATALOGUE
        if kind in set(Kind)
    ]
    return "\n".join(["| kind | meaning | what to do |", "|---|---|---|", *rows])


GENERATORS: tuple[tuple[str, str, Callable[[], str]], ...] = (
    ("docs/detection.md", "kinds", short_kinds_table),
    ("docs/thresholds.md", "thresholds", thresholds_table),
    ("docs/findings.md", "catalogue", kinds_table),
    *(("docs/laboratory.md", f"laboratory-{name}", partial(describe, part)) for name, part in LISTS.items()),
)
"""Page, name of the generated part, and the function that returns its Markdown."""


def generate() -> dict[Path, str]:
    """The pages with generated parts, as they should be. Raises ValueError where a page lacks the markers."""
    pages: dict[Path, str] = {}
    for page, name, generator in GENERATORS:
        path = ROOT / page
        text = pages.get(path) or path.read_text(encoding="utf-8")
        begin, end = f"<!-- generated: {name} -->\n", f"<!-- end: {name} -->"
        before, found_begin, rest = text.partition(begin)
        _, found_end, after = rest.partition(end)
        if not (found_begin and found_end):
            raise ValueError(f"{page}: no part between {begin.strip()} and {end}")
        pages[path] = f"{before}{begin}\n{generator().strip()}\n\n{end}{after}"
    return pages


def main() -> int:
    """Write the pages, or with `--check` only compare them; returns the exit code."""
    stale = {path: text for path, text in generate().items() if path.read_text(encoding="utf-8") != text}
    if "--check" in sys.argv[1:]:
        for path in stale:
            sys.stderr.write(f"{path.relative_to(ROOT)} is out of date: run make docs\n")
        return 1 if stale else 0
    for path, text in stale.items():
        path.write_text(text, encoding="utf-8")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
