"""Every regular expression that reads foreign text takes time linear in its length, whatever the text is.

Patterns are found in modules, classes and cached tables, and in calls of `re` with a literal.
"""

from __future__ import annotations

import importlib
import os
import re
from pathlib import Path

import pytest

import holter.attempts
import holter.cli
import holter.client
import holter.detectors
import holter.flops
import holter.ingest
import holter.server
import holter.settings
import holter.ui
from holter.ingest.config_files.parse import MAX_VALUE_LENGTH
from holter.ingest.names import MAX_METRIC_LENGTH
from tests.support.regex_attacks import (
    Attack,
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
_FILES = sorted(Path(holter.__file__).parent.glob("[a-z]*.py"))
MODULES = [
    *(importlib.import_module(f"holter.{path.stem}") for path in _FILES),
    *modules_of(
        (
            holter.attempts, holter.cli, holter.client, holter.detectors, holter.flops, holter.ingest,
            holter.server, holter.settings, holter.ui,
        )
    ),
]  # fmt: skip
CALLS = inline_calls(MODULES)
PATTERNS = [*patterns_of(MODULES), *used_inline(CALLS)]
_NAMES = ("holter.attempts", "holter.detectors", "holter.flops", "holter.metric_units", "holter.roles")
OF_NAMES = [used for used in PATTERNS if used.location.startswith(_NAMES)]
"""Patterns of names and values of settings, which are bounded before they get there."""
OF_TEXT = [used for used in PATTERNS if used not in OF_NAMES]
LONGEST_NAME = max(MAX_METRIC_LENGTH, MAX_VALUE_LENGTH)
NAME_CAP = 1.0
"""Seconds of processor time for a pattern and a name; results are cached by name."""


def is_linear(used: UsedPattern, attack: Attack, attempts: int = 4) -> bool:
    """Whether the time grows linearly with the text; a busy machine gets several attempts."""
    for size in (16, 32, 64, 512, 2048, SIZE // 8):  # an exponential pattern must not run at full size
        seconds = used.seconds(attack.text(size))
        if seconds > CAP / 2 and used.seconds(attack.text(size)) > CAP / 2:
            return False
    if seconds < HARMLESS:
        return True
    for _ in range(attempts):
        full = used.seconds(attack.text(SIZE))
        if full < NOTICED or (full < CAP and full < GROWTH * used.seconds(attack.text(SIZE // 2))):
            return True
    return False


@pytest.mark.slow
@pytest.mark.parametrize("used", OF_NAMES, ids=lambda used: used.location)
def test_a_pattern_of_names_is_quick_for_the_longest_name(used: UsedPattern) -> None:
    for attack in attacks(used.pattern):
        text = attack.text(LONGEST_NAME)
        assert min(used.seconds(text) for _ in range(3)) < NAME_CAP, (used.pattern.pattern, attack)


@pytest.mark.slow
@pytest.mark.parametrize("used", OF_TEXT, ids=lambda used: used.location)
def test_a_pattern_takes_linear_time_in_its_worst_cases(used: UsedPattern) -> None:
    for attack in attacks(used.pattern):
        assert is_linear(used, attack), (used.location, used.pattern.pattern, attack)


def test_there_are_patterns_to_test() -> None:
    assert len(PATTERNS) > 400
    folders = {used.location.split(".")[1] for used in PATTERNS}
    assert {"ingest", "server", "cli", "detectors", "flops", "roles", "metric_units"} <= folders


def test_every_pattern_is_one_that_is_tested() -> None:
    """Compiled patterns are made at import, where they are found; other calls have a literal pattern."""
    known = {used.pattern.pattern for used in PATTERNS}
    for call in CALLS:
        if call.pattern is None:
            assert call.method == "compile", f"{call.location}: compile the pattern at import"
        elif call.method == "compile":
            assert call.pattern in known, f"{call.location}: not found in its module: {call.pattern!r}"
    in_functions = {
        call.location.split(":")[0] for call in CALLS if call.pattern is None and not call.at_import
    }
    assert in_functions == {
        "holter.flops.peaks",  # a table that is read once, and found
        "holter.ingest.console.line_layouts",  # texts and digits: no choice to return to
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
