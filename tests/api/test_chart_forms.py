"""Chart data in msgpack equals the JSON bit for bit."""

from __future__ import annotations

import math
from typing import Any

import httpx
import msgspec
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from holter.server.context import ServerContext
from holter.server.read_models.chart_budget import fair_share, read_limited_chart
from holter.types import Batch, Column, Delivery, SeriesKey

MSGPACK = "application/msgpack"


def unpacked(answer: Any) -> Any:
    """The binary form's buffers as the lists that JSON has."""
    if isinstance(answer, dict):
        return {
            name: np.frombuffer(value, "<i8" if name == "step" else "<f8").tolist()
            if isinstance(value, bytes)
            else unpacked(value)
            for name, value in answer.items()
        }
    return [unpacked(one) for one in answer] if isinstance(answer, list) else answer


def without_nan(answer: Any) -> Any:
    """JSON has null where a log has no clock."""
    if isinstance(answer, dict):
        return {name: without_nan(value) for name, value in answer.items()}
    if isinstance(answer, list):
        return [without_nan(one) for one in answer]
    return None if isinstance(answer, float) and math.isnan(answer) else answer


@pytest.mark.parametrize("points", [10, 1000])
def test_msgpack_equals_json(client: httpx.Client, context: ServerContext, points: int) -> None:
    random = np.random.default_rng(1)
    for attempt, start in enumerate((-(2**52), -(2**52) + 3_000)):
        steps = start + np.arange(5_000)
        values = random.normal(size=5_000)
        values[[7, 99]] = math.nan, -math.inf
        times = np.where(random.random(5_000) < 0.5, math.nan, steps * 1e-3)
        columns = (
            Column(key=SeriesKey("loss", (("rank", "3"),)), values=values),
            Column(key=SeriesKey("lr"), values=values[:4], rows=np.arange(4)),
        )
        batch = Batch(steps=steps, times=times, columns=columns, attempt=str(attempt))
        context.store.accept(Delivery(project="p", run="r", writer="w", batch_id=str(attempt), batch=batch))
        context.store.compact()
    run_id = client.get("/api/v1/runs").json()["runs"][0]["id"]
    address, wanted = f"/api/v1/runs/{run_id}/data", {"metric": ["loss", "lr", "absent"], "points": points}
    plain = client.get(address, params=wanted)
    packed = client.get(address, params=wanted, headers={"Accept": f"{MSGPACK}, application/json"})
    assert (plain.headers["content-type"], packed.headers["content-type"]) == ("application/json", MSGPACK)
    assert plain.headers["vary"] == packed.headers["vary"] == "Accept"
    binary = without_nan(unpacked(msgspec.msgpack.decode(packed.content)))
    assert binary == plain.json()
    assert len(packed.content) < len(plain.content)
    refused = client.get(address, headers={"Accept": MSGPACK})
    assert (refused.status_code, refused.headers["content-type"]) == (422, "application/json")


def test_newest_points_are_columns_in_both_formats(client: httpx.Client, context: ServerContext) -> None:
    nothing, steps = np.full(3, np.nan), np.array([1, 2, 3])
    rank = SeriesKey("loss", (("rank", "3"),))
    columns = (
        Column(key=SeriesKey("loss"), values=np.array([3.0, 2.0, math.nan])),
        Column(key=rank, values=np.array([5.0]), rows=np.array([1])),
        Column(key=SeriesKey("acc"), values=np.array([0.1, 0.2, math.inf])),
    )
    batch = Batch(steps=steps, times=nothing, columns=columns)
    stored = context.store.accept(Delivery(project="p", run="newest", writer="w", batch_id="1", batch=batch))
    address = f"/api/v1/runs/{stored.public_id}/latest"
    body = client.get(address).json()
    assert list(zip(body["metric"], body["labels"], body["step"], body["value"], strict=True)) == [
        ("acc", {}, 3, "Infinity"), ("loss", {}, 3, "NaN"), ("loss", {"rank": "3"}, 2, 5.0)
    ]  # fmt: skip
    assert body["attempt"] == [0, 0, 0]
    assert body["time"] == [None, None, None]
    packed = msgspec.msgpack.decode(client.get(address, headers={"Accept": MSGPACK}).content)
    assert np.frombuffer(packed["step"], "<i8").tolist() == body["step"]
    assert np.isnan(np.frombuffer(packed["time"])).all()
    assert np.frombuffer(packed["value"])[[0, 2]].tolist() == [math.inf, 5.0]
    assert packed["metric"] == body["metric"]
    assert client.get("/api/v1/runs/nothere/latest").status_code == 404


