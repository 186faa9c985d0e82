"""Runs of other trackers come into the store once, to the last bit; a second import adds what is new."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
from sqlalchemy import Engine, select

from holter.ingest.offline.tracker_runs import build_series
from holter.ingest.trackers import find_collection
from holter.server.database import connect, reading
from holter.server.import_export.import_targets import HttpImportTarget, LocalImportTarget, ServerAddress
from holter.server.import_export.importer import ImportContext
from holter.server.import_export.trackers import TrackerImportResult, import_collection
from holter.server.maintenance.downsampling import downsample_run
from holter.server.maintenance.horizon import load_horizon
from holter.server.migrate import upgrade
from holter.server.models import ConfigRow, Project, RunRecord
from holter.server.store import Store
from holter.settings import Settings
from holter.types import Series, SeriesKey
from tests.support.servers import Printed, Serve
from tests.support.stored_runs import delivery, running_store

SOURCES = ["mlflow.db", "mlruns", "trackio", "neptune"]
LOSS = SeriesKey("train/loss")


def bring(engine: Engine, path: Path, *, project: str | None = None) -> list[TrackerImportResult]:
    collection = find_collection(path)
    assert collection is not None
    with running_store(engine) as store:
        here = LocalImportTarget(ImportContext(engine=engine, store=store))
        return list(import_collection(collection, path, here.run, project=project))


def stored(engine: Engine, project: str, run: str) -> dict[SeriesKey, Series]:
    query = select(RunRecord.id).join(Project).where(Project.name == project, RunRecord.name == run)
    with reading(engine) as connection:
        return Store(engine).read(connection.execute(query).scalar_one())


def of_source(path: Path) -> list[dict[SeriesKey, Series]]:
    collection = find_collection(path)
    assert collection is not None
    all_series = [
        build_series(run.read())[0].all_points() for run in collection.runs(path) if not run.skip_reason
    ]
    return [series for series in all_series if series]


def same(some: dict[SeriesKey, Series], others: dict[SeriesKey, Series]) -> bool:
    return some.keys() == others.keys() and all(
        np.array_equal(
            getattr(some[key], name), getattr(others[key], name), equal_nan=name in ("time", "value")
        )
        for key in some
        for name in ("attempt", "step", "time", "value")
    )


def counts(taken: Sequence[TrackerImportResult]) -> list[tuple[str, int, int]]:
    return [(result.run, result.points, result.known) for result in taken if not result.reason]


@pytest.mark.parametrize("name", SOURCES)
def test_tracker_import_is_complete_and_idempotent(engine: Engine, tracker_files: Path, name: str) -> None:
    first = bring(engine, tracker_files / name)
    taken = [result for result in first if not result.reason]
    expected = of_source(tracker_files / name)
    assert [result.points for result in taken] == [sum(map(len, series.values())) for series in expected]
    for result, series in zip(taken, expected, strict=True):
        assert same(stored(engine, result.project, result.run), series)
    again = [result for result in bring(engine, tracker_files / name) if not result.reason]
    assert [(result.run, result.points, result.known) for result in again] == [
        (result.run, 0, result.points) for result in taken
    ]
    assert [result.run_id for result in again] == [result.run_id for result in taken]
    for result, series in zip(taken, expected, strict=True):
        assert same(stored(engine, result.project, result.run), series)
    assert Store(engine).check() == []


@pytest.mark.slow
@pytest.mark.parametrize("name", SOURCES)
def test_tracker_import_through_a_server_equals_a_local_one(
    engine: Engine, database_url: str, serve: Serve, tracker_files: Path, tmp_path: Path, name: str
) -> None:
    collection = find_collection(tracker_files / name)
    assert collection is not None
    expected = of_source(tracker_files / name)
    with (
        serve(Settings(database_url=database_url)) as (_, address),
        HttpImportTarget(ServerAddress(address)) as sender,
    ):
        taken = [
            result
            for result in import_collection(collection, tracker_files / name, sender.run)
            if not result.reason
        ]
        again = [
            result
            for result in import_collection(collection, tracker_files / name, sender.run)
            if not result.reason
        ]
    for result, series in zip(taken, expected, strict=True):
        assert same(stored(engine, result.project, result.run), series)
    assert [(result.run_id, result.points, result.known) for result in again] == [
        (result.run_id, 0, result.points) for result in taken
    ]
    local = connect(f"sqlite:///{tmp_path / 'local.db'}")
    upgrade(local)
    assert [result for result in bring(local, tracker_files / name) if not result.reason] == taken
    for result in taken:
        assert config_of(local, result.run_id) == config_of(engine, result.run_id)
    local.dispose()
    assert Store(engine).check() == []


def config_of(engine: Engine, public_id: str) -> tuple[object, object]:
    """What a run is set up with, and whether it has ended."""
    with reading(engine) as connection:
        run_id, ended = connection.execute(
            select(RunRecord.id, RunRecord.finished_at).where(RunRecord.public_id == public_id)
        ).one()
    return Store(engine).config(run_id), ended is None


def test_new_points_are_added_through_a_server(
    sqlite_engine: Engine, sqlite_url: str, serve: Serve, tracker_files: Path
) -> None:
    collection = find_collection(tracker_files / "mlflow.db")
    assert collection is not None
    bring(sqlite_engine, tracker_files / "mlflow.db")
    with sqlite3.connect(tracker_files / "mlflow.db") as writer:
        (run,) = writer.execute("SELECT run_uuid FROM runs WHERE name = 'running'").fetchone()
        row = ("loss", 9.5, 1_700_000_000_009, run, 9)
        writer.execute("INSERT INTO metrics VALUES (?, ?, ?, ?, ?, 0)", row)
    writer.close()
    with (
        serve(Settings(database_url=sqlite_url)) as (_, address),
        HttpImportTarget(ServerAddress(address)) as sender,
    ):
        taken = list(import_collection(collection, tracker_files / "mlflow.db", sender.run))
    assert counts(taken)[-1] == ("running", 1, 4)
    assert {points for _, points, _ in counts(taken)[:-1]} == {0}


def test_unavailable_server_stops_an_import_at_once(holter: Printed, tracker_files: Path) -> None:
    code, printed, complaint = holter("import", tracker_files / "trackio", "--server", "http://127.0.0.1:1")
    assert (code, printed) == (1, "")
    assert complaint.startswith("holter: http://127.0.0.1:1: ")


def test_tracker_runs_of_one_name_keep_distinct_names(sqlite_engine: Engine, tracker_files: Path) -> None:
    first = [
        result.run
        for result in bring(sqlite_engine, tracker_files / "mlflow.db")
        if result.project == "llm pretraining"
    ]
    assert first[0] == "baseline"
    assert first[1].startswith("baseline ")
    assert [result.run for result in bring(sqlite_engine, tracker_files / "mlflow.db")][:2] == first


def test_unrelated_run_of_the_same_name_is_unchanged(sqlite_engine: Engine, tracker_files: Path) -> None:
    with running_store(sqlite_engine) as store:
        store.accept(delivery(np.arange(3), {LOSS: np.arange(3.0)}, batch_id="0", run="base"))
    names = [result.run for result in bring(sqlite_engine, tracker_files / "trackio") if not result.reason]
    assert names[0].startswith("base ")
    assert names[1] == "second"
    assert stored(sqlite_engine, "llm", "base")[LOSS].value.tolist() == [0, 1, 2]
    assert len(stored(sqlite_engine, "llm", names[0])[LOSS]) == 20
    assert [result.run for result in bring(sqlite_engine, tracker_files / "trackio")] == names


def test_new_points_are_added_and_nothing_else(engine: Engine, tracker_files: Path) -> None:
    bring(engine, tracker_files / "mlflow.db")
    with sqlite3.connect(tracker_files / "mlflow.db") as writer:
        (run,) = writer.execute("SELECT run_uuid FROM runs WHERE name = 'running'").fetchone()
        for step in (4, 5):
            row = (1.0 + step, 1_700_000_000_000 + step, run, step)
            writer.execute("INSERT INTO metrics VALUES ('loss', ?, ?, ?, ?, 0)", row)
        writer.execute(
            "UPDATE runs SET status = 'FINISHED', end_time = 1700000123000 WHERE run_uuid = ?", (run,)
        )
    writer.close()
    again = bring(engine, tracker_files / "mlflow.db")
    assert counts(again)[-1] == ("running", 2, 4)
    assert {points for _, points, _ in counts(again)[:-1]} == {0}
    assert stored(engine, "Default", "running")[SeriesKey("loss")].value.tolist() == [1, 2, 3, 4, 5, 6]
    with reading(engine) as connection:
        assert (
            connection.scalar(select(RunRecord.finished_at).where(RunRecord.name == "running"))
            == 1_700_000_123.0
        )


def test_end_times_come_from_the_tracker(sqlite_engine: Engine, tracker_files: Path) -> None:
    bring(sqlite_engine, tracker_files / "mlflow.db")
    with reading(sqlite_engine) as connection:
        all_series = {
            row.name: row.finished_at
            for row in connection.execute(select(RunRecord.name, RunRecord.finished_at))
        }
    assert all_series["baseline"] == 1_700_000_200.0
    assert all_series["running"] is None


def test_interrupted_import_is_continued(sqlite_engine: Engine, tracker_files: Path) -> None:
    collection = find_collection(tracker_files / "mlruns")
    assert collection is not None
    with running_store(sqlite_engine) as store:
        here = LocalImportTarget(ImportContext(engine=sqlite_engine, store=store))
        part = next(iter(import_collection(collection, tracker_files / "mlruns", here.run)))
    complete = bring(sqlite_engine, tracker_files / "mlruns")
    assert sum(result.points + result.known for result in complete) == 101
    assert len({result.run_id for result in complete if result.run_id}) == 3
    assert part.run in {result.run for result in complete}


def test_downsampled_points_are_not_restored_by_import(sqlite_engine: Engine, tmp_path: Path) -> None:
    folder = tmp_path / "mlruns" / "1"
    (folder / "abc" / "metrics").mkdir(parents=True)
    (folder / "meta.yaml").write_text("experiment_id: '1'\nname: llm\n")
    (folder / "abc" / "meta.yaml").write_text("experiment_id: '1'\nrun_id: abc\nrun_name: long\nstatus: 3\n")
    lines = "".join(f"{1_700_000_000_000 + step} {step / 7} {step}\n" for step in range(20_000))
    (folder / "abc" / "metrics" / "loss").write_text(lines)
    (taken,) = bring(sqlite_engine, tmp_path / "mlruns")
    assert taken.points == 20_000
    with reading(sqlite_engine) as connection:
        run_id = connection.execute(select(RunRecord.id)).scalar_one()
    with running_store(sqlite_engine) as store:
        downsample_run(sqlite_engine, run_id, 100, 2e9)
        assert store.check() == []
    assert load_horizon(sqlite_engine, run_id) is not None
    left = len(stored(sqlite_engine, "llm", "long")[SeriesKey("loss")])
    assert left < 20_000
    bring(sqlite_engine, tmp_path / "mlruns")
    assert len(stored(sqlite_engine, "llm", "long")[SeriesKey("loss")]) == left


def test_import_command_reports_imported_and_skipped_runs(holter: Printed, tracker_files: Path) -> None:
    code, printed, complaint = holter(
        "import", tracker_files / "mlflow.db", "--data-dir", tracker_files / "here"
    )
    assert (code, complaint) == (0, "")
    assert "llm pretraining/baseline: 87 points, 4 series, 2 attempts" in printed
    assert "people, machines or secrets: api_key" in printed
    assert "skipped: Default/deleted one: deleted in MLflow" in printed
    assert "skipped: Default/only params: it has no metrics" in printed
    assert printed.endswith("(mlflow): 3 runs, 101 points imported; 2 runs skipped\n")
    again = holter("import", tracker_files / "mlflow.db", "--data-dir", tracker_files / "here")[1]
    assert again.endswith("(mlflow): 3 runs, 0 points imported, 101 points imported before; 2 runs skipped\n")


def test_dry_run_reports_the_same_and_stores_nothing(holter: Printed, tracker_files: Path) -> None:
    code, printed, _ = holter(
        "import", "--dry-run", tracker_files / "trackio", "--data-dir", tracker_files / "here"
    )
    assert code == 0
    assert printed.endswith("(trackio): 2 runs, 67 points would be imported\n")
    printed = holter(
        "import", "--dry-run", tracker_files / "mlflow.db", "--data-dir", tracker_files / "here"
    )[1]
    names = [
        line.strip().partition(":")[0] for line in printed.splitlines() if ": 87" in line or ": 10 " in line
    ]
    code, printed, _ = holter("import", tracker_files / "mlflow.db", "--data-dir", tracker_files / "there")
    assert len(names) == len(set(names)) == 2  # two runs of one name, distinguished as by the import
    assert all(result in printed for result in names)
    assert not (tracker_files / "here").exists()


def test_private_settings_are_taken_when_asked_for(holter: Printed, tracker_files: Path) -> None:
    printed = holter("import", "--dry-run", "--keep-private", tracker_files / "mlflow.db")[1]
    assert "--keep-private" not in printed


def test_analyze_and_doctor_look_at_each_run(holter: Printed, tracker_files: Path) -> None:
    code, printed, _ = holter("analyze", tracker_files / "mlflow.db", "--format", "jsonl")
    assert code == 0
    assert printed.count('"run": "baseline"') == 2
    assert '"kind": "nonfinite"' in printed
    printed = holter("doctor", tracker_files / "neptune", "--data-dir", tracker_files / "here")[1]
    assert "neptune: 2 of 2 runs can be imported with holter import" in printed
    assert "10 points at steps that are not integers: not imported" in printed


def test_tracker_database_among_logs_is_explained(holter: Printed, tracker_files: Path) -> None:
    printed = holter("doctor", tracker_files, "--data-dir", tracker_files / "here")[1]
    assert "runs in mlflow: `holter import` imports them" in printed


def test_unknown_tracker_path_is_refused(holter: Printed, tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    code, _, complaint = holter("import", tmp_path / "empty")
    assert code == 1
    assert "contains no runs of MLflow, trackio or Neptune" in complaint
    for flag in ("--dry-run", "--project=x"):
        code, _, complaint = holter("import", tmp_path / "absent.db", flag)
        assert (code, "absent.db: no such file or folder" in complaint) == (1, True)


def test_settings_come_along_with_every_attempt_and_private_ones_do_not(
    engine: Engine, tracker_files: Path
) -> None:
    bring(engine, tracker_files / "mlflow.db")
    query = select(ConfigRow.attempt, ConfigRow.name, ConfigRow.value).join(
        RunRecord, RunRecord.id == ConfigRow.run_id
    )
    with reading(engine) as connection:
        all_series = {
            (row.attempt, row.name): row.value
            for row in connection.execute(query.where(RunRecord.name == "baseline"))
        }
    assert {all_series[attempt, "num_layers"] for attempt in (0, 1)} == {"12"}
    assert all_series[0, "lr"] == "0.0003"
    assert not any(name in ("api_key", "mlflow.user", "tag.mail") for _, name in all_series)
