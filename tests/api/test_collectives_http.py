"""A run's collectives over HTTP: speed against the hardware, cost, ranks that others wait for."""

from __future__ import annotations

from typing import Any

import httpx
import pytest

from tests.support.servers import Post

RANKS, CALLS = 4, 40
KIND = {"steps": "sequence number", "comm": "0xaa", "collective": "AllReduce", "size": "16MiB"}


def inspected(post: Post, run: str, *, late: int) -> str:
    """What the Inspector tells of an all-reduce for which everybody waits for one rank."""
    body: dict[str, Any] = {}
    for rank in range(RANKS):
        time = 100.0 if rank == late else 600.0
        body = post(
            {
                "step": list(range(CALLS)),
                "collective_time (us)": [time] * CALLS,
                "busbw_gbs": [2**24 * 1.5 / time / 1e3] * CALLS,
                "message_bytes": [2.0**24] * CALLS,
            },
            run=run,
            writer=f"rank{rank}",
            labels={**KIND, "rank": str(rank), "host": "n1"},
            config={"gpu": {"name": "NVIDIA H100 80GB HBM3"}},
        )
    return str(body["run_id"])


def test_collectives_are_compared_with_the_hardware_and_rank_with_rank(
    client: httpx.Client, post: Post
) -> None:
    run = inspected(post, "inspected", late=2)
    body = client.get(f"/api/v1/runs/{run}/collectives").json()
    [one] = body["collectives"]
    assert (one["collective"], one["calls"], one["bytes"], one["ranks"]) == ("AllReduce", CALLS, 2**24, RANKS)
    assert one["busbw_gbs"] == pytest.approx(2**24 * 1.5 / 100 / 1e3)
    assert one["link"] == "NVLink 4"
    assert one["share"] == pytest.approx(one["busbw_gbs"] / 450)
    [waited] = body["waited_for"]
    assert (waited["rank"], waited["host"], waited["last"]) == ("2", "n1", CALLS)
    assert waited["mean_wait"] == pytest.approx(500e-6)
    assert body["series_left_out"] == 0


def test_new_points_are_compared_at_once_and_a_run_without_collectives_has_none(
    client: httpx.Client, post: Post
) -> None:
    run = inspected(post, "growing", late=1)
    assert client.get(f"/api/v1/runs/{run}/collectives").json()["waited_for"][0]["rank"] == "1"
    more = {"step": list(range(CALLS, 4 * CALLS)), "collective_time (us)": [50.0] * 3 * CALLS}
    for rank in range(RANKS):
        columns = {**more, "collective_time (us)": [50.0 if rank == 3 else 500.0] * 3 * CALLS}
        post(columns, run="growing", writer=f"rank{rank}", labels={**KIND, "rank": str(rank), "host": "n1"})
    assert client.get(f"/api/v1/runs/{run}/collectives").json()["waited_for"][0]["rank"] == "3"
    plain = post({"step": [1, 2], "loss": [2.0, 1.0]}, run="plain")["run_id"]
    assert client.get(f"/api/v1/runs/{plain}/collectives").json() == {
        "collectives": [],
        "collectives_count": 0,
        "overlap": [],
        "waited_for": [],
        "behind": [],
        "series_left_out": 0,
    }


def test_an_unknown_run_has_no_collectives(client: httpx.Client) -> None:
    assert client.get("/api/v1/runs/nowhere/collectives").status_code == 404
