"""Reports as JSON: strict, so that NaN and infinities in evidence become the strings REST uses."""

from __future__ import annotations

import json

from holter.attempts.config_diff import list_changes, list_settings
from holter.cli.report import Report
from holter.detectors.communication import compare_collectives
from holter.flops.throughput import throughput_json
from holter.json_values import plain


def line(report: Report) -> str:
    """One run as one line of JSON: the findings contract."""
    return json.dumps(plain(report.as_json()), ensure_ascii=False, allow_nan=False)


def document(reports: list[Report]) -> str:
    """All runs as one indented JSON array, each also with set-up, speed, collectives, and what could not be
    read."""
    runs = []
    for report in reports:
        places = [
            {"file": unreadable.source, "place": unreadable.location, "reason": unreadable.reason}
            for unreadable in report.unreadable
        ]
        config = report.data.config
        setup = {"config": list_settings(config), "config_changes": list_changes(config)}
        speed = {
            "throughput": report.throughput and throughput_json(report.throughput),
            "spent": report.spent and report.spent.as_json(),
        }
        talk = {"collectives": compare_collectives(report.data).as_json()}
        runs.append({**report.as_json(), **setup, **speed, **talk, "unreadable": places})
    return json.dumps(plain(runs), ensure_ascii=False, allow_nan=False, indent=2)
