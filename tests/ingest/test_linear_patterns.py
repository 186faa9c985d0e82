"""Every regular expression that reads foreign text takes time linear in its length, whatever the text is."""

from __future__ import annotations

import os
import re

import pytest

import holter.ingest
from tests.support.regex_attacks import Attack, UsedPattern, attacks, patterns_of

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
PATTERNS = patterns_of(holter.ingest)


def is_linear(used: UsedPattern, attack: Attack) -> bool:
    """Whether the time grows linearly with the text; a busy machine gets several attempts."""
    for size in (16, 32, 64, 512, 2048, SIZE // 8):  # an exponential pattern must not run at full size
        seconds = used.seconds(attack.text(size))
        if seconds > CAP / 2 and used.seconds(attack.text(size)) > CAP / 2:
            return False
    if seconds < HARMLESS:
        return True
    for _ in range(4):
        full = used.seconds(attack.text(SIZE))
        if full < NOTICED or (full < CAP and full < GROWTH * used.seconds(attack.text(SIZE // 2))):
            return True
    return False


@pytest.mark.slow
@pytest.mark.parametrize("used", PATTERNS, ids=lambda used: used.location)
def test_a_pattern_takes_linear_time_in_its_worst_cases(used: UsedPattern) -> None:
    for attack in attacks(used.pattern):
        assert is_linear(used, attack), (used.location, used.pattern.pattern, attack)


def test_there_are_patterns_to_test() -> None:
    assert len(PATTERNS) > 300


@pytest.mark.slow
@pytest.mark.parametrize(
    "pattern", [r"(?:\w+: ?\S+?\|?)+$", r"\d+/\d+ \[", r"epoch\s*[:=]?\s*\d", r"=+ ?Concise"]
)
def test_patterns_that_backtrack_too_long_are_noticed(pattern: str) -> None:
    used = UsedPattern("here", re.compile(pattern), "search")
    assert not all(is_linear(used, attack) for attack in attacks(used.pattern))
