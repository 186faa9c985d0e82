"""Two writers of one run that log the same series at the same steps are two series."""

from __future__ import annotations

from itertools import count

import numpy as np
import pytest
from sqlalchemy import Engine

from holter.ingest.offline.series_builder import SeriesBuilder
from holter.server.store import Store
from holter.settings.projects import QuotaSettings
from holter.types import Batch, Column, Delivery, DenseColumns, SeriesKey, SeriesLayout

LOSS, NORM = SeriesKey("loss"), SeriesKey("grad_norm")
OTHER = SeriesKey("loss", (("writer", "b"),))
NUMBERS = count()


def rows(
    first: int, last: int, key: SeriesKey = LOSS, *, shift: float = 0.0, attempt: str | None = None
) -> Batch:
    """Steps from `first` up to `last`, one a second; the values are the steps, moved by `shift`."""
    steps = np.arange(first, last)
    columns = DenseColumns(SeriesLayout([key]), np.atleast_2d(steps + shift))
    return Batch(steps=steps, times=steps + shift, columns=columns, attempt=attempt)


def send(store: Store, writer: str, batch: Batch) -> int:
    number = str(next(NUMBERS))
    receipt = store.accept(Delivery(project="p", run="r", writer=writer, batch_id=number, batch=batch))
    assert receipt.accepted == batch.points
    return receipt.run_id


def values(store: Store, run_id: int) -> dict[str, list[float]]:
    return {str(key): series.value.tolist() for key, series in store.read(run_id).items()}


@pytest.mark.parametrize("attempt", [None, "0"])
def test_two_writers_of_the_same_steps_are_two_series(store: Store, attempt: str | None) -> None:
    send(store, "a", rows(0, 50, attempt=attempt))
    run_id = send(store, "b", rows(0, 50, shift=0.25, attempt=attempt))
    expected = {"loss": np.arange(50.0).tolist(), "loss{writer=b}": (np.arange(50) + 0.25).tolist()}
    assert values(store, run_id) == expected
    store.compact()
    assert values(store, run_id) == expected
    assert [one.number for one in store.attempts(run_id)] == [0]
    assert store.check() == []


def test_writers_stay_told_apart_after_a_restart_of_the_server(store: Store, engine: Engine) -> None:
    send(store, "a", rows(0, 5))
    send(store, "b", rows(0, 5, shift=0.25))
    store.close()
    again = Store(engine)
    again.start()
    for first in (5, 10):
        send(again, "b", rows(first, first + 5, shift=0.25))
        run_id = send(again, "a", rows(first, first + 5))
    assert values(again, run_id) == {
        "loss": np.arange(15.0).tolist(),
        "loss{writer=b}": (np.arange(15) + 0.25).tolist(),
    }
    again.close()


def test_a_writer_that_begins_after_a_restart_is_told_apart_whatever_its_name(
    store: Store, engine: Engine
) -> None:
    send(store, "b", rows(0, 5))
    store.close()
    again = Store(engine)
    again.start()
    run_id = send(again, "a", rows(0, 5, shift=0.25))
    assert values(again, run_id) == {
        "loss": np.arange(5.0).tolist(),
        "loss{writer=a}": (np.arange(5) + 0.25).tolist(),
    }
    again.close()


def test_series_that_only_one_writer_logs_get_no_label(store: Store) -> None:
    send(store, "a", rows(0, 5))
    steps = np.arange(5)
    columns = tuple(Column(key=key, values=steps * 2.0) for key in (LOSS, NORM))
    run_id = send(store, "b", Batch(steps=steps, times=steps + 0.25, columns=columns))
    assert sorted(values(store, run_id)) == ["grad_norm", "loss", "loss{writer=b}"]


def test_labels_that_tell_writers_apart_are_left_alone(store: Store) -> None:
    for rank in range(3):
        run_id = send(store, f"w{rank}", rows(0, 5, SeriesKey("loss", (("rank", str(rank)),))))
    assert sorted(values(store, run_id)) == ["loss{rank=0}", "loss{rank=1}", "loss{rank=2}"]


@pytest.mark.parametrize("first", [50, 49])
def test_a_writer_that_continues_another_one_is_the_same_series(store: Store, first: int) -> None:
    """As a rotated log or a reopened event file does, which may repeat the last step."""
    send(store, "a", rows(0, 50))
    run_id = send(store, "b", rows(first, 60, shift=0.25))
    run_id = send(store, "b", rows(60, 70, shift=0.25))
    assert list(values(store, run_id)) == ["loss"]
    assert len(store.read(run_id)[LOSS]) == 50 + 70 - first


def test_an_older_part_that_arrives_later_is_the_same_series(store: Store) -> None:
    send(store, "b", rows(50, 60))
    run_id = send(store, "a", rows(0, 50))
    assert values(store, run_id) == {"loss": np.arange(60.0).tolist()}


def test_series_of_writers_told_apart_count_for_the_quota(engine: Engine) -> None:
    store = Store(engine, quota=lambda _project: QuotaSettings(max_series_per_run=2))
    store.start()
    send(store, "a", rows(0, 5))
    send(store, "b", rows(0, 5, shift=0.25))
    third = Delivery(project="p", run="r", writer="c", batch_id="c", batch=rows(0, 5, shift=0.5))
    for _ in range(2):
        receipt = store.accept(third)
        assert (receipt.accepted, receipt.duplicate, receipt.refused[0].what) == (
            0,
            False,
            "max_series_per_run",
        )
    assert sorted(values(store, receipt.run_id)) == ["loss", "loss{writer=b}"]
    store.close()


def test_a_batch_of_which_some_series_are_refused_is_stored_once(sqlite_engine: Engine) -> None:
    def both(shift: float) -> Batch:
        columns = DenseColumns(SeriesLayout([LOSS, NORM]), np.ones((2, 5)) + shift)
        return Batch(steps=np.arange(5), times=np.arange(5) + shift, columns=columns)

    store = Store(sqlite_engine, quota=lambda _project: QuotaSettings(max_series_per_run=3))
    store.start()
    send(store, "a", both(0.0))
    second = Delivery(project="p", run="r", writer="b", batch_id="b", batch=both(0.25))
    for duplicate in (False, True):
        receipt = store.accept(second)
        assert receipt.duplicate is duplicate
        assert len(store.read(receipt.run_id)) == 3
        assert sum(map(len, store.read(receipt.run_id).values())) == 15
    store.close()


def test_files_read_at_once_are_told_apart_as_a_server_does(store: Store) -> None:
    builder = SeriesBuilder()
    for writer, batch in (("a", rows(0, 50)), ("b", rows(0, 50, shift=0.25)), ("c", rows(50, 60))):
        builder.add(writer, batch)
        run_id = send(store, writer, batch)
    built = {str(key): series.value.tolist() for key, series in builder.series().items()}
    assert built == values(store, run_id)
    assert sorted(built) == ["loss", "loss{writer=b}"]
