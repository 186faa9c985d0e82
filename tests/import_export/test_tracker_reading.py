"""Collections of other trackers are read bit for bit as they were logged, and not changed."""

from __future__ import annotations

import hashlib
import math
import sqlite3
from contextlib import closing
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from holter.ingest.offline.tracker_runs import (
    MAX_BATCH_POINTS,
    build_series,
    explain_tracker_runs,
    read_tracker_runs,
    row_batches,
)
from holter.ingest.redaction import without_private
from holter.ingest.trackers import COLLECTIONS, find_collection
from holter.ingest.trackers.base import (
    CollectionError,
    LoggedSeries,
    RunContents,
    TrackerRun,
    bounded_config,
    parse_text_value,
)
from holter.types import ConfigKey, Series, SeriesKey

START = 1_700_000_000.0
GRAD = SeriesKey("grad_norm")
fuzzing = settings(max_examples=40, deadline=None, suppress_health_check=list(HealthCheck))


def runs(path: Path) -> dict[str, TrackerRun]:
    collection = find_collection(path)
    assert collection is not None
    return {
        f"{run.name}#{index}" if run.name == "baseline" else run.name: run
        for index, run in enumerate(collection.runs(path))
    }


def baseline(path: Path) -> TrackerRun:
    """The first of the two runs of that name."""
    return min(
        (run for name, run in runs(path).items() if name.startswith("baseline")),
        key=lambda run: run.started or 0,
    )


def series(run: TrackerRun) -> dict[SeriesKey, Series]:
    return build_series(run.read())[0].all_points()


def odd(step: int) -> float:
    return {7: math.nan, 8: math.inf, 9: -math.inf}.get(step, 0.1 * step)


def content(path: Path) -> dict[str, tuple[str, int]]:
    """Hash and modification time of every file below a path."""
    files = [path, *path.rglob("*")]
    return {
        str(file): (hashlib.sha256(file.read_bytes()).hexdigest(), file.stat().st_mtime_ns)
        for file in files
        if file.is_file()
    }


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("mlflow.db", "mlflow"),
        ("mlruns", "mlflow"),
        ("trackio", "trackio"),
        ("trackio/llm.db", "trackio"),
        ("neptune", "neptune"),
    ],
)
def test_tracker_is_recognised_by_the_files_at_a_path(tracker_files: Path, name: str, kind: str) -> None:
    claims = [collection.name for collection in COLLECTIONS if collection.matches(tracker_files / name)]
    assert claims == [kind]


@pytest.mark.parametrize("name", ["mlflow.db", "mlruns", "trackio", "neptune"])
def test_reading_leaves_everything_as_it_was(tracker_files: Path, name: str) -> None:
    before = content(tracker_files)
    for run in runs(tracker_files / name).values():
        run.read()
    assert content(tracker_files) == before


@pytest.mark.parametrize("name", ["mlflow.db", "mlruns"])
def test_mlflows_points_are_bit_for_bit_what_was_logged(tracker_files: Path, name: str) -> None:
    result = series(baseline(tracker_files / name))
    grad = result[GRAD]
    assert np.array_equal(grad.value, [odd(step) for step in range(30)], equal_nan=True)
    assert grad.step.tolist() == list(range(30))
    assert grad.time.tolist() == [START + step for step in range(30)]


@pytest.mark.parametrize("name", ["mlflow.db", "mlruns"])
def test_a_run_that_went_back_keeps_both_branches(tracker_files: Path, name: str) -> None:
    loss = series(baseline(tracker_files / name))[SeriesKey("train/loss")]
    assert loss.attempt.tolist() == [0] * 30 + [1] * 20
    assert loss.value[:30].tolist() == [4.0 / (1 + step) + 0.1 for step in range(30)]
    assert loss.value[30:].tolist() == [5.0 / (1 + step) for step in range(20, 40)]


