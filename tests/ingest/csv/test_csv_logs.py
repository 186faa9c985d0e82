"""CSV logs: headers of common loggers, odd cells, and rewritten files."""

from __future__ import annotations

import io
import json
from itertools import accumulate
from pathlib import Path, PurePath
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from holter.ingest.csv.csv_log import CsvLog
from holter.ingest.lines import LONGEST_LINE
from holter.types import Batch, SeriesKey, Unreadable


def points(result: Any, metric: str = "loss") -> list[tuple[int, float]]:
    found: list[tuple[int, float]] = result.values(metric)
    return found


@pytest.mark.parametrize("step", ["step", "Step", "_step", "iteration", "global_step", "trainer/global_step"])
@pytest.mark.parametrize("clock", ["wall_time", "_timestamp", "timestamp", "Wall time"])
def test_step_and_clock_are_found_by_their_usual_names(step: str, clock: str, reading: Any) -> None:
    result = reading.read_complete("log.csv", f"loss,{clock},{step}\n2.5,1700000000.25,7\n".encode())
    assert result.points == {SeriesKey("loss"): [(None, 7, "1700000000.25", "2.5")]}


def test_an_epoch_is_the_step_only_where_there_is_no_other(reading: Any) -> None:
    keras = reading.read_complete("a.csv", b"epoch,loss\n0,2.5\n1,2.0\n")
    lightning = reading.read_complete("b.csv", b"epoch,loss,step\n0,2.5,49\n")
    assert (points(keras), points(lightning)) == ([(0, 2.5), (1, 2.0)], [(49, 2.5)])


@pytest.mark.parametrize("inner", ["batch", "Batch_idx", "step", "iter"])
def test_steps_that_start_over_with_each_epoch_are_continued(inner: str, reading: Any) -> None:
    rows = [(epoch, step, 9 - epoch - step / 8) for epoch in range(3) for step in range(4)]
    content = f"epoch,{inner},loss\n" + "".join(f"{epoch},{step},{loss}\n" for epoch, step, loss in rows)
    result = reading.read_complete("a.csv", content.encode())
    assert points(result) == [(number, loss) for number, (_, _, loss) in enumerate(rows)]


def test_steps_that_count_through_all_epochs_are_the_steps(reading: Any) -> None:
    result = reading.read_complete("a.csv", b"epoch,step,loss\n0,10,3.5\n0,20,3\n1,30,2.5\n1,25,2\n2,40,1\n")
    assert points(result) == [(10, 3.5), (20, 3.0), (30, 2.5), (25, 2.0), (40, 1.0)]
    fractions = reading.read_complete("a.csv", b"epoch,step,loss\n0.5,10,3.5\n1.5,5,3\n")
    assert points(fractions) == [(10, 3.5), (5, 3.0)]


