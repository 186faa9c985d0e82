"""Export and import: a run goes into a file and comes back, every bit of it, once."""

from __future__ import annotations

import csv
import json
from collections.abc import Iterator
from itertools import count
from pathlib import Path

import numpy as np
import pandas
import pyarrow as pa
import pyarrow.compute as pc
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pyarrow import parquet
from sqlalchemy import Engine, insert, select, update

from holter.server.database import connect, writing
from holter.server.import_export.export import open_export
from holter.server.import_export.file_formats import FORMATS
from holter.server.import_export.import_file import ImportRefusedError
from holter.server.import_export.import_targets import LocalImportTarget
from holter.server.import_export.importer import ImportContext
from holter.server.import_export.point_rows import PIECE_POINTS, SeriesPiece
from holter.server.import_export.text_writer import FIELDS
from holter.server.maintenance.downsampling import downsample_run
from holter.server.maintenance.horizon import load_horizon
from holter.server.models import PlannedEventRow, RunRecord
from holter.server.run_details import RunDetailStore
from holter.server.store import Store
from holter.types import SeriesKey
from tests.support.exported_runs import COMPLETE, import_into, odd_run, random_batches, write_export
from tests.support.servers import Printed
from tests.support.stored_runs import (
    LOSS,
    RANKED,
    add_incident,
    delivery,
    metadata_of,
    points_of,
    run_id_of,
    running_store,
)

NUMBERS = count()


@pytest.fixture
def other(sqlite_template: Path, tmp_path: Path) -> Iterator[Engine]:
    """A second database, empty."""
    path = tmp_path / "other.db"
    path.write_bytes(sqlite_template.read_bytes())
    engine = connect(f"sqlite:///{path}")
    yield engine
    engine.dispose()


@pytest.mark.parametrize("form", FORMATS)
def test_export_and_import_are_lossless_and_idempotent(
    engine: Engine, other: Engine, form: str, tmp_path: Path
) -> None:
    with running_store(engine) as store:
        run_id = odd_run(store)
    with writing(engine) as connection:
        connection.execute(update(RunRecord).where(RunRecord.id == run_id).values(finished_at=5.0))
        project = connection.scalar(select(RunRecord.project_id).where(RunRecord.id == run_id))
        planned = {"said": {"kind": ["stall"], "from_step": 7}, "added_at": 1.5, "added_by": "ana"}
        connection.execute(insert(PlannedEventRow).values(project_id=project, run_id=run_id, **planned))
    add_incident(engine, run_id, start=100, end=140)
    details = RunDetailStore(engine)
    details.update(run_id, display_name="first", tags=["8 nodes"], exit_code=0, summary='{"loss":NaN}')
    details.set_attributes(run_id, {"wandb.config": '{"lr":0.1}', "mlflow.tag.team": "speech"})
    file = write_export(engine, run_id, form, tmp_path / f"a.{form}")
    done = import_into(other, file, project="llm")
    assert (done.project, done.run, done.points, done.duplicate) == ("llm", "a", 615, False)
    assert points_of(other, run_id_of(other, "a")) == points_of(engine, run_id)
    if form in COMPLETE:
        assert metadata_of(other, run_id_of(other, "a")) == metadata_of(engine, run_id)
        assert RunDetailStore(other).details(run_id_of(other, "a")) == details.details(run_id)
        assert RunDetailStore(other).attributes(run_id_of(other, "a")) == details.attributes(run_id)
        stated = Store(engine).config(run_id)
        assert len(stated) == 2
        assert Store(other).config(run_id_of(other, "a")) == stated
    assert Store(other).check() == []
    before = points_of(other, run_id_of(other, "a"))
    assert import_into(other, file, project="llm").duplicate
    assert points_of(other, run_id_of(other, "a")) == before
    with running_store(other) as store:  # and the run goes on
        again = store.accept(delivery(np.array([601]), {LOSS: np.array([1.0])}, batch_id="on", attempt="8"))
        assert again.attempt == 8


