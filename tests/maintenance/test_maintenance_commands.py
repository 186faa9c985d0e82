"""Keeping house as people do it: commands, REST, and the server's own thread."""

from __future__ import annotations

import io
import time
from pathlib import Path

import httpx
import numpy as np
import pyarrow.parquet
import pytest
from sqlalchemy import Engine, select, text, update

from holter.server.clock import Clock, uptime
from holter.server.database import reading, writing
from holter.server.maintenance.vacuum import vacuum
from holter.server.maintenance.worker import MIN_STABLE_CLOCK
from holter.server.models import AnalysisRow, Chunk, RunRecord
from holter.server.store import Store
from holter.settings import Settings
from holter.settings.projects import ProjectSettings, RetentionSettings
from tests.support.servers import Printed, Serve
from tests.support.stored_runs import LOSS, add_incident, delivery, run_id_of, some_run

SIZE = 30_000


def long_run(engine: Engine, name: str = "a", *, days: float = 0) -> int:
    """A run that has been quiet for so many days, and was analysed."""
    store = Store(engine)
    store.start()
    steps = np.arange(SIZE)
    run_id = store.accept(delivery(steps, {LOSS: np.cos(steps)}, batch_id="0", run=name)).run_id
    store.compact(run_id)
    store.close()
    add_incident(engine, run_id, start=500, end=600)
    then = time.time() - days * 86_400
    with writing(engine) as connection:
        connection.execute(update(RunRecord).where(RunRecord.id == run_id).values(updated_at=then))
        connection.execute(update(AnalysisRow).where(AnalysisRow.run_id == run_id).values(seen_at=then))
    return run_id


def test_retention_command_reports_and_applies(
    holter: Printed, engine: Engine, database_url: str, tmp_path: Path
) -> None:
    long_run(engine, days=40)
    long_run(engine, "fresh", days=2)
    long_run(engine, "old", days=400)
    where = ("--database-url", database_url)
    assert "nothing to do" in holter("db", "thin", *where)[1]
    (tmp_path / "holter.toml").write_text(
        '[projects."l*".retention]\nfull_resolution_days = 30\nthin_to = 50\ndelete_after_days = 365\n'
    )
    code, printed, complaint = holter("db", "thin", "--dry-run", *where)
    assert code == 0, complaint
    assert "llm/old: would be: deleted" in printed
    assert f"of {SIZE:,} points retained" in printed
    assert "fresh" not in printed
    assert run_id_of(engine, "old")
    code, done, _ = holter("db", "thin", *where)
    assert code == 0
    assert done == printed.replace("would be: ", "")
    assert "nothing to do" in holter("db", "thin", *where)[1]
    assert holter("db", "check", *where)[0] == 0


def test_delete_and_vacuum_commands_report_results(
    holter: Printed, engine: Engine, database_url: str
) -> None:
    where = ("--database-url", database_url)
    some_run(engine)
    long_run(engine, "large")
    assert "there is no run 'nothing'" in holter("db", "delete", "nothing", *where)[2]
    assert "llm/large and all its data are deleted" in holter("db", "delete", "llm/large", *where)[1]
    code, printed, complaint = holter("db", "vacuum", *where)
    assert code == 0, complaint
    before, after = (int(word.replace(",", "")) for word in printed.split() if word[0].isdigit())
    assert 0 < after <= before
    assert holter("db", "vacuum", "--full", *where)[0] == 0
    assert holter("db", "check", *where)[0] == 0


def test_vacuum_gives_every_free_page_back(sqlite_engine: Engine, sqlite_url: str) -> None:
    with writing(sqlite_engine) as connection:
        connection.execute(text("CREATE TABLE bulk (blob BLOB)"))
        for _ in range(300):
            connection.execute(text("INSERT INTO bulk VALUES (randomblob(100000))"))
    with writing(sqlite_engine) as connection:
        connection.execute(text("DROP TABLE bulk"))
    sizes = vacuum(sqlite_engine)
    assert sizes.before - sizes.after > 29_000_000
    sqlite_engine.dispose()
    path = Path(sqlite_url.removeprefix("sqlite:///"))
    assert path.stat().st_size == sizes.after


