"""The core of trackio's interface on PostgreSQL."""

from __future__ import annotations

import httpx

from holter.settings import Settings
from tests.support.servers import Serve, serve
from tests.support.trackio_project import TrackioProject

__all__ = ["serve"]


def test_rows_resumes_and_repetitions_are_stored_as_on_sqlite(postgres_url: str, serve: Serve) -> None:
    def row(step: int, **more: object) -> dict[str, object]:
        named = {"run": "first", "run_id": "r", "log_id": f"{step}"}
        return {**named, "metrics": {"loss": 1.0 + step}, "step": step, **more}

    with (
        serve(Settings(database_url=postgres_url)) as (context, address),
        httpx.Client(base_url=address, timeout=60) as client,
    ):
        trackio = TrackioProject(context, client, "demo")
        begun = {"_Created": "2026-11-23T14:00:00+00:00", "lr": 0.1}
        again = {"_Created": "2026-11-23T15:00:00+00:00", "lr": 0.2}
        trackio.log(row(0, config=begun), row(1), row(2))
        trackio.log(*(row(step, timestamp=f"2026-11-23T14:00:0{step}+00:00") for step in range(5)))
        assert trackio.answer("get_run_summary", run_id="r")["last_step"] == 4
        trackio.log(row(3, config=again, log_id="again"))
        trackio.log(row(0, run_id="other"))
        listed = {(run["id"], run["name"]) for run in trackio.answer("get_runs_for_project")}
        assert listed == {("r", "first"), ("other", "first")}
        assert trackio.points() == [*((0, step, 1.0 + step) for step in range(5)), (1, 3, 4.0)]
        assert trackio.detail()["config"] == {"lr": 0.2}
        assert trackio.points(run="first-2") == [(0, 0, 1.0)]