def test_newest_points_of_a_run_without_labels_follow_its_points(
    client: httpx.Client, context: ServerContext
) -> None:
    for step in range(3):
        values = np.array([step / 3])
        columns = tuple(
            Column(key=SeriesKey(name), values=values) for name in ("lr", 'l"oß\n', "a/b")[: 2 + step]
        )
        batch = Batch(steps=np.array([step]), times=np.array([1.7e9 + step]), columns=columns)
        one = Delivery(project="p", run="plain", writer="w", batch_id=str(step), batch=batch)
        address = f"/api/v1/runs/{context.store.accept(one).public_id}/latest"
        if step == 1:
            context.store.compact()
        names = sorted(column.key.metric for column in columns)
        for _ in range(2):
            body = client.get(address).json()
            assert (body["metric"], body["labels"]) == (names, [{}] * len(names))
            assert body["step"] == [step] * len(names)
            assert body["time"] == [1.7e9 + step] * len(names)
            assert body["value"] == [step / 3] * len(names)
            packed = msgspec.msgpack.decode(client.get(address, headers={"Accept": MSGPACK}).content)
            assert (packed["metric"], packed["labels"]) == (names, [{}] * len(names))
            assert np.frombuffer(packed["value"]).tolist() == body["value"]


def test_the_points_of_an_answer_are_limited_and_divided_between_its_series(
    client: httpx.Client, context: ServerContext, monkeypatch: pytest.MonkeyPatch
) -> None:
    steps = np.arange(4000)
    columns = tuple(
        Column(key=SeriesKey("loss", (("rank", str(rank)),)), values=np.sin(steps * (rank + 1.0)))
        for rank in range(10)
    ) + tuple(
        Column(key=SeriesKey("loss", (("eval", str(number)),)), values=np.ones(40), rows=np.arange(40))
        for number in range(10)
    )
    batch = Batch(steps=steps, times=steps * 1.0, columns=columns)
    delivery = Delivery(project="llm", run="a", writer="w", batch_id="1", batch=batch)
    run_id = context.store.accept(delivery).public_id
    context.store.compact()
    monkeypatch.setattr(read_limited_chart, "__kwdefaults__", {"budget": 10_400})

    def answer(points: int) -> Any:
        parameters: dict[str, Any] = {"metric": "loss", "points": points}
        return client.get(f"/api/v1/runs/{run_id}/data", params=parameters).json()

    limited = answer(100_000)
    assert limited["points"] == 1000  # 10 short series leave 10,000 points to 10 long ones
    for series in limited["series"]:
        returned = sum(len(segment["step"]) for segment in series["segments"])
        expected = (40, 40) if "eval" in series["labels"] else (500, 1002)
        assert expected[0] <= returned <= expected[1]
    assert answer(20)["points"] == 20


def test_many_attempts_do_not_multiply_the_points_of_an_answer(
    client: httpx.Client, context: ServerContext, monkeypatch: pytest.MonkeyPatch
) -> None:
    steps = np.arange(2000)
    for attempt in range(10):
        columns = (Column(key=SeriesKey("loss"), values=np.sin(steps + attempt)),)
        batch = Batch(steps=steps, times=steps * 1.0, columns=columns, attempt=str(attempt))
        delivery = Delivery(project="llm", run="a", writer="w", batch_id=str(attempt), batch=batch)
        run_id = context.store.accept(delivery).public_id
    monkeypatch.setattr(read_limited_chart, "__kwdefaults__", {"budget": 1000})
    chart = client.get(f"/api/v1/runs/{run_id}/data", params={"metric": "loss", "points": 1000}).json()
    assert sum(len(segment["step"]) for segment in chart["series"][0]["segments"]) < 2000
    assert chart["points"] < 1000


@given(st.lists(st.integers(0, 10**6), max_size=50), st.integers(500, 10**6))
def test_a_fair_share_uses_the_budget_and_does_not_exceed_it(counts: list[int], budget: int) -> None:
    share = fair_share(counts, budget)
    used = sum(min(count, share) for count in counts)
    assert used <= budget
    if sum(counts) > budget:
        assert used + len(counts) > budget  # no further point for each


def test_a_chart_ends_early_when_the_server_stops(client: httpx.Client, context: ServerContext) -> None:
    steps = np.arange(100)
    batch = Batch(
        steps=steps, times=steps * 1.0, columns=(Column(key=SeriesKey("loss"), values=steps * 1.0),)
    )
    context.store.accept(Delivery(project="p", run="r", writer="w", batch_id="1", batch=batch))
    run = client.get("/api/v1/runs").json()["runs"][0]["id"]
    context.begin_to_stop()
    answer = client.get(f"/api/v1/runs/{run}/data", params={"metric": "loss"})
    assert answer.status_code == 503
    assert answer.json()["detail"] == "the server is stopping"