@pytest.mark.parametrize("name", ["mlflow.db", "mlruns"])
def test_all_points_of_a_step_are_read_and_detection_sees_the_last(tracker_files: Path, name: str) -> None:
    builder = build_series(baseline(tracker_files / name).read())[0]
    logged = builder.all_points()[SeriesKey("val loss")]
    assert (logged.step.tolist(), logged.value.tolist()) == ([10, 10], [1.5, 1.25])
    assert logged.time.tolist() == [START + 5, START + 6]
    assert builder.series()[SeriesKey("val loss")].value.tolist() == [1.25]


@pytest.mark.parametrize("name", ["mlflow.db", "mlruns"])
def test_mlflows_measurements_of_the_machine_count_steps_of_their_own(tracker_files: Path, name: str) -> None:
    (machine,) = [key for key in series(baseline(tracker_files / name)) if key.metric.startswith("system/")]
    assert machine.step_unit == "samples"


@pytest.mark.parametrize("name", ["mlflow.db", "mlruns"])
def test_mlflows_runs_have_experiments_times_and_states(tracker_files: Path, name: str) -> None:
    tracker_runs = runs(tracker_files / name)
    run = baseline(tracker_files / name)
    assert (run.project, run.started, run.ended, run.is_finished) == (
        "llm pretraining",
        START,
        START + 200,
        True,
    )
    assert [item.skip_reason for item in tracker_runs.values() if item.skip_reason] == ["deleted in MLflow"]
    assert (
        tracker_runs["running"].project,
        tracker_runs["running"].is_finished,
        tracker_runs["running"].ended,
    ) == (
        "Default",
        False,
        None,
    )


@pytest.mark.parametrize("name", ["mlflow.db", "mlruns"])
def test_parameters_and_tags_become_config_except_private_ones(tracker_files: Path, name: str) -> None:
    config, private = without_private(baseline(tracker_files / name).read().config)
    assert {key.name: value for key, value in config.items() if key.name != "mlflow.run_id"} == {
        "mlflow.status": "FINISHED",
        "num_layers": 12,
        "lr": 3e-4,
        "note": "two\nlines",
        "fused": True,
        "tag.team": "a b",
        "mlflow.source.git.commit": "0123abcd",
    }
    assert sorted(private) == ["api_key", "mlflow.user", "tag.mail"]


def test_trackios_points_and_config_are_read(tracker_files: Path) -> None:
    base = runs(tracker_files / "trackio")["base"]
    result = series(base)
    assert np.array_equal(result[GRAD].value, [odd(step) for step in range(20)], equal_nan=True)
    assert result[SeriesKey("train/loss")].value.tolist() == [4 / (1 + step) for step in range(20)]
    assert result[SeriesKey("nested/a")].step.tolist() == list(range(20))
    assert SeriesKey("text") not in result
    with sqlite3.connect(f"file:{tracker_files / 'trackio/llm.db'}?immutable=1", uri=True) as database:
        (first,) = database.execute("SELECT min(timestamp) FROM metrics WHERE run_name = 'base'").fetchone()
    database.close()
    assert base.started == pytest.approx(np.datetime64(first[:-6]).astype("int64") / 1e6, abs=1e-6)
    config, private = without_private(base.read().config)
    assert {key.name: value for key, value in config.items()} == {
        "num_layers": 12,
        "lr": 3e-4,
        "optimizer.name": "adamw",
        "betas": "[0.9, 0.95]",
    }
    assert private == ["email"]


def test_trackios_measurements_of_the_machine_are_all_there(tracker_files: Path) -> None:
    machine = series(runs(tracker_files / "trackio")["second"])[
        SeriesKey("system.gpu", (("steps", "samples"),))
    ]
    assert (machine.step.tolist(), machine.value.tolist()) == ([0, 1], [55.0, 56.0])


def test_neptunes_points_are_read_and_a_null_with_a_time_is_nan(tracker_files: Path) -> None:
    result = series(runs(tracker_files / "neptune")["RUN-1"])
    assert np.array_equal(result[GRAD].value, [odd(step) for step in range(20)], equal_nan=True)
    assert result[GRAD].time.tolist() == [START + step for step in range(20)]
    assert result[SeriesKey("monitoring/cpu", (("steps", "samples"),))].step.tolist() == list(range(20))