@pytest.mark.parametrize("form", FORMATS)
def test_points_of_one_step_survive_export_and_import(
    engine: Engine, other: Engine, form: str, tmp_path: Path
) -> None:
    steps = np.repeat(np.arange(1_000), 4)
    times = np.where(steps % 3, 0.25 * np.arange(len(steps)), np.nan)
    values = np.random.default_rng(5).normal(size=len(steps))
    with running_store(engine) as store:
        for number, start in enumerate((0, 1_001, 2_222, 900)):
            part = slice(start, start + 1_800)
            batch = delivery(steps[part], {LOSS: values[part]}, batch_id=str(number), times=times[part])
            run_id = store.accept(batch).run_id
            if number == 1:
                store.compact()
        assert len(store.read(run_id)[LOSS]) == len(steps)
    done = import_into(other, write_export(engine, run_id, form, tmp_path / f"a.{form}"), project="llm")
    assert done.points == len(steps)
    assert points_of(other, run_id_of(other, "a")) == points_of(engine, run_id)
    assert Store(other).check() == []


def test_downsampled_run_is_imported_as_downsampled(engine: Engine, other: Engine, tmp_path: Path) -> None:
    steps = np.arange(20_000)
    with running_store(engine) as store:
        run_id = store.accept(delivery(steps, {LOSS: np.cos(steps)}, batch_id="0")).run_id
        add_incident(engine, run_id, start=100, end=140)
        downsample_run(engine, run_id, 100, 1.7e9)
    import_into(other, write_export(engine, run_id, "parquet", tmp_path / "a.parquet"))
    (was,), (now,) = Store(engine).series(run_id), Store(other).series(run_id_of(other, "a"))
    assert now == was
    assert now.logged == 20_000 > now.points
    assert load_horizon(other, run_id_of(other, "a")) == load_horizon(engine, run_id)
    assert Store(other).check() == []


def test_import_does_not_change_a_run_of_the_same_name(engine: Engine, tmp_path: Path) -> None:
    with running_store(engine) as store:
        run_id = odd_run(store)
    file = write_export(engine, run_id, "json", tmp_path / "a.json")
    with pytest.raises(
        ImportRefusedError, match=r"a run llm/a exists already: give it another name with --run"
    ):
        import_into(engine, file)
    assert import_into(engine, file, run="copy").run == "copy"
    assert points_of(engine, run_id_of(engine, "copy")) == points_of(engine, run_id)


