"""Reports of analysed runs, as JSON, as text for a terminal, and as one stand-alone HTML page."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from holter.attempts.config_diff import list_changes, list_settings
from holter.attempts.goodput import Goodput
from holter.detectors.communication import compare_collectives
from holter.flops.throughput import RunThroughput, throughput_json
from holter.json_values import plain
from holter.types import Diagnostic, Finding, RunData, Unreadable

_UNSAFE_IN_JSON = re.compile(r"[\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff]")
"""What terminals act upon and JSON allows as it is."""


@dataclass(frozen=True, kw_only=True)
class Report:
    """One run as it was read, its findings, and the diagnostics of its launches.

    `path` is as the user gave it. `throughput` and `goodput` are None where they were not computed, or
    where the run has no wall times.
    """

    path: str
    run: str
    attempts: int
    points: int
    data: RunData
    findings: Sequence[Finding]
    diagnostics: Sequence[Diagnostic] = ()
    throughput: RunThroughput | None = None
    goodput: Goodput | None = None
    unreadable: Sequence[Unreadable] = ()

    def as_json(self) -> dict[str, Any]:
        """The report in the form of docs/findings.md."""
        return {
            "path": self.path,
            "run": self.run,
            "attempts": self.attempts,
            "points": self.points,
            "findings": [finding.as_json() for finding in self.findings],
            "remarks": [diagnostic.as_json() for diagnostic in self.diagnostics],
        }

    def as_full_json(self) -> dict[str, Any]:
        """The same with configuration, throughput, collectives, and the locations that could not be read."""
        config = self.data.config
        return {
            **self.as_json(),
            "config": list_settings(config),
            "config_changes": list_changes(config),
            "throughput": self.throughput and throughput_json(self.throughput),
            "spent": self.goodput and self.goodput.as_json(),
            "collectives": compare_collectives(self.data).as_json(),
            "unreadable": [
                {"file": each.source, "place": each.location, "reason": each.reason}
                for each in self.unreadable
            ],
        }


def dump_json(value: Any, *, indent: int | None = None) -> str:
    """Strict JSON: NaN and infinities are the strings that REST uses; what terminals act upon is escaped."""
    text = json.dumps(plain(value), ensure_ascii=False, allow_nan=False, indent=indent)
    return _UNSAFE_IN_JSON.sub(_json_escape, text)


def _json_escape(found: re.Match[str]) -> str:
    return f"\\u{ord(found[0]):04x}"
