"""The grid of a metric's series for heat maps, and the list of charts of a run."""

from __future__ import annotations

import math

import httpx
import msgspec
import numpy as np
import pytest


@pytest.fixture
def ranks(client: httpx.Client) -> str:
    """A run with twelve ranks of 100 steps, of which rank 10 is slow in the second half; rank 3 has NaN."""
    for rank in range(12):
        values: list[float | str] = [1.0 + 0.01 * rank] * 100
        if rank == 10:
            values[50:] = [5.0] * 50
        if rank == 3:
            values[:10] = ["NaN"] * 10
        body = {"step": list(range(100)), "step_time": values}
        answer = client.post(
            "/api/v1/ingest", json={"project": "p", "run": "r", "columns": body, "labels": {"rank": rank}}
        )
        assert answer.status_code == 200
    columns = {"step": [0, 1, 2], "loss": [3.0, 2.0, 2.5], "tokens": [1, 2, 3], "layers/10/rms": [1, 1, 1]}
    columns["layers/9/rms"] = [2, 2, 2]
    return str(
        client.post("/api/v1/ingest", json={"project": "p", "run": "r", "columns": columns}).json()["run_id"]
    )


def test_ranks_are_rows_in_the_order_of_numbers_and_columns_are_equal_intervals_of_steps(
    client: httpx.Client, ranks: str
) -> None:
    grid = client.get(f"/api/v1/runs/{ranks}/grid", params={"metric": "step_time", "columns": 10}).json()
    assert [labels["rank"] for labels in grid["labels"]] == [str(rank) for rank in range(12)]
    assert (grid["first_step"], grid["last_step"], grid["rows_total"]) == (0, 99, 12)
    mean = np.array(grid["mean"], dtype=float).reshape(12, 10)
    assert mean[10].tolist() == pytest.approx([1.1] * 5 + [5.0] * 5)
    assert math.isnan(mean[3][0])
    assert mean[3][1:].tolist() == pytest.approx([1.03] * 9)


def test_the_binary_form_has_the_same_values_and_a_range_limits_the_steps(
    client: httpx.Client, ranks: str
) -> None:
    query = {"metric": "step_time", "columns": 5, "from": 50}
    text = client.get(f"/api/v1/runs/{ranks}/grid", params=query).json()
    binary = msgspec.msgpack.decode(
        client.get(
            f"/api/v1/runs/{ranks}/grid", params=query, headers={"Accept": "application/msgpack"}
        ).content
    )
    assert text["first_step"] == 50
    for name in ("mean", "minimum", "maximum"):
        expected = np.array(text[name], dtype=float)  # null is NaN
        assert np.frombuffer(binary[name], "<f4").tolist() == pytest.approx(expected.tolist(), nan_ok=True)


def test_a_metric_without_series_is_an_empty_grid(client: httpx.Client, ranks: str) -> None:
    grid = client.get(f"/api/v1/runs/{ranks}/grid", params={"metric": "no"}).json()
    assert (grid["labels"], grid["mean"], grid["first_step"]) == ([], [], None)


def test_every_metric_has_a_chart_in_a_section_and_names_are_sorted_by_their_numbers(
    client: httpx.Client, ranks: str
) -> None:
    charts = client.get(f"/api/v1/runs/{ranks}/charts").json()["charts"]
    assert [chart["metric"] for chart in charts][-3:] == ["tokens", "layers/9/rms", "layers/10/rms"]
    by_metric = {chart["metric"]: chart for chart in charts}
    assert by_metric["loss"]["section"] == "Loss"
    assert by_metric["layers/9/rms"]["section"] == "layers"
    assert (by_metric["step_time"]["series_count"], len(by_metric["step_time"]["series"])) == (12, 8)
    assert by_metric["tokens"]["axis"]
    assert not by_metric["loss"]["axis"]