def retaining(database_url: str) -> Settings:
    projects = {"llm": ProjectSettings(retention=RetentionSettings(full_resolution_days=30))}
    return Settings(database_url=database_url, projects=projects)


def settled_clock() -> Clock:
    """A clock that has gone evenly for long enough to thin by it."""
    passed = 0.0
    clock = Clock(wall=lambda: time.time() + passed, uptime=lambda: uptime() + passed)
    passed = MIN_STABLE_CLOCK
    return clock


def test_server_downsamples_in_the_background(serve: Serve, engine: Engine, database_url: str) -> None:
    run_id = long_run(engine, days=40)
    with (
        serve(retaining(database_url), clock=settled_clock()) as (context, address),
        httpx.Client(base_url=address, timeout=60) as client,
    ):
        end = time.monotonic() + 60
        while not any(one.logged > one.points for one in context.store.series(run_id)):
            assert time.monotonic() < end
            time.sleep(0.05)
        (run,) = client.get("/api/v1/runs").json()["runs"]
        (series,) = client.get(f"/api/v1/runs/{run['id']}/series").json()["series"]
        assert series["points"] < 0.5 * series["logged"] == 0.5 * SIZE
        data = client.get(f"/api/v1/runs/{run['id']}/data", params={"metric": "loss"}).json()
        assert data["series"][0]["thinned"] == SIZE - series["points"]


def test_a_run_is_deleted_over_rest_and_comes_anew(serve: Serve, engine: Engine, database_url: str) -> None:
    number = long_run(engine)
    with (
        serve(Settings(database_url=database_url)) as (_, address),
        httpx.Client(base_url=address, timeout=60) as client,
    ):
        body = {"project": "llm", "run": "a", "columns": {"step": [SIZE], "loss": [1.0]}}
        run = client.post("/api/v1/ingest", json=body).json()["run_id"]
        page = f"/api/v1/runs/{run}"
        assert client.delete(page).status_code == 204
        assert client.get(page).status_code == 404
        assert client.delete(page).status_code == 404
        assert client.get("/api/v1/runs").json()["runs"] == []
        assert client.get("/api/v1/incidents", params={"state": "all"}).json()["incidents"] == []
        again = client.post("/api/v1/ingest", json=body).json()
        assert (again["accepted"], again["run_id"], again["duplicate"]) == (1, run, False)
        assert client.get(page).json()["points"] == 1
        end = time.monotonic() + 60
        with engine.connect() as connection:
            while connection.scalar(select(RunRecord.id).where(RunRecord.id == number)) is not None:
                assert time.monotonic() < end
                time.sleep(0.05)
                connection.rollback()
            assert connection.scalar(select(Chunk.id)) is None


@pytest.mark.parametrize("form", ["csv", "parquet"])
def test_a_run_is_exported_over_rest(serve: Serve, sqlite_engine: Engine, sqlite_url: str, form: str) -> None:
    run_id = long_run(sqlite_engine)
    with reading(sqlite_engine) as connection:
        public_id = connection.scalar(select(RunRecord.public_id).where(RunRecord.id == run_id))
    with (
        serve(Settings(database_url=sqlite_url)) as (_, address),
        httpx.Client(base_url=address, timeout=60) as client,
    ):
        answer = client.get(f"/api/v1/runs/{public_id}/export", params={"format": form})
        assert answer.status_code == 200
        assert f'filename="{public_id}.{form}"' in answer.headers["content-disposition"]
        assert client.get("/api/v1/runs/nothing/export").status_code == 404
        assert client.get(f"/api/v1/runs/{public_id}/export", params={"format": "xls"}).status_code == 422
    if form == "csv":
        assert answer.text.count("\n") == SIZE + 1
    else:
        assert pyarrow.parquet.read_table(io.BytesIO(answer.content)).num_rows == SIZE