def test_interrupted_import_is_continued(
    engine: Engine, other: Engine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with running_store(engine) as store:
        run_id = odd_run(store)
    file = write_export(engine, run_id, "parquet", tmp_path / "a.parquet")
    with running_store(other) as store:
        accept, taken = store.accept, count()
        with monkeypatch.context() as patch:
            patch.setattr(store, "accept", lambda one: accept(one) if next(taken) < 1 else store.nothing())
            with pytest.raises(AttributeError):
                LocalImportTarget(ImportContext(engine=other, store=store)).file(file)
    assert not import_into(other, file).duplicate
    assert points_of(other, run_id_of(other, "a")) == points_of(engine, run_id)
    assert metadata_of(other, run_id_of(other, "a")) == metadata_of(engine, run_id)


def test_long_series_is_exported_in_parts(engine: Engine, other: Engine, tmp_path: Path) -> None:
    size = PIECE_POINTS * 2 + 17
    with running_store(engine) as store:
        steps = np.arange(size)
        store.accept(delivery(steps, {LOSS: np.cos(steps)}, batch_id="0"))
        store.compact()
        run_id = store.accept(delivery(steps[-9:] + 9, {LOSS: np.cos(steps[:9])}, batch_id="1")).run_id
    with open_export(engine, run_id, "parquet") as one:
        parts = list(one.content)
    assert max(map(len, parts)) < 0.6 * sum(map(len, parts))
    (tmp_path / "a.parquet").write_bytes(b"".join(parts))
    import_into(other, tmp_path / "a.parquet")
    assert points_of(other, run_id_of(other, "a")) == points_of(engine, run_id)


@settings(
    max_examples=10,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(random_batches(), st.sampled_from(FORMATS))
def test_random_runs_survive_export_and_import(
    engine: Engine, tmp_path: Path, batches: list, form: str
) -> None:
    name = f"run-{next(NUMBERS)}"
    with running_store(engine) as store:
        for at, (attempt, steps, values, times) in enumerate(batches):
            one = delivery(steps, values, batch_id=str(at), times=times, run=name, attempt=attempt)
            run_id = store.accept(one).run_id
        store.compact(run_id)
        with open_export(engine, run_id, form) as file:
            (tmp_path / name).write_bytes(b"".join(file.content))
        place = LocalImportTarget(ImportContext(engine=engine, store=store))
        place.file(tmp_path / name, project="copies", run=f"{name}-copy")
        assert points_of(engine, run_id_of(engine, f"{name}-copy")) == points_of(engine, run_id)
        if form in COMPLETE:
            ours = {"project": "copies"}
            assert (
                metadata_of(engine, run_id_of(engine, f"{name}-copy")) == metadata_of(engine, run_id) | ours
            )
        assert store.check() == []


def test_parquet_file_is_a_plain_table_with_metadata(engine: Engine, tmp_path: Path) -> None:
    with running_store(engine) as store:
        run_id = odd_run(store)
    file = write_export(engine, run_id, "parquet", tmp_path / "a.parquet")
    table = parquet.read_table(file)
    assert table.schema.names == ["attempt", "step", "time", "metric", "labels", "value", "superseded"]
    assert set(table["metric"].to_pylist()) == {"loss", "lr", "step_time"}
    assert json.loads(table["labels"].to_pylist()[-1]) == dict(RANKED.labels)
    head = json.loads(table.schema.metadata[b"holter"])
    assert (head["run"]["project"], head["run"]["name"]) == ("llm", "a")
    assert [attempt["number"] for attempt in head["run"]["attempts"]] == [0, 7]


def test_parquet_table_of_another_program_is_imported(sqlite_engine: Engine, tmp_path: Path) -> None:
    file = tmp_path / "theirs.parquet"
    parquet.write_table(pa.table({"step": [2, 1], "metric": ["loss", "loss"], "value": [2.0, None]}), file)
    done = import_into(sqlite_engine, file)
    assert (done.project, done.run) == ("default", "theirs")
    series = Store(sqlite_engine).read(run_id_of(sqlite_engine, "theirs"))[LOSS]
    assert series.step.tolist() == [1, 2]
    assert np.isnan(series.value[0])
    assert series.value[1] == 2.0


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (b"", "line 1: no column metric, step, value"),
        (b"metric,step,value\nloss,1,0.5\nloss,two,0.5\n", "line 3: step: expected a whole number"),
        (b"metric,step,value\nloss,1\n", "line 2"),
        (b"metric,step,value\n", "no points"),
        (b'{"metric": "loss", "step": 1, "value": 1}\n', "JSON lines are not imported: convert them to CSV"),
        (b"PAR1 and no more", "not a readable Parquet file"),
        (b"ARROW1 and no more", "Arrow files are not imported: convert it to Parquet"),
        (b'{"holter_export": 9, "run": {}, "series": [\n]}\n', "not written by this version"),
        (
            b"metric,step,value\nloss,99999999999999999999,1\n",
            "line 2: step: expected a whole number of 64 bits",
        ),
        (b"\xff\xfe\x00", "not a file of holter export"),
    ],
)
def test_invalid_file_is_refused_with_the_location(
    sqlite_engine: Engine, tmp_path: Path, content: bytes, reason: str
) -> None:
    (tmp_path / "a").write_bytes(content)
    with pytest.raises(ImportRefusedError, match=f"(?s)a.*{reason}"):
        import_into(sqlite_engine, tmp_path / "a")


