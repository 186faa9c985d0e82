"""JSON Lines logs: nested keys, numbers as text, invalid lines."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from itertools import accumulate
from pathlib import Path, PurePath
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from holter.ingest.jsonl import JsonLines
from holter.ingest.lines import LONGEST_LINE
from holter.types import SeriesKey
from tests.support.log_runs import read_log, steps_of


@pytest.mark.parametrize("step", ["step", "_step", "iteration", "global_step", "train/global_step"])
@pytest.mark.parametrize("clock", ["_timestamp", "timestamp", "wall_time", "time"])
def test_step_and_clock_are_found_by_their_usual_names(step: str, clock: str, reading: Any) -> None:
    result = reading.read_complete(
        "log.jsonl", f'{{"loss": 2.5, "{clock}": 1700000000.25, "{step}": 7}}\n'.encode()
    )
    assert result.points == {SeriesKey("loss"): [(None, 7, "1700000000.25", "2.5")]}


def test_nested_keys_are_joined_and_only_numbers_are_metrics(reading: Any) -> None:
    line = (
        b'{"step": 1, "train": {"loss": 2, "deep": {"er": 1.5}}, '
        b'"ok": true, "note": "a", "list": [1], "x": null}\n'
    )
    assert {str(key) for key in reading.read_complete("log.jsonl", line).points} == {
        "train/loss",
        "train/deep/er",
    }


@pytest.mark.parametrize(
    ("written", "value"),
    [
        ("NaN", "nan"),
        ('"NaN"', "nan"),
        ("Infinity", "inf"),
        ('"-Infinity"', "-inf"),
        ('"inf"', "inf"),
        ("1e400", "inf"),
    ],
)
def test_what_is_not_finite_is_data_however_it_is_written(written: str, value: str, reading: Any) -> None:
    result = reading.read_complete("log.jsonl", f'{{"step": 1, "loss": {written}}}\n'.encode())
    assert [repr(found) for _, found in result.values("loss")] == [value]


def test_ranks_label_series_and_attempts_cut_batches(reading: Any) -> None:
    content = (
        b'{"step":1,"rank":0,"t":1.5}\n{"step":1,"rank":1,"t":2.5}\n{"step":1,"rank":0,"t":1.0,"attempt":1}\n'
    )
    result = reading.read_complete("log.jsonl", content)
    assert result.points[SeriesKey("t", (("rank", "0"),))] == [
        (None, 1, "nan", "1.5"),
        ("1", 1, "nan", "1.0"),
    ]
    assert result.points[SeriesKey("t", (("rank", "1"),))] == [(None, 1, "nan", "2.5")]


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        (b"not json", "expected a JSON object"),
        (b"[1, 2]", "expected a JSON object, found list"),
        (b'{"step": "x", "loss": 1}', "expected a whole number as the step, found 'x'"),
        (b'{"step": 1.5, "loss": 1}', "expected a whole number as the step, found 1.5"),
        (b'{"step": true, "loss": 1}', "expected a whole number as the step, found True"),
        (b'{"step": 2, "timestamp": "soon", "loss": 1}', "expected a time in timestamp, found 'soon'"),
        (b"[" * 100_000, "expected a JSON object"),
        (b'{"loss": 1}', "expected a key named step"),
    ],
)
def test_a_bad_line_is_reported_with_its_number_and_costs_only_itself(
    line: bytes, reason: str, reading: Any
) -> None:
    result = reading.read_complete(
        "log.jsonl", b'{"step": 1, "loss": 2}\n' + line + b'\n{"step": 3, "loss": 2}\n'
    )
    ((place, found),) = result.unreadable
    assert place == "line 2"
    assert reason in found
    assert [step for step, _ in result.values("loss")] == [1, 3]


def test_lines_without_a_step_are_reported_once(reading: Any) -> None:
    content = b'{"event": "saved"}\n' * 50 + b'{"step": 1, "loss": 2}\n'
    result = reading.read_complete("log.jsonl", content)
    assert len(result.unreadable) == 1
    assert (
        reading.read_growing("log.jsonl", content, range(0, len(content) + 1, 7)).unreadable
        == result.unreadable
    )


def test_a_line_that_is_far_too_long_costs_only_itself(reading: Any) -> None:
    long = b'{"step": 2, "text": "' + b"x" * (2 * LONGEST_LINE) + b'"}\n'
    result = reading.read_complete(
        "log.jsonl", b'{"step": 1, "loss": 2}\n' + long + b'{"step": 3, "loss": 1}\n'
    )
    assert result.values("loss") == [(1, 2.0), (3, 1.0)]
    assert result.unreadable == [("line 2", "expected an object, found a line longer than 1 MiB")]


def test_a_log_is_recognised_by_its_first_line_where_its_name_states_nothing() -> None:
    formats = JsonLines()
    assert formats.sniff(PurePath("metrics"), b'{"step": 1, "loss": 2.5}\n')
    assert formats.sniff(PurePath("log.jsonl"), b"")
    assert not formats.sniff(PurePath("config.json"), b'{\n "step": 1}\n')
    assert not formats.sniff(PurePath("config.json"), b'{"hidden_size": 4096}\n')
    assert not formats.sniff(PurePath("train.log"), b"step 1 loss 2.5\n")


_json = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=10,
)


@pytest.mark.slow
@settings(max_examples=150, deadline=None)
@given(
    values=st.lists(st.dictionaries(st.sampled_from(["step", "time", "loss", "a", "rank", "attempt"]), _json))
)
def test_any_objects_are_read_without_raising(values: list[dict[str, Any]], reading: Any) -> None:
    content = "".join(json.dumps(value) + "\n" for value in values).encode()
    complete = reading.read_complete("log.jsonl", content)
    assert reading.read_restarted("log.jsonl", content, every=1) == complete


@pytest.mark.parametrize(
    ("epochs", "attempts"),
    [
        ([0, 0, 1, 2], 2),
        ([0, 0, 0, 1, 2, 3], 3),
        ([0, 1, 2, 3, 3, 4, 5], 2),
        ([0, 0, 1, 0, 1, 2], 3),
        ([0, 0], 2),
        ([0, 0, 1, 1, 2, 2], 1),
        ([0, 1, 2, 2], 1),
    ],
    ids=[
        "one epoch",
        "one epoch twice",
        "resumed at the last epoch",
        "one epoch, then two",
        "one epoch each",
        "two rows of each epoch",
        "the best epoch again",
    ],
)
def test_an_epoch_that_comes_again_begins_a_launch(
    tmp_path: Path, reading: Any, epochs: list[int], attempts: int
) -> None:
    lines = [
        b'{"epoch": %d, "train_loss": 0.%d, "test_loss": 0.5, "test_acc": 0.1}\n' % (epoch, number)
        for number, epoch in enumerate(epochs, 1)
    ]
    content = b"".join(lines)
    run = read_log(tmp_path, content, "log.txt")
    assert run.attempts == attempts
    assert run.points == 3 * len(epochs)
    complete = reading.read_complete("log.txt", content)
    sizes = [*accumulate(map(len, lines))]
    assert reading.read_growing("log.txt", content, sizes) == complete
    assert reading.read_restarted("log.txt", content, every=1) == complete


def _timed_epochs(*rows: tuple[int, int], clock: str = "now_time") -> list[bytes]:
    """Lines of epochs, each with the minute of its end."""
    begin = datetime(2031, 5, 4, 9, 0, tzinfo=UTC)
    return [
        b'{"epoch": %d, "%s": "%s", "train_loss": 0.5, "test_loss": 0.6, "test_acc": 0.1}\n'
        % (epoch, clock.encode(), str(begin + timedelta(minutes=minute)).encode())
        for epoch, minute in rows
    ]


_SIX_MINUTES_EACH = tuple((epoch, 6 * epoch) for epoch in range(5))


@pytest.mark.parametrize("clock", ["now_time", "time"])
@pytest.mark.parametrize(
    ("rows", "attempts"),
    [
        ((*_SIX_MINUTES_EACH, (25, 50), (26, 57), (27, 63)), 2),
        ((*_SIX_MINUTES_EACH, (0, 60), (1, 66), (30, 90), (31, 96)), 3),
        ((*_SIX_MINUTES_EACH, (24, 150), (25, 156)), 1),
        ((*_SIX_MINUTES_EACH, (6, 30), (8, 36), (10, 42)), 1),
        (((0, 0), (1, 6), (30, 40), (31, 46)), 1),
    ],
    ids=["resumed", "after one epoch more", "epochs without a row", "every second epoch", "no known pace"],
)
def test_epochs_that_are_skipped_too_fast_are_of_a_training_that_was_resumed(
    tmp_path: Path, reading: Any, rows: tuple[tuple[int, int], ...], attempts: int, clock: str
) -> None:
    lines = _timed_epochs(*rows, clock=clock)
    content = b"".join(lines)
    run = read_log(tmp_path, content, "log.txt")
    assert (run.attempts, run.points) == (attempts, 3 * len(rows))
    complete = reading.read_complete("log.txt", content)
    sizes = [*accumulate(map(len, lines))]
    assert reading.read_growing("log.txt", content, sizes) == complete
    assert reading.read_restarted("log.txt", content, every=1) == complete


def test_a_time_of_day_is_no_wall_time_but_its_row_is_read(tmp_path: Path) -> None:
    text = "".join(f'{{"epoch": {n}, "now_time": "09:0{n}:30", "loss": 0.{n}}}\n' for n in range(1, 4))
    assert steps_of(read_log(tmp_path, text, "log.txt")) == {"loss": [1, 2, 3]}


@pytest.mark.parametrize(
    "settings",
    [
        {"epochs": 300, "lr": 0.1, "batch_size": 32},
        {"net": "small", "epochs": 300, "weight_decay": 0.1, "loss": "focal"},
        {"type": "config", "total_timesteps": 10**6, "seed": 3},
    ],
)
def test_settings_above_the_rows_are_at_no_step(settings: dict[str, object], tmp_path: Path) -> None:
    rows = [{"epoch": epoch, "loss": 3.5 - epoch} for epoch in range(3)]
    text = "".join(f"{json.dumps(each)}\n" for each in (settings, *rows))
    for name in ("log.jsonl", "log.txt"):
        run = read_log(tmp_path, text, name)
        assert (run.attempts, steps_of(run)) == (1, {"loss": [0, 1, 2]})


def test_epochs_may_be_the_steps_of_metrics(tmp_path: Path) -> None:
    text = "".join(json.dumps({"epochs": n, "lr": 0.1, "loss": 3.5 - n}) + "\n" for n in range(3))
    assert steps_of(read_log(tmp_path, text, "log.jsonl")) == {"loss": [0, 1, 2], "lr": [0, 1, 2]}


@pytest.mark.parametrize(
    "metrics",
    [[{"name": "loss", "value": 0.5}, {"name": "acc", "value": 0.25}], [["loss", 0.5], ["acc", 0.25]]],
    ids=["objects", "pairs"],
)
def test_values_of_a_list_have_the_names_in_it(metrics: list[object], tmp_path: Path) -> None:
    text = "".join(json.dumps({"epoch": n, "metrics": metrics}) + "\n" for n in range(3))
    run = read_log(tmp_path, text, "log.jsonl")
    assert steps_of(run) == {"metrics/loss": [0, 1, 2], "metrics/acc": [0, 1, 2]}


def test_results_without_a_step_are_at_the_one_above(tmp_path: Path) -> None:
    rows: list[dict[str, object]] = []
    for step in (10, 20):
        rows += [{"step": step, "loss": 3.5 - step / 10}, {"eval_loss": 2.5, "eval_acc": step / 100}]
    rows.append({"event": "end", "test_acc": 0.5, "loss": 1.5, "best_acc": 0.75, "lr": 0.1})
    run = read_log(tmp_path, "".join(f"{json.dumps(row)}\n" for row in rows), "log.jsonl")
    expected = {"loss": [10, 20], "eval_loss": [10, 20], "eval_acc": [10, 20], "test_acc": [20]}
    assert (run.attempts, run.unreadable, steps_of(run)) == (1, [], expected)


def test_rows_at_parts_of_an_epoch_are_numbered(tmp_path: Path) -> None:
    text = "".join(json.dumps({"epoch": n / 4, "loss": 3.5 - n / 8}) + "\n" for n in range(9))
    run = read_log(tmp_path, text, "log.jsonl")
    assert (run.attempts, run.unreadable) == (1, [])
    assert steps_of(run)["loss"] == [*range(9)]


def test_whole_epochs_are_steps_however_they_are_written(tmp_path: Path) -> None:
    text = "".join(json.dumps({"epoch": float(n), "loss": 3.5 - n / 8}) + "\n" for n in range(3, 9))
    assert steps_of(read_log(tmp_path, text, "log.jsonl")) == {"loss": [*range(3, 9)]}


def test_a_step_may_be_in_a_group(tmp_path: Path) -> None:
    text = "".join(
        json.dumps({"misc": {"total_timesteps": 128 * n}, "reward": n / 8, "best": {"epoch": 1}}) + "\n"
        for n in range(3)
    )
    assert steps_of(read_log(tmp_path, text, "log.jsonl"))["reward"] == [0, 128, 256]


def test_settings_of_the_first_object_are_no_metrics_where_rows_repeat_them(tmp_path: Path) -> None:
    stated = {"momentum": 0.9, "gamma": 0.5, "learning_rate": 0.1, "epochs": 4, "data": "/data"}
    rows = [
        {"epoch": n, "loss": 2.5 - n / 4, **stated, "gamma": 0.5 if n < 2 else 0.25, "learning_rate": 0.1 / n}
        for n in range(1, 5)
    ]
    text = "".join(json.dumps(each) + "\n" for each in [stated, *rows])
    assert steps_of(read_log(tmp_path, text, "log.txt")) == {
        "loss": [1, 2, 3, 4],
        "learning_rate": [1, 2, 3, 4],
        "gamma": [2, 3, 4],  # what changes is none
    }


def test_constant_numbers_of_rows_without_an_object_of_settings_are_metrics(tmp_path: Path) -> None:
    text = "".join(f'{{"step": {n}, "loss": 2.{n}, "momentum": 0.9}}\n' for n in range(4))
    assert steps_of(read_log(tmp_path, text, "log.jsonl")) == {
        name: [*range(4)] for name in ("loss", "momentum")
    }
