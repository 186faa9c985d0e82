"""Skips tests whose requirements this machine lacks, with a message; where CI is set they fail."""

from __future__ import annotations

import os
from typing import NoReturn

import pytest

MISSING = "NOT TESTED, missing on this machine: "
"""Begins the reason of such a skip; tests/conftest.py lists these reasons at the end of a run."""


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
