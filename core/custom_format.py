"""Custom log formats: patterns with named groups, as `[[formats]]` in holter.toml defines them.

The patterns are matched by RE2 in time linear in the length of the text, so that no pattern can hang a
reader.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar

import re2  # type: ignore[import-untyped]

LONGEST_PATTERN = 10_000
STEP, TIME, METRIC, VALUE = "step", "time", "metric", "value"
LABEL_GROUPS = frozenset({"rank", "local_rank", "host", "node", "dataset"})
"""Groups whose value is a label of the line's other values."""
_NAME = r"[A-Za-z0-9][\w.-]{0,60}"


@dataclass(frozen=True, kw_only=True)
class CustomFormat:
    """A custom log format: each named group of its patterns is a metric, except the reserved ones.

    `pattern` (or several `patterns`, of which the first that matches reads a line) has a group `step`; a
    pattern without it belongs to the step of the line before. `time` is a date or Unix seconds; `rank`,
    `local_rank`, `host`, `node`, `dataset` and the groups named in `labels` are labels; `metric` and `value`
    together give one metric's name and value. `names` renames groups: `{lm_loss = "train/loss"}`.
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
        for setting, names in (("labels", self.labels), ("names", self.names)):
            if unknown := [name for name in names if name not in groups]:
                raise ValueError(f"{setting}: {unknown[0]!r} is no group of the pattern")

    @property
    def every_pattern(self) -> tuple[str, ...]:
        """`pattern` and `patterns`, in the order in which they are tried."""
        return tuple(pattern for pattern in (self.pattern, *self.patterns) if pattern)


def _check(pattern: str) -> set[str]:
    """The groups of a pattern. Raises ValueError where it is invalid or has no groups."""
    if len(pattern) > LONGEST_PATTERN:
        raise ValueError(f"pattern: at most {LONGEST_PATTERN:,} characters expected")
    groups = set(compiled(pattern).groupindex)
    if not groups:
        raise ValueError(f"pattern: named groups expected, as in (?P<loss>\\S+), not {pattern!r}")
    if groups & {METRIC, VALUE} and not {METRIC, VALUE} <= groups:
        raise ValueError(f"pattern: both groups, metric and value, or neither expected: {pattern!r}")
    if compiled(pattern).search("") is not None:
        raise ValueError(f"pattern: must not match the empty text: {pattern!r}")
    return groups


def compiled(pattern: str | bytes, *, in_lines: bool = False) -> Any:
    """The compiled pattern; `in_lines`: for a block of lines, of which it matches one at a time.

    Raises ValueError with RE2's reason and the pattern.
    """
    options = re2.Options()
    options.log_errors = False
    options.never_nl = in_lines
    options.max_mem = 64 << 20
    if in_lines and pattern.isascii():  # a line may have bytes that are not UTF-8
        options.encoding = re2.Options.Encoding.LATIN1
    try:
        return re2.compile(pattern, options)
    except re2.error as error:
        detail = error.args[0] if error.args else error
        reason = detail.decode(errors="replace") if isinstance(detail, bytes) else str(detail)
        hint = "; look-around and back references are not supported" if "perl" in reason else ""
        raise ValueError(f"pattern: {reason}{hint}, in {pattern!r}") from error