def test_neptune_data_other_than_points_is_reported(tracker_files: Path) -> None:
    contents = runs(tracker_files / "neptune")["RUN-2"].read()
    assert [(unreadable.location, unreadable.reason) for unreadable in contents.left_out] == [
        ("files", "1 value that is no number: not imported"),
        ("text by step", "20 values that are no numbers: not imported"),
        ("metric odd steps", "10 points at steps that are not integers: not imported"),
    ]
    (odd_steps,) = [item for item in contents.logged if item.key.metric == "odd steps"]
    assert odd_steps.steps.tolist() == list(range(0, 20, 2))
    config, private = without_private(contents.config)
    assert private == ["sys/owner"]
    assert config[ConfigKey("config/num_layers")] == 12
    assert config[ConfigKey("sys/tags")] == "a, b"


def test_a_database_is_read_while_its_server_writes_to_it(tracker_files: Path) -> None:
    with sqlite3.connect(tracker_files / "mlflow.db") as writer:
        (run,) = writer.execute("SELECT run_uuid FROM runs WHERE name = 'running'").fetchone()
        writer.execute("INSERT INTO metrics VALUES ('loss', 9.0, 1700000009000, ?, 9, 0)", (run,))
        # not committed yet, so not visible to readers
        assert len(series(runs(tracker_files / "mlflow.db")["running"])[SeriesKey("loss")]) == 4
        writer.commit()
        assert len(series(runs(tracker_files / "mlflow.db")["running"])[SeriesKey("loss")]) == 5
    writer.close()


def test_a_database_with_a_write_ahead_log_in_use_is_read_with_what_is_in_the_log(
    tracker_files: Path,
) -> None:
    path = tracker_files / "trackio" / "llm.db"
    with sqlite3.connect(path) as writer:
        row = writer.execute(
            "SELECT run_id, timestamp, run_name FROM metrics WHERE run_name = 'base'"
        ).fetchone()
        names = "run_id, timestamp, run_name, step, metrics"
        logged = '{"train/loss": 7}'
        writer.execute(f"INSERT INTO metrics ({names}) VALUES (?, ?, ?, 20, ?)", (*row, logged))
        writer.commit()
        assert path.with_name("llm.db-wal").exists()
        assert series(runs(path)["base"])[SeriesKey("train/loss")].value[-1] == 7
    writer.close()


def test_bad_lines_of_a_metric_file_are_skipped(tracker_files: Path) -> None:
    (file,) = (tracker_files / "mlruns").glob("*/*/metrics/grad_norm")
    file.write_bytes(
        b"1700000000000 1.5 1\nnonsense\n1700000001000 2.5\n1700000002000 3.5 2 a b\n1700000003000 4.5 3"
    )
    contents = baseline(tracker_files / "mlruns").read()
    (grad,) = [item for item in contents.logged if item.key == GRAD]
    assert list(zip(grad.steps.tolist(), grad.values.tolist(), strict=True)) == [(1, 1.5), (0, 2.5), (2, 3.5)]
    assert [item.reason.partition(":")[0] for item in contents.left_out] == [
        "its last line is not complete yet",
        "line 2",
    ]


def test_metadata_cannot_execute_code(tracker_files: Path, tmp_path: Path) -> None:
    (meta,) = [file for file in (tracker_files / "mlruns").glob("*/meta.yaml") if "llm" in file.read_text()]
    meta.write_text(f"!!python/object/apply:os.system ['touch {tmp_path / 'ran'}']\n")
    list(find_collection(tracker_files / "mlruns").runs(tracker_files / "mlruns"))  # type: ignore[union-attr]
    assert not (tmp_path / "ran").exists()


