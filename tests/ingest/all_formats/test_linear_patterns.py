"""Every regular expression that reads foreign text takes time linear in its length, whatever the text is.

Patterns are found in modules, classes and cached tables, and in calls of `re` with a literal.
"""

from __future__ import annotations

import importlib
import os
import re
from functools import lru_cache
from pathlib import Path
from types import ModuleType

import pytest

import holter
from holter.ingest.config_files.parse import MAX_VALUE_LENGTH
from holter.ingest.names import MAX_METRIC_LENGTH
from tests.support.machine_speed import is_within
from tests.support.regex_attacks import (
    Attack,
    InlineCall,
    UsedPattern,
    attacks,
    inline_calls,
    modules_of,
    patterns_of,
    used_inline,
)

SIZE = 1024 * int(os.environ.get("HOLTER_TEST_PATTERN_KIB", "16"))
"""Characters of the longest attack: 16 Ki here, 64 Ki with `make test-patterns`."""
CAP = 1.0
"""Seconds of processor time for `SIZE` characters, whatever the text."""
HARMLESS = 0.001
"""Seconds for an eighth of `SIZE` below which even quadratic growth is not felt at `SIZE`."""
NOTICED = 0.05
"""Seconds above which growth is measured: shorter times are mostly the clock's own error."""
GROWTH = 3.2
"""Times that twice the text may take: 2 is linear, 4 quadratic."""
_PACKAGE = Path(holter.__file__).parent
_FOLDERS = ("attempts", "cli", "client", "detectors", "flops", "ingest", "server", "settings", "ui")
_FILES = [
    *_PACKAGE.glob("[a-z]*.py"),
    *(path for folder in _FOLDERS for path in (_PACKAGE / folder).rglob("*.py")),
]
MODULES = sorted(
    ".".join(("holter", *path.relative_to(_PACKAGE).with_suffix("").parts)).removesuffix(".__init__")
    for path in _FILES
)
"""All modules by their names: what patterns they have is found in one process, when these are tested."""
_NAMES = ("holter.attempts", "holter.detectors", "holter.flops", "holter.metric_units", "holter.roles")
"""Where patterns are those of names and values of settings, which are bounded before they get there."""
LONGEST_NAME = max(MAX_METRIC_LENGTH, MAX_VALUE_LENGTH)
NAME_CAP = 1.0
"""Seconds of processor time for a pattern and a name; results are cached by name."""


@lru_cache
def all_modules() -> list[ModuleType]:
    """Every module that has or uses patterns, imported."""
    files = (importlib.import_module(f"holter.{path.stem}") for path in sorted(_PACKAGE.glob("[a-z]*.py")))
    return [*files, *modules_of(importlib.import_module(f"holter.{folder}") for folder in _FOLDERS)]


@lru_cache
def all_calls() -> list[InlineCall]:
    """Every call of a function of `re`."""
    return inline_calls(all_modules())


@lru_cache
def all_patterns() -> list[UsedPattern]:
    """Every pattern, once."""
    return [*patterns_of(all_modules()), *used_inline(all_calls())]


@lru_cache
def patterns_by_module() -> dict[str, list[UsedPattern]]:
    """The patterns by the module in which they are found."""
    patterns: dict[str, list[UsedPattern]] = {}
    for used in all_patterns():
        patterns.setdefault(used.module, []).append(used)
    return patterns


def is_linear(used: UsedPattern, attack: Attack, attempts: int = 4) -> bool:
    """Whether the time grows linearly with the text; a busy machine gets several attempts."""
    for size in (16, 32, 64, 512, 2048, SIZE // 8):  # an exponential pattern must not run at full size
        seconds = used.seconds(attack.text(size))
        if seconds > CAP / 2 and not is_within(used.seconds(attack.text(size)), CAP / 2):
            return False
    if seconds < HARMLESS:
        return True
    for _ in range(attempts):
        full = used.seconds(attack.text(SIZE))
        if full < NOTICED or (is_within(full, CAP) and full < GROWTH * used.seconds(attack.text(SIZE // 2))):
            return True
    return False


def is_quick_for_the_longest_name(used: UsedPattern, attack: Attack) -> bool:
    """Whether the longest name takes little time; a busy machine gets several attempts."""
    text = attack.text(LONGEST_NAME)
    return any(is_within(used.seconds(text), NAME_CAP) for _ in range(3))


@pytest.mark.slow
@pytest.mark.parametrize("module", MODULES)
def test_a_pattern_takes_linear_time_in_its_worst_cases(module: str) -> None:
    is_quick = is_quick_for_the_longest_name if module.startswith(_NAMES) else is_linear
    for used in patterns_by_module().get(module, ()):
        for attack in attacks(used.pattern):
            assert is_quick(used, attack), (used.location, used.pattern.pattern, attack)


def test_every_pattern_is_in_a_module_that_is_tested() -> None:
    assert patterns_by_module().keys() <= {*MODULES}


def test_there_are_patterns_to_test() -> None:
    assert len(all_patterns()) > 400
    folders = {used.location.split(".")[1] for used in all_patterns()}
    assert {"ingest", "server", "cli", "detectors", "flops", "roles", "metric_units"} <= folders


def test_every_pattern_is_one_that_is_tested() -> None:
    """Compiled patterns are made at import, where they are found; other calls have a literal pattern."""
    known = {used.pattern.pattern for used in all_patterns()}
    for call in all_calls():
        if call.pattern is None:
            assert call.method == "compile", f"{call.location}: compile the pattern at import"
        elif call.method == "compile":
            assert call.pattern in known, f"{call.location}: not found in its module: {call.pattern!r}"
    in_functions = {
        call.location.split(":")[0] for call in all_calls() if call.pattern is None and not call.at_import
    }
    assert in_functions == {
        "holter.flops.peaks",  # a table that is read once, and found
        "holter.ingest.console.layouts.line_layouts",  # texts and digits: no choice to return to
        "holter.ingest.slurm.log_lines",  # kinds of lines that are made at import, and found
        "holter.ingest.telemetry.kernel_lines",
    }


@pytest.mark.slow
@pytest.mark.parametrize(
    "pattern", [r"(?:\w+: ?\S+?\|?)+$", r"\d+/\d+ \[", r"epoch\s*[:=]?\s*\d", r"=+ ?Concise"]
)
def test_patterns_that_backtrack_too_long_are_noticed(pattern: str) -> None:
    used = UsedPattern("here", re.compile(pattern), "search")
    assert not all(is_linear(used, attack, attempts=1) for attack in attacks(used.pattern))
