"""Helpers of the tests of formats and tailing: samples, plain views of records, a sink in memory."""

from __future__ import annotations

import pytest

from tests.support.format_samples import SAMPLES
from tests.support.log_reading import MemorySink, Reading


@pytest.fixture
def memory() -> MemorySink:
    return MemorySink()


@pytest.fixture(scope="session")
def reading() -> Reading:
    return Reading()


@pytest.fixture(scope="session", params=sorted(SAMPLES))
def sample(request: pytest.FixtureRequest) -> tuple[str, bytes]:
    return SAMPLES[request.param]


@pytest.fixture(scope="session", params=sorted(key for key in SAMPLES if len(SAMPLES[key][1]) < 2000))
def small_sample(request: pytest.FixtureRequest) -> tuple[str, bytes]:
    return SAMPLES[request.param]