@pytest.mark.parametrize("name", ["mlflow.db", "trackio/llm.db"])
@fuzzing
@given(data=st.data())
def test_damaged_tracker_database_gives_an_error_or_fewer_points(
    tracker_files: Path, name: str, data: st.DataObject
) -> None:
    damaged = bytearray((tracker_files / name).read_bytes())
    for _ in range(data.draw(st.integers(1, 20))):
        damaged[data.draw(st.integers(16, len(damaged) - 1))] = data.draw(st.integers(0, 255))
    file = tracker_files / "damaged.db"
    file.write_bytes(damaged[: data.draw(st.integers(0, len(damaged)))])
    _read_everything(file)


@fuzzing
@given(data=st.data())
def test_damaged_parquet_gives_an_error_or_fewer_points(tracker_files: Path, data: st.DataObject) -> None:
    source = next((tracker_files / "neptune").rglob("*.parquet"))
    damaged = bytearray(source.read_bytes())
    for _ in range(data.draw(st.integers(1, 20))):
        damaged[data.draw(st.integers(0, len(damaged) - 1))] = data.draw(st.integers(0, 255))
    file = tracker_files / "damaged.parquet"
    file.write_bytes(damaged[: data.draw(st.integers(0, len(damaged)))])
    _read_everything(file)


@fuzzing
@given(noise=st.binary(max_size=200), good=st.integers(0, 3), bad=st.lists(st.sampled_from(
    [b"word", b"", b"1", b"1 2 x", b"1 x 3", b"9" * 30 + b" 1 1", b"1 1 " + b"9" * 30]
), max_size=30))  # fmt: skip
def test_noise_in_a_metric_file_is_reported_once(
    tracker_files: Path, noise: bytes, good: int, bad: list[bytes]
) -> None:
    (file,) = (tracker_files / "mlruns").glob("*/*/metrics/grad_norm")
    file.write_bytes(noise)
    baseline(tracker_files / "mlruns").read()
    file.write_bytes(b"".join(line + b"\n" for line in [*bad, *[b"1 2 3"] * good]))
    contents = baseline(tracker_files / "mlruns").read()
    assert sum(len(item.steps) for item in contents.logged if item.key == GRAD) == good
    assert len(contents.left_out) == min(len(bad), 1)
    assert not bad or f"{len(bad)} lines like it" in contents.left_out[0].reason or len(bad) == 1


def test_nested_lists_are_not_flattened(tracker_files: Path) -> None:
    (meta,) = [file for file in (tracker_files / "mlruns").glob("*/meta.yaml") if "llm" in file.read_text()]
    aliases = "".join(f"l{at}: &l{at} [{', '.join([f'*l{at - 1}'] * 9)}]\n" for at in range(1, 12))
    meta.write_text(f"experiment_id: '1'\nl0: &l0 [x]\n{aliases}name: *l11\n")
    named = {run.project for run in runs(tracker_files / "mlruns").values()}
    assert meta.parent.name in named


def test_unexpected_sqlite_types_are_read(tracker_files: Path) -> None:
    with closing(sqlite3.connect(tracker_files / "mlflow.db")) as database, database:
        database.execute("UPDATE runs SET name = 7, start_time = 'yesterday', end_time = ? ", (2**62,))
        database.execute("UPDATE tags SET value = 3 WHERE key = 'mlflow.runName'")
    run = next(run for run in runs(tracker_files / "mlflow.db").values() if not run.skip_reason)
    assert (run.name, run.started, run.ended) == ("7", None, None)
    assert build_series(run.read())[0].series()
    with closing(sqlite3.connect(tracker_files / "trackio" / "llm.db")) as database, database:
        database.execute("UPDATE metrics SET run_name = X'FF41', metrics = '{'")
    for tracker_run in runs(tracker_files / "trackio").values():
        assert tracker_run.name.endswith("A")
        assert 1 <= len(tracker_run.read().left_out) <= 2


def _read_everything(file: Path) -> None:
    collection = find_collection(file)
    if collection is None:
        return
    try:
        for run in collection.runs(file):
            list(row_batches(run.read()))
    except (CollectionError, OSError):
        pass


