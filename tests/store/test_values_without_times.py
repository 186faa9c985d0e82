"""Reading a series without its times gives the same points in the same order as reading all of it."""

from __future__ import annotations

import numpy as np
import pytest

from holter.server.store import ReadMemory, Store
from holter.types import Batch, Column, Delivery, SeriesKey

LOSS = SeriesKey("loss")
Rows = list[tuple[int, float, float]]


def send(store: Store, rows: Rows, attempt: str, number: int) -> int:
    """Deliver rows of step, time and value."""
    steps, times, values = (np.array(column) for column in zip(*rows, strict=True))
    batch = Batch(steps=steps, times=times, columns=(Column(key=LOSS, values=values),), attempt=attempt)
    delivery = Delivery(project="p", run="run", writer="w", batch_id=str(number), batch=batch)
    return store.accept(delivery).run_id


@pytest.mark.parametrize(
    ("compacted", "logged"),
    [
        ([(1, 1.0, 0.5), (2, 2.0, 0.4)], [(3, 3.0, 0.3)]),
        ([(1, 1.0, 0.5), (5, 5.0, 0.4)], [(3, 3.0, 0.3), (5, 6.0, 0.4)]),
        ([(1, 1.0, 0.5), (1, 2.0, 0.5), (3, 3.0, 0.1)], [(1, 1.5, 0.4)]),
        ([(1, 1.0, 0.5), (2, 2.0, np.nan)], [(2, 1.0, 0.7)]),
    ],
    ids=["after", "between and beside", "several of a step", "a step again"],
)
def test_the_points_are_those_of_a_full_read(store: Store, compacted: Rows, logged: Rows) -> None:
    run_id = send(store, compacted, "0", 1)
    store.compact()
    send(store, logged, "0", 2)
    send(store, logged, "1", 3)
    full, values = store.read(run_id)[LOSS], store.read_values(run_id, LOSS)
    memory = ReadMemory()
    memory.columns(1)[1][:] = -1
    again = store.read_values(run_id, LOSS, memory)
    for name in ("attempt", "step", "value"):
        np.testing.assert_array_equal(getattr(values, name), getattr(full, name))
        np.testing.assert_array_equal(getattr(again, name), getattr(full, name))
