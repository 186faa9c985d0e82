"""Numbers and their nouns agree, by one helper for all messages."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from holter.plurals import counted, verb

ROOT = Path(__file__).resolve().parents[2]
OWN_PLURAL = re.compile(r"""\w\(s\)[ ,:."]|\{\s*['"]s?['"] if [^}]*== 1 else|['"]s['"] \* \(""")


def test_only_one_is_singular() -> None:
    assert [counted(number, "step") for number in (0, 1, 2, 1_200)] == [
        "0 steps", "1 step", "2 steps", "1,200 steps",
    ]  # fmt: skip
    assert (counted(1, "entry", "entries"), counted(2, "entry", "entries")) == ("1 entry", "2 entries")
    assert (verb(1, "is", "are"), verb(0, "is", "are")) == ("is", "are")


@pytest.mark.parametrize("folder", ["cli", "core", "server", "detectors", "ingest"])
def test_plurals_are_formed_by_the_helper(folder: str) -> None:
    problems = [
        f"{path.relative_to(ROOT)}:{number}: {line.strip()}"
        for path in (ROOT / folder).rglob("*.py")
        for number, line in enumerate(path.read_text().splitlines(), 1)
        if path.name != "plurals.py" and OWN_PLURAL.search(line)
    ]
    assert not problems, "use holter.plurals"