def test_the_order_of_logging_is_found_again_and_batches_are_bounded() -> None:
    size = 100_000
    steps, times = np.arange(size), START + np.arange(size) / 4
    logged = [
        LoggedSeries(SeriesKey(name), steps[::-1].copy(), times[::-1].copy(), values)
        for name, values in (("a", steps[::-1] * 1.0), ("b", steps[::-1] * 2.0))
    ]
    pieces = list(row_batches(RunContents(logged=logged)))
    assert max(piece.points for piece in pieces) <= MAX_BATCH_POINTS
    assert np.array_equal(np.concatenate([piece.steps for piece in pieces]), steps)
    assert all(column.rows is None for piece in pieces for column in piece.columns)


def test_tracker_runs_are_read_and_explained_individually(tracker_files: Path) -> None:
    collection = find_collection(tracker_files / "mlflow.db")
    assert collection is not None
    gathered = dict(read_tracker_runs(tracker_files / "mlflow.db", collection, until_step=5))
    assert gathered["running"].points == 4
    assert gathered["running"].data.config[ConfigKey("mlflow.status")] == {0: "RUNNING"}
    reports = {report.run: report for report in explain_tracker_runs(tracker_files / "mlflow.db", collection)}
    assert reports["Default/deleted one"].why_not == "deleted in MLflow"
    assert reports["Default/running"].points == {SeriesKey("loss"): 4}
    assert reports["Default/running"].last_step == 3


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("12", 12),
        ("-3", -3),
        ("3e-4", 3e-4),
        ("True", True),
        ("false", False),
        ("1_000", "1_000"),
        ("adamw", "adamw"),
        ("1.2.3", "1.2.3"),
    ],
)
def test_settings_kept_as_text_are_what_they_were(text: str, value: object) -> None:
    assert parse_text_value(text) == value
    assert type(parse_text_value(text)) is type(value)


@pytest.mark.parametrize(
    "name",
    [
        "mlflow.user",
        "sys/owner",
        "env.HOSTNAME",
        "host",
        "argv",
        "api_key",
        "wandb.api_key",
        "password",
        "git/repo_url",
        "HF_TOKEN",
    ],
)
def test_settings_naming_people_machines_or_secrets_are_withheld(name: str) -> None:
    assert without_private(bounded_config([(name, "x")])) == ({}, [name])


@pytest.mark.parametrize(
    "name",
    ["num_tokens", "max_token", "tokens", "keyword", "hostile", "username_embedding_dim", "ghost", "n_heads"],
)
def test_similar_settings_are_retained(name: str) -> None:
    assert without_private(bounded_config([(name, 7)]))[1] == []


def test_secret_values_are_withheld_and_versions_are_not() -> None:
    said = [("note", "hf_" + "a" * 30), ("other", "0f" * 20), ("mlflow.source.git.commit", "0f" * 20)]
    assert without_private(bounded_config(said))[1] == ["note", "other"]


def test_unstorable_numbers_are_imported_as_text() -> None:
    result = bounded_config([("inf", math.inf), ("nan", math.nan), ("large", 10**30), ("list", ["a", 1])])
    assert [result[ConfigKey(name)] for name in ("inf", "nan", "large")] == ["inf", "nan", str(10**30)]
    assert result[ConfigKey("list")] == '["a", 1]'


@pytest.mark.parametrize("name", ["password", "wandb.api_key", "user_id", "db/access_token"])
def test_numeric_secret_is_withheld(name: str) -> None:
    assert without_private(bounded_config([(name, 12345)])) == ({}, [name])


def test_settings_beyond_bounds_are_marked() -> None:
    result = bounded_config([("long", "x" * 5000), *((f"s{at}", at) for at in range(2500))])
    assert str(result[ConfigKey("long")]).endswith("x…")
    assert len(str(result[ConfigKey("long")])) == 2000
    assert result[ConfigKey("import.settings_left_out")] == 501
