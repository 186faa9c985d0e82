"""A run in a database, and findings about it."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from sqlalchemy import Engine

from tests.support.alerting import Clock, add_run
from tests.support.endpoints import endpoint
from tests.support.receivers import certificate, mail_server, slack

__all__ = ["certificate", "endpoint", "mail_server", "slack"]


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def run_id(engine: Engine) -> int:
    return add_run(engine)


@pytest.fixture
def new_run() -> Callable[..., int]:
    return add_run
