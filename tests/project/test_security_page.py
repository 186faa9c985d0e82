"""docs/security.md: every promise names a test that exists, every limit its setting and present default."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path

import pytest

from holter.settings import Settings

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "security.md").read_text()


def rows(heading: str) -> list[list[str]]:
    """The cells of every row of the tables below a heading, without the heads of tables."""
    section = re.split(r"^## ", PAGE, flags=re.MULTILINE)
    (text,) = (part for part in section if part.startswith(heading + "\n"))
    tables = re.findall(r"^\|[-|]+\|\n((?:\|.*\|\n)+)", text, re.MULTILINE)
    return [
        [cell.strip() for cell in row.strip("|").split("|")] for table in tables for row in table.splitlines()
    ]


@cache
def functions_in(path: Path) -> frozenset[str]:
    """The names of the functions in a file.

    Not by `ast`: that of Python 3.11 fails where another thread of the process parses, too (gh-106905).
    """
    return frozenset(re.findall(r"^\s*(?:async )?def (\w+)\(", path.read_text(), re.MULTILINE))


@pytest.mark.parametrize(("promise", "tests"), rows("Promises and their tests"))
def test_a_promise_names_tests_that_exist(promise: str, tests: str) -> None:
    named = re.findall(r"`(tests/[\w/]+\.py)::(test_\w+)`", tests)
    assert named, f"name a test: {promise}"
    for path, name in named:
        assert name in functions_in(ROOT / path), f"{path} has no test {name}"


def test_every_limit_that_can_be_set_has_its_present_default() -> None:
    settings = Settings.model_construct()
    checked = 0
    for _, limit, setting, _ in rows("Limits"):
        if setting == "(fixed)":
            continue
        value: object = settings
        for part in setting.strip("`").split("."):
            value = getattr(value, part)
        assert re.match(rf"{value:g}\b", limit), f"{setting} is {value}, the page says {limit}"
        checked += 1
    assert checked >= len(type(settings.http).model_fields)
