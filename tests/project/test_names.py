"""Names in the code: each class name is used once, and identifiers use standard words."""

from __future__ import annotations

import ast
import re
from collections import Counter, defaultdict
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
FOLDERS = ("cli", "core", "detectors", "ingest", "server", "ui")
MODULES = sorted(path for folder in FOLDERS for path in (ROOT / folder).rglob("*.py"))
NAMES_USED_ONCE = ("rows.py", "reading.py")
STANDARD_WORDS = {
    "amiss": "wrong",
    "beside": "next_to",
    "believed": "assumed",
    "courier": "uploader",
    "errand": "task",
    "gravest": "most_severe",
    "house": "custom",
    "keeper": "maintenance",
    "parcel": "encoded",
    "pulse": "heartbeat",
    "said": "stated",
    "seam": "unmarked_restart",
    "seams": "unmarked_restarts",
    "sighting": "detection",
    "sightings": "detections",
    "spoken": "stated",
    "stretch": "segment",
    "stretches": "segments",
    "thinned": "downsampled",
    "thinning": "downsampling",
    "told": "reported",
    "verdict": "classification",
    "verdicts": "classifications",
}
"""Words that identifiers do not use, each with the standard word to use instead."""


def words_of(identifier: str) -> set[str]:
    """The words of a snake_case or CamelCase identifier, in lower case."""
    return {word.lower() for word in re.findall(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])", identifier)}


def identifiers_of(path: Path) -> Iterator[tuple[str, int]]:
    """The names that a module defines, with their lines, except the columns of tables and the fields of REST
    schemas, which are stored and published under their names."""
    tree = ast.parse(path.read_text())
    is_schema = path.is_relative_to(ROOT / "server" / "schemas")
    fixed = {
        node.target
        for node in ast.walk(tree)
        if isinstance(node, ast.AnnAssign)
        and (is_schema or ast.unparse(node.annotation).startswith("Mapped["))
    }
    for node in ast.walk(tree):
        if isinstance(node, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            yield node.name, node.lineno
        elif isinstance(node, ast.arg):
            yield node.arg, node.lineno
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store) and node not in fixed:
            yield node.id, node.lineno
        elif isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store):
            yield node.attr, node.lineno


def test_a_class_name_is_used_once() -> None:
    classes = defaultdict(list)
    for path in MODULES:
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.ClassDef):
                classes[node.name].append(f"{path.relative_to(ROOT)}:{node.lineno}")
    assert {name: places for name, places in classes.items() if len(places) > 1} == {}


@pytest.mark.parametrize("folder", FOLDERS)
def test_identifiers_use_standard_words(folder: str) -> None:
    problems = []
    for path in MODULES:
        if not path.is_relative_to(ROOT / folder):
            continue
        for name, line in identifiers_of(path):
            for word in sorted(words_of(name) & STANDARD_WORDS.keys()):
                problems.append(f"{path.relative_to(ROOT)}:{line}: {name}: use {STANDARD_WORDS[word]!r}")
    assert problems == []


def test_modules_and_folders_use_standard_words() -> None:
    names = {part for path in MODULES for part in path.relative_to(ROOT).with_suffix("").parts}
    assert {name for name in names if words_of(name) & STANDARD_WORDS.keys()} == set()


@pytest.mark.parametrize("name", NAMES_USED_ONCE)
def test_general_module_names_are_used_once(name: str) -> None:
    assert Counter(path.name for path in MODULES)[name] <= 1