@pytest.mark.parametrize("step", ["step", "global_step", "iteration"])
def test_an_epoch_may_end_between_the_rows_of_one_step(step: str, reading: Any) -> None:
    rows = [(n // 10 + 1, n // 4) for n in range(40)]
    lines = [f"epoch,{step},loss\n", *(f"{epoch},{at},0.{n:02}\n" for n, (epoch, at) in enumerate(rows, 1))]
    content = "".join(lines).encode()
    complete = reading.read_complete("log.csv", content)
    assert {at for at, _ in points(complete)} == {*range(10)}
    assert reading.read_growing("log.csv", content, [*accumulate(map(len, lines))]) == complete


@pytest.mark.parametrize(("step", "steps"), [("batch", [100, 200, 300]), ("step", [100, 200, 300])])
def test_a_row_per_epoch_at_its_last_step_is_one_of_several(
    step: str, steps: list[int], reading: Any
) -> None:
    content = f"epoch,{step},loss\n1,100,0.5\n2,100,0.4\n3,100,0.3\n".encode()
    assert [at for at, _ in points(reading.read_complete("log.csv", content))] == steps


def test_episodes_are_the_steps_where_nothing_else_counts(reading: Any) -> None:
    result = reading.read_complete("a.csv", b"Episode,reward,steps\n1,-10.5,300\n2,9.5,250\n")
    assert points(result, "reward") == [(1, -10.5), (2, 9.5)]
    assert points(result, "steps") == [(1, 300.0), (2, 250.0)]


def test_an_empty_cell_was_not_logged_and_nan_and_infinity_were(reading: Any) -> None:
    result = reading.read_complete("a.csv", b"step,loss\n1,\n2,nan\n3,inf\n4,-inf\n5,NA\n")
    assert [(step, repr(value)) for step, value in points(result)] == [(2, "nan"), (3, "inf"), (4, "-inf")]
    assert not result.unreadable


def test_a_file_named_after_an_attempt_is_that_attempt(reading: Any) -> None:
    result = reading.read_complete("attempt-12.csv", b"step,loss\n1,2.5\n")
    assert result.points[SeriesKey("loss")][0][0] == "12"


def test_columns_attempt_and_rank_state_whose_a_row_is(reading: Any) -> None:
    content = b"step,attempt,rank,time_ms\n10,0,0,1.5\n10,0,1,2.5\n20,0,0,1.5\n5,1,0,1.25\n"
    result = reading.read_complete("ranks.csv", content)
    assert result.points == {
        SeriesKey("time_ms", (("rank", "0"),)): [
            ("0", 10, "nan", "1.5"),
            ("0", 20, "nan", "1.5"),
            ("1", 5, "nan", "1.25"),
        ],
        SeriesKey("time_ms", (("rank", "1"),)): [("0", 10, "nan", "2.5")],
    }


def test_a_real_file_of_ranks_holds_a_series_per_rank_and_metric(reading: Any) -> None:
    result = reading.read_complete(*reading.samples["csv/ranks.csv.gz"])
    assert {key.metric for key in result.points} == {"compute_time", "collective_time"}
    assert len(result.points) == 64
    assert (result.count, result.unreadable) == (131 * 64, [])


def test_a_real_attempt_is_read_as_numpy_reads_it(reading: Any) -> None:
    name, content = reading.samples["csv/attempt-0.csv.gz"]
    table = np.genfromtxt(io.BytesIO(content), delimiter=",", names=True)
    result = reading.read_complete(name, content)
    assert len(table) == 1614
    for metric in ("loss", "grad_norm", "lr", "tokens_per_s"):
        assert points(result, metric) == list(
            zip(table["step"].astype(int), table[metric].tolist(), strict=True)
        )


@pytest.mark.parametrize(
    ("row", "reason"),
    [
        (b"3,2.5", "expected 3 columns as in the header, found 2"),
        (b"3,2.5,1,1", "expected 3 columns as in the header, found 4"),
        (b"three,2.5,1", "column step: expected a whole number as the step, found 'three'"),
        (b"3.5,2.5,1", "column step: expected a whole number as the step, found '3.5'"),
        (b",2.5,1", "column step: expected a whole number as the step, found ''"),
        (b"99999999999999999999,2.5,1", "expected a whole number as the step, found '99999999999999999999'"),
        (b"3,abc,1", "column loss: expected a number, found 'abc'"),
        (b'"3,2.5,1', "expected 3 columns as in the header, found 1"),
    ],
)
def test_a_bad_row_is_reported_with_its_line_and_what_was_expected(
    row: bytes, reason: str, reading: Any
) -> None:
    result = reading.read_complete("a.csv", b"step,loss,lr\n1,2.5,1\n2,2.5,1\n" + row + b"\n4,2.5,1\n")
    ((place, found),) = result.unreadable
    assert place == "line 4"
    assert reason in found
    assert [step for step, _ in points(result)] == [1, 2, 4]


def test_a_bad_cell_costs_only_itself(reading: Any) -> None:
    result = reading.read_complete("a.csv", b"step,loss,lr\n1,2.5,1\n2,oops,2\n3,2.0,3\n")
    assert points(result) == [(1, 2.5), (3, 2.0)]
    assert points(result, "lr") == [(1, 1.0), (2, 2.0), (3, 3.0)]


def test_a_column_of_text_is_reported_once(reading: Any) -> None:
    content = b"step,note,loss\n" + b"".join(b"%d,warm,2.5\n" % step for step in range(100))
    result = reading.read_complete("a.csv", content)
    assert result.unreadable == [("line 2", "column note: expected numbers, found text like 'warm'")]
    assert result.count == 100
    assert (
        reading.read_growing("a.csv", content, range(0, len(content) + 1, 9)).unreadable == result.unreadable
    )


def test_a_text_that_names_the_training_of_its_row_is_no_problem(reading: Any) -> None:
    content = b"step,method,loss\n" + b"".join(b"%d,plain,2.5\n" % step for step in range(100))
    assert reading.read_complete("a.csv", content).unreadable == []


def test_so_many_bad_rows_are_counted_rather_than_reported_one_by_one(reading: Any) -> None:
    result = reading.read_complete("a.csv", b"step,loss\n" + b"bad\n" * 1000)
    assert len(result.unreadable) == 21
    assert result.unreadable[-1] == ("line 1001", "980 more places like these, up to here, could not be read")


def test_a_line_that_is_far_too_long_costs_only_itself(reading: Any) -> None:
    content = b"step,loss\n1,2.5\n" + b"9" * (2 * LONGEST_LINE) + b"\n2,2.0\n"
    result = reading.read_complete("a.csv", content)
    assert points(result) == [(1, 2.5), (2, 2.0)]
    assert result.unreadable == [("line 3", "expected a row, found a line longer than 1 MiB")]
    sizes = range(0, len(content) + 1, 500_001)
    assert reading.read_growing("a.csv", content, [*sizes, len(content)]).points == result.points


@pytest.mark.slow
def test_a_wide_row_is_read_complete(reading: Any) -> None:
    width = 30_000
    header = ",".join(["step", *(f"m{number}" for number in range(width))])
    row = ",".join(["1", *("0.5" for _ in range(width))])
    assert reading.read_complete("a.csv", f"{header}\n{row}\n".encode()).count == width


def test_the_last_line_waits_for_its_end(reading: Any) -> None:
    content = b"step,loss\n1,2.5\n2,2.25"
    assert points(reading.read_complete("a.csv", content)) == [(1, 2.5)]
    grown = reading.read_growing("a.csv", content + b"5\n", [len(content), len(content) + 2])
    assert points(grown) == [(1, 2.5), (2, 2.255)]


@pytest.mark.parametrize("delimiter", [",", ";", "\t"])
@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_other_delimiters_line_ends_quotes_and_a_byte_order_mark_are_understood(
    delimiter: str, end: str, reading: Any
) -> None:
    rows = [["step", '"loss"', "lr"], ["1", '"2.5"', "1e-3"], ["2", "2.0", '"1e-3"']]
    content = "\ufeff" + "".join(delimiter.join(row) + end for row in rows)
    result = reading.read_complete("a.csv", content.encode())
    assert points(result) == [(1, 2.5), (2, 2.0)]
    assert not result.unreadable


def test_a_header_written_again_when_a_run_is_resumed_is_no_row(reading: Any) -> None:
    result = reading.read_complete("a.csv", b"step,loss\n1,2.5\nstep,loss\n2,2.0\n")
    assert points(result) == [(1, 2.5), (2, 2.0)]
    assert not result.unreadable


def test_time_is_a_clock_or_a_duration_as_its_first_value_states(reading: Any) -> None:
    clock = reading.read_complete("a.csv", b"step,time,loss\n1,1700000000,2.5\n")
    duration = reading.read_complete("b.csv", b"step,time,loss\n1,0.25,2.5\n")
    assert clock.points[SeriesKey("loss")][0][2] == "1700000000.0"
    assert points(duration, "time") == [(1, 0.25)]
    assert SeriesKey("time") not in clock.points


@pytest.mark.parametrize(
    ("written", "seconds"),
    [
        ("1700000000250", 1700000000.25),
        ("1700000000250000", 1700000000.25),
        ("1700000000250000000", 1700000000.25),
        ("2023-11-14T22:13:20.250+00:00", 1700000000.25),
        ("2023-11-14T22:13:20.25Z", 1700000000.25),
    ],
)
def test_times_in_other_units_are_recognised(written: str, seconds: float, reading: Any) -> None:
    result = reading.read_complete("a.csv", f"step,timestamp,loss\n1,{written},2.5\n".encode())
    assert float(result.points[SeriesKey("loss")][0][2]) == pytest.approx(seconds, abs=1e-3)


def test_a_csv_without_a_step_is_nobodys_log() -> None:
    assert not CsvLog().sniff(PurePath("data.csv"), b"name,price\nbread,2\n")
    assert not CsvLog().sniff(PurePath("log.csv"), b"step,lo")


def rewrite(before: bytes, after: bytes, looks: int = 1) -> tuple[list[Batch | Unreadable], int]:
    """The records of a file after it was rewritten, and the position of the stream then."""
    stream = io.BytesIO(before)
    reader = CsvLog().reader(Path("metrics.csv"), {})
    list(reader.read(stream))
    state = {"rewritten": json.loads(json.dumps(reader.state()))}
    stream = io.BytesIO(after)
    found: list[Batch | Unreadable] = []
    for _ in range(looks):
        reader = CsvLog().reader(Path("metrics.csv"), state)
        found += reader.read(stream)
        state = json.loads(json.dumps(reader.state()))
    return found, stream.tell()


OLD = b"epoch,step,train_loss\n" + b"".join(b"0,%d,%.3f\n" % (step, 3 - step / 100) for step in range(100))
NEW = b"epoch,step,train_loss,val_loss\n" + b"".join(
    b"0,%d,%.3f,\n" % (step, 3 - step / 100) for step in range(100)
)


def test_lightnings_rewritten_file_repeats_nothing_and_loses_nothing(reading: Any) -> None:
    found, _ = rewrite(OLD, NEW + b"0,100,,2.25\n0,101,1.5,\n", looks=2)
    result = reading.collect(found)
    assert points(result, "val_loss") == [(100, 2.25)]
    assert points(result, "train_loss") == [(101, 1.5)]


def test_a_rewrite_under_way_is_waited_for(reading: Any) -> None:
    for size in (0, 10, len(NEW) // 3, len(NEW) - 1):
        found, position = rewrite(OLD, NEW[:size])
        assert (found, position) == ([], 0)


def test_another_content_under_the_same_name_is_read_from_its_start(reading: Any) -> None:
    other = b"epoch,step,train_loss\n0,0,5.0\n0,1,4.0\n"
    found, _ = rewrite(OLD, other, looks=2)
    assert points(reading.collect(found), "train_loss") == [(0, 5.0), (1, 4.0)]


def test_a_log_that_was_emptied_continues_without_its_header(reading: Any) -> None:
    found, _ = rewrite(b"step,loss\n1,2.5\n", b"2,2.25\n3,2.0\n")
    assert points(reading.collect(found)) == [(2, 2.25), (3, 2.0)]


@settings(max_examples=60, deadline=None)
@given(
    rows=st.lists(
        st.tuples(st.integers(0, 10**6), st.floats(), st.none() | st.floats()), min_size=1, max_size=80
    ),
    cut=st.integers(0, 80),
)
def test_any_rewritten_table_shows_only_what_is_new(rows: list[Any], cut: int, reading: Any) -> None:
    def written(some: list[Any], header: list[str]) -> bytes:
        lines = [",".join(header)]
        for step, loss, extra in some:
            cells = {"step": str(step), "loss": repr(loss), "extra": "" if extra is None else repr(extra)}
            lines.append(",".join(cells.get(name, "") for name in header))
        return ("\n".join(lines) + "\n").encode()

    known = [(step, loss, None) for step, loss, _ in rows[:cut]]
    before = written(known, ["step", "loss"])
    after = written([*known, *rows[cut:]], ["added", "extra", "loss", "step"])
    found, _ = rewrite(before, after, looks=2)
    result = [(step, repr(value)) for step, value in points(reading.collect(found))]
    assert result == [(step, repr(loss)) for step, loss, _ in rows[cut:]]