@pytest.mark.parametrize("form", COMPLETE)
def test_truncated_or_damaged_file_is_rejected(
    sqlite_engine: Engine, other: Engine, tmp_path: Path, form: str
) -> None:
    with running_store(sqlite_engine) as store:
        run_id = odd_run(store)
    whole = write_export(sqlite_engine, run_id, form, tmp_path / "a").read_bytes()
    for size in (len(whole) // 3, len(whole) - 5):
        (tmp_path / "cut").write_bytes(whole[:size])
        with pytest.raises(ImportRefusedError):
            import_into(other, tmp_path / "cut")


def test_reformatted_json_document_is_imported(sqlite_engine: Engine, other: Engine, tmp_path: Path) -> None:
    with running_store(sqlite_engine) as store:
        run_id = odd_run(store)
    file = write_export(sqlite_engine, run_id, "json", tmp_path / "a.json")
    file.write_text(json.dumps(json.loads(file.read_text()), indent=1))
    import_into(other, file)
    assert points_of(other, run_id_of(other, "a")) == points_of(sqlite_engine, run_id)


def test_export_and_import_commands_report_results(
    holter: Printed, sqlite_engine: Engine, sqlite_url: str, tmp_path: Path
) -> None:
    with running_store(sqlite_engine) as store:
        odd_run(store)
    where = ("--database-url", sqlite_url)
    file = tmp_path / "a.parquet"
    assert holter("export", "llm/a", "--output", file, *where)[0] == 0
    fresh = ("--data-dir", tmp_path / "fresh")
    code, printed, complaint = holter("import", file, *fresh)
    assert code == 0, complaint
    assert "615 points" in printed
    assert "llm/a" in printed
    assert holter("export", "llm/a", "--metric", "lr", "--output", tmp_path / "lr.json", *where)[0] == 0
    assert "3 points" in holter("import", tmp_path / "lr.json", "--run", "lr", *fresh)[1]
    assert holter("db", "check", *fresh)[0] == 0
    assert "was imported before" in holter("import", file, *fresh)[1]
    assert holter("import", tmp_path / "nothing", *fresh)[2].endswith("no such file or folder\n")
    assert "one file at a time" in holter("import", file, file, "--run", "x", *fresh)[2]


def test_dry_run_describes_a_file_and_stores_nothing(
    holter: Printed, sqlite_engine: Engine, tmp_path: Path
) -> None:
    with running_store(sqlite_engine) as store:
        run_id = odd_run(store)
    add_incident(sqlite_engine, run_id, start=100, end=140)
    file = write_export(sqlite_engine, run_id, "parquet", tmp_path / "a.parquet")
    code, printed, complaint = holter("import", "--dry-run", file, "--data-dir", tmp_path / "fresh")
    assert (code, complaint) == (0, "")
    assert printed == f"{file}: llm/a: 615 points, 3 series, 2 attempts, 1 incident would be imported\n"
    assert not (tmp_path / "fresh").exists()
    file.write_bytes(b"metric,step,value\nloss,1,a\n")
    code, _, complaint = holter("import", "--dry-run", file)
    assert (code, "line 2: value: expected a number" in complaint) == (1, True)


def test_export_gets_its_name_when_complete(
    holter: Printed, sqlite_engine: Engine, sqlite_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with running_store(sqlite_engine) as store:
        odd_run(store)
    file = tmp_path / "a.csv"
    file.write_text("what was there before")

    def interrupted(*_: object) -> Iterator[list[SeriesPiece]]:
        yield []
        raise KeyboardInterrupt

    command = ("export", "llm/a", "--output", file, "--database-url", sqlite_url)
    with monkeypatch.context() as patch:
        patch.setattr("holter.server.import_export.export.read_pieces", interrupted)
        code, _, complaint = holter(*command)
    assert (code, complaint) == (130, "holter: interrupted\n")
    assert file.read_text() == "what was there before"
    assert not list(tmp_path.glob("*.unfinished"))
    assert holter(*command)[0] == 0
    assert file.read_text().startswith("metric,labels,attempt,step,time,value,superseded\n")
    code, _, complaint = holter("export", "llm/a", "--output", "/dev/full", "--database-url", sqlite_url)
    assert (code, complaint) == (1, "holter: /dev/full: No space left on device\n")


def test_exports_are_read_by_other_programs_as_they_are(sqlite_engine: Engine, tmp_path: Path) -> None:
    with running_store(sqlite_engine) as store:
        run_id = odd_run(store)
    expected = Store(sqlite_engine).read(run_id)[LOSS]
    frames = {
        "parquet": pandas.read_parquet(
            write_export(sqlite_engine, run_id, "parquet", tmp_path / "a.parquet")
        ),
        "csv": pandas.read_csv(write_export(sqlite_engine, run_id, "csv", tmp_path / "a.csv")),
    }
    for form, frame in frames.items():
        loss = frame[frame["metric"] == "loss"]
        assert sorted(frame.columns) == sorted(FIELDS), form
        assert loss["step"].tolist() == expected.step.tolist()
        assert np.array_equal(loss["value"].astype(float), expected.value, equal_nan=True)
        assert loss["superseded"].astype(bool).sum() == 600  # attempt 7 went back behind them


@pytest.mark.parametrize(
    "name",
    [
        "=1+1",
        "+1",
        "-2",
        "@SUM(A1)",
        "\t=1",
        "\r=1",
        "\uff1d1",
        "'=1",
        "''=1",
        "'a",
        "a=1",
        '=HYPERLINK("http://h")',
    ],
)
def test_names_in_csv_exports_are_no_formulas_and_come_back(
    sqlite_engine: Engine, other: Engine, name: str, tmp_path: Path
) -> None:
    key, value = SeriesKey(name, (("=a", "=1+1"),)), np.array([-1.5])
    with running_store(sqlite_engine) as store:
        run_id = store.accept(delivery(np.array([-3]), {key: value}, batch_id="0")).run_id
    file = write_export(sqlite_engine, run_id, "csv", tmp_path / "a.csv")
    with file.open(newline="", encoding="utf-8") as lines:
        [_, cells] = csv.reader(lines)
    assert not [cell for cell in cells[:2] if cell.lstrip("'")[:1] in "=+-@\t\r\uff1d" and cell[:1] != "'"]
    assert (cells[FIELDS.index("step")], cells[FIELDS.index("value")]) == ("-3", "-1.5")
    import_into(other, file, project="llm")
    assert points_of(other, run_id_of(other, "a")) == points_of(sqlite_engine, run_id)


def test_modified_export_with_original_metadata_is_refused(
    sqlite_engine: Engine, other: Engine, tmp_path: Path
) -> None:
    with running_store(sqlite_engine) as store:
        run_id = odd_run(store)
    whole = parquet.read_table(write_export(sqlite_engine, run_id, "parquet", tmp_path / "whole.parquet"))
    some = whole.filter(pc.less(whole["step"], 100))
    parquet.write_table(some, tmp_path / "some.parquet")
    with pytest.raises(ImportRefusedError, match=r"does not match its points .* remove `holter`"):
        import_into(other, tmp_path / "some.parquet")
    parquet.write_table(some.replace_schema_metadata(), tmp_path / "some.parquet")
    assert import_into(other, tmp_path / "some.parquet").points == some.num_rows
    assert Store(other).check() == []


@pytest.mark.parametrize(
    ("column", "reason"),
    [
        ({"step": [1.5]}, "column step: expected whole numbers, found double"),
        ({"step": pa.array([None], pa.int64())}, "column step: 1 values are missing"),
        ({"metric": [7]}, "column metric: expected text, found int64"),
        ({"time": pa.array([1], pa.timestamp("s"))}, r"column time: .* \(Unix seconds\), found"),
        ({"labels": ["rank 3"]}, "labels 'rank 3': expected a JSON object"),
    ],
)
def test_invalid_column_is_named(
    sqlite_engine: Engine, tmp_path: Path, column: dict[str, object], reason: str
) -> None:
    file = tmp_path / "theirs.parquet"
    parquet.write_table(pa.table({"step": [1], "metric": ["loss"], "value": [1.0]} | column), file)
    with pytest.raises(ImportRefusedError, match=reason):
        import_into(sqlite_engine, file)
