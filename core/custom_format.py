"""A format of a user's own: patterns with named groups, as `[[formats]]` in holter.toml says them.

The patterns are matched by RE2, in time proportional to the text whatever the pattern: none can hang a
reader, on whatever line.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar

import re2  # type: ignore[import-untyped]

LONGEST_PATTERN = 10_000
STEP, TIME, METRIC, VALUE = "step", "time", "metric", "value"
LABEL_GROUPS = frozenset({"rank", "local_rank", "host", "node", "dataset"})
"""Groups that label a line's values wherever they stand."""
_NAME = r"[A-Za-z0-9][\w.-]{0,60}"


@dataclass(frozen=True, kw_only=True)
class CustomFormat:
    """How the lines of one house's logs are read: each group is a metric, but for those with a meaning.

    `pattern` (or several `patterns`, of which the first that fits reads a line) has a group `step`; one
    without speaks of the step of the line before. `time` is a date or Unix seconds; `rank`, `local_rank`,
    `host`, `node`, `dataset` and the groups named in `labels` label the values; `metric` and `value`
    together name one. `names` says what groups are to be called: `{lm_loss = "train/loss"}`.
    """

    __pydantic_config__: ClassVar[dict[str, str]] = {"extra": "forbid"}

    name: str
    pattern: str = ""
    patterns: tuple[str, ...] = ()
    labels: tuple[str, ...] = ()
    names: Mapping[str, str] = field(default_factory=dict, hash=False)

    def __post_init__(self) -> None:
        if re2.fullmatch(_NAME, self.name) is None:
            raise ValueError(f"name: letters, digits, - and _ expected, not {self.name!r}")
        if not self.every_pattern:
            raise ValueError(f"pattern: a regular expression with named groups expected for {self.name!r}")
        groups: set[str] = set()
        for pattern in self.every_pattern:
            groups |= _check(pattern)
        if STEP not in groups:
            raise ValueError(r"pattern: a group for the step expected: (?P<step>\d+)")
        for setting, said in (("labels", self.labels), ("names", self.names)):
            if unknown := [name for name in said if name not in groups]:
                raise ValueError(f"{setting}: {unknown[0]!r} is no group of the pattern")

    @property
    def every_pattern(self) -> tuple[str, ...]:
        """`pattern` and `patterns`, in the order in which they are tried."""
        return tuple(one for one in (self.pattern, *self.patterns) if one)


def _check(pattern: str) -> set[str]:
    """The groups of a pattern. Raises ValueError where it is none, or says nothing."""
    if len(pattern) > LONGEST_PATTERN:
        raise ValueError(f"pattern: at most {LONGEST_PATTERN:,} characters expected")
    groups = set(compiled(pattern).groupindex)
    if not groups:
        raise ValueError(f"pattern: named groups expected, as in (?P<loss>\\S+), not {pattern!r}")
    if groups & {METRIC, VALUE} and not {METRIC, VALUE} <= groups:
        raise ValueError(f"pattern: both groups, metric and value, or neither expected: {pattern!r}")
    if compiled(pattern).search("") is not None:
        raise ValueError(f"pattern: something that is not empty expected to fit, not anything: {pattern!r}")
    return groups


def compiled(pattern: str | bytes, *, in_lines: bool = False) -> Any:
    """The pattern for RE2; `in_lines`: for a block of lines, of which it fits one at a time.

    Raises ValueError in the words of whoever wrote the pattern.
    """
    options = re2.Options()
    options.log_errors = False
    options.never_nl = in_lines
    options.max_mem = 64 << 20
    if in_lines and pattern.isascii():  # bytes that are no UTF-8 may stand in a line
        options.encoding = re2.Options.Encoding.LATIN1
    try:
        return re2.compile(pattern, options)
    except re2.error as error:
        said = error.args[0] if error.args else error
        told = said.decode(errors="replace") if isinstance(said, bytes) else str(said)
        hint = "; look-around and back references are not taken, for they can hang" if "perl" in told else ""
        raise ValueError(f"pattern: {told}{hint}, in {pattern!r}") from error
