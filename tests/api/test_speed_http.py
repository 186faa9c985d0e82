"""Response times, with a wide margin for a busy machine; docs/rest.md has the figures."""

from __future__ import annotations

import time
from collections.abc import Callable

import httpx
import msgspec
import numpy as np
import pytest

from holter.server.context import ServerContext
from holter.types import Batch, Column, Delivery, SeriesKey

pytestmark = pytest.mark.slow

SERIES = 20
POINTS = 10_000


def shortest_ms(work: Callable[[], object], *, times: int = 9) -> float:
    """The shortest of several measurements, in milliseconds: other load only adds to a measurement."""
    took = []
    for _ in range(times):
        began = time.perf_counter()
        work()
        took.append(1000 * (time.perf_counter() - began))
    return min(took)


def test_charts_of_20_series_with_10_000_points_are_fast(
    client: httpx.Client, context: ServerContext
) -> None:
    random = np.random.default_rng(0)
    columns = tuple(
        Column(key=SeriesKey(f"metric/{number}"), values=random.normal(size=POINTS).cumsum())
        for number in range(SERIES)
    )
    steps = np.arange(POINTS)
    batch = Batch(steps=steps, times=1.7e9 + steps, columns=columns)
    context.store.accept(Delivery(project="p", run="r", writer="w", batch_id="1", batch=batch))
    run_id = client.get("/api/v1/runs").json()["runs"][0]["id"]
    wanted = [("metric", f"metric/{number}") for number in range(SERIES)]

    def ask() -> None:
        answer = client.get(f"/api/v1/runs/{run_id}/data", params=wanted)
        assert len(msgspec.json.decode(answer.content)["series"]) == SERIES

    as_logged = shortest_ms(ask)
    context.store.compact()
    compacted = shortest_ms(ask)
    assert as_logged < 1000, f"{as_logged:.0f} ms as logged"  # 50 ms when nothing else runs
    assert compacted < 1000, f"{compacted:.0f} ms compacted"


def test_ingest_of_msgpack_is_mostly_the_work_of_the_store(client: httpx.Client) -> None:
    values = np.random.default_rng(0).normal(size=1000).astype("<f8").tobytes()
    columns = [{"metric": f"metric/{number}", "values": values} for number in range(100)]
    headers = {"Content-Type": "application/msgpack"}
    first = iter(range(0, 10**9, 1000))

    def send() -> None:
        steps = np.arange(1000, dtype="<i8") + next(first)
        body = {"project": "p", "run": "r", "steps": steps.tobytes(), "columns": columns}
        answer = client.post("/api/v1/ingest", content=msgspec.msgpack.encode(body), headers=headers)
        assert answer.json()["accepted"] == 100_000

    took = shortest_ms(send)
    assert took < 3000, f"{took:.0f} ms for 100,000 points"
