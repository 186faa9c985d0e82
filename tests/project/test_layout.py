"""Rules about files and imports that no linter checks."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
FOLDERS = ("core", "cli", "detectors", "ingest", "server", "ui", "alembic")
MODULES = sorted(path for folder in FOLDERS for path in (ROOT / folder).rglob("*.py"))
MAX_LINES = 600


def name_of(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


# one test for all files: thousands of tests take seconds by their number alone
def test_no_file_is_too_long() -> None:
    lines = {name_of(path): len(path.read_text().splitlines()) for path in MODULES}
    assert not {name: number for name, number in lines.items() if number > MAX_LINES}, "split them"


def test_every_module_begins_with_a_docstring() -> None:
    without = [name_of(path) for path in MODULES if not path.read_text().startswith('"""')]
    assert not without, "begin with a docstring of one sentence"


def test_the_migrations_folder_is_no_package() -> None:
    assert not (ROOT / "alembic" / "__init__.py").exists(), "it would shadow the library of that name"


def test_every_plug_in_file_is_listed() -> None:
    """A format, detector or channel that is not listed is never used, so a missing line is an error."""
    for folder, marker, registries in (
        ("ingest", "def sniff", ("ingest/all_formats.py", "ingest/stdout/__init__.py")),
        ("detectors", "def detect(", ("detectors/__init__.py",)),
        ("server/channels", "def send(", ("server/channels/__init__.py",)),
    ):
        listed = "".join((ROOT / registry).read_text() for registry in registries)
        for path in sorted((ROOT / folder).rglob("*.py")):
            if path.parent.name == "offline":  # what is guessed of a file that is given by hand claims none
                continue
            protocol = "Protocol):" in path.read_text()
            if path.stem != "__init__" and not protocol and marker in path.read_text():
                assert re.search(rf"\b{path.stem}\b", listed), f"list {name_of(path)} in {registries[0]}"


def test_names_of_test_files_are_unique() -> None:
    stems = [path.name for path in (ROOT / "tests").rglob("test_*.py")]
    assert len(stems) == len(set(stems)), sorted({name for name in stems if stems.count(name) > 1})


TESTS = sorted(path for path in (ROOT / "tests").rglob("*.py") if "node_modules" not in path.parts)


def test_tests_share_helpers_through_tests_support_only() -> None:
    """No test, conftest or helper imports from another test or from a conftest."""
    outside = {name_of(path): modules for path in TESTS if (modules := imported_from_tests(path))}
    assert not outside, "move to tests/support/ what they import"


def imported_from_tests(path: Path) -> list[str]:
    """What a file imports from tests/ that is not in tests/support."""
    modules = []
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.ImportFrom):
            modules += [f"{node.module}.{alias.name}" for alias in node.names]
        elif isinstance(node, ast.Import):
            modules += [alias.name for alias in node.names]
    imported = [module for module in modules if module.split(".")[0] == "tests"]
    return [module for module in imported if not module.startswith("tests.support.")]


def test_versions_are_pinned_without_addresses() -> None:
    lines = (ROOT / "constraints.txt").read_text().split()
    assert lines
    assert not [line for line in lines if not re.fullmatch(r"[\w.\-\[\]]+==[\w.+!]+", line)]


def test_importing_holter_needs_the_standard_library_only(tmp_path: Path) -> None:
    """A training process imports the client, which must not import the server's packages."""
    program = (
        "import sys, holter; holter.init; "
        "print([m for m in ('numpy', 'fastapi', 'sqlalchemy', 'httpx', 'pydantic') if m in sys.modules])"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], cwd=tmp_path, capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == "[]"


def test_the_extras_are_those_of_the_readme() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert project["dependencies"] == []
    assert set(project["optional-dependencies"]) == {"apprise", "detect", "fast", "parquet", "server"}
