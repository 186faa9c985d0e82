"""Skips tests whose requirements this machine lacks, with a message; where CI is set they fail."""

from __future__ import annotations

import os
from collections import Counter
from importlib.util import find_spec
from typing import NoReturn

import pytest

MISSING = "NOT TESTED, missing on this machine: "
"""Begins the reason of such a skip; `list_missing` lists these reasons at the end of a run."""


def in_ci() -> bool:
    """Return whether the environment variable CI is set, to anything but the empty string."""
    return bool(os.environ.get("CI"))


def skip_missing(requirement: str, *, fails_in_ci: bool = True) -> NoReturn:
    """Skip the test since the machine lacks `requirement` (say how to install it).

    In CI the test fails, except for permissions that a container may not have (`fails_in_ci=False`).
    """
    if fails_in_ci and in_ci():
        pytest.fail(f"missing on this machine: {requirement}")
    pytest.skip(MISSING + requirement)


def needs_package(name: str) -> pytest.MarkDecorator:
    """Skip tests where a package is missing; not imported, which may take seconds in every process."""
    return pytest.mark.skipif(find_spec(name) is None, reason=f"no package {name}")


def list_missing(reporter: pytest.TerminalReporter) -> None:
    """List what was not tested since this machine lacks it, so that nobody overlooks it."""
    skipped = reporter.stats.get("skipped", [])
    reasons = [str(report.longrepr[2]) for report in skipped if isinstance(report.longrepr, tuple)]
    missing = Counter(reason.removeprefix("Skipped: ") for reason in reasons if MISSING in reason)
    for reason, count in missing.items():
        reporter.write_line(f"*** {count} tests {reason} ***", red=True, bold=True)
