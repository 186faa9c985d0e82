"""Several servers on one PostgreSQL database write, make runs and compact in each other's way."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from itertools import chain

import numpy as np
import pytest

from holter.server.database import connect
from holter.server.store import Receipt, Store
from holter.types import Batch, Column, Delivery, SeriesKey

RUNS, PARTS, ROWS = 20, 6, 60
KEYS = [SeriesKey(f"m{number}") for number in range(40)]


@pytest.fixture
def stores(postgres_url: str) -> Iterator[tuple[Store, Store]]:
    """What two servers have of the store."""
    engines = connect(postgres_url), connect(postgres_url)
    one, other = Store(engines[0]), Store(engines[1])
    one.start()
    other.start()
    yield one, other
    one.close()
    other.close()
    engines[0].dispose()
    engines[1].dispose()


def delivery(run: int, writer: str, part: int) -> Delivery:
    steps = np.arange(part * ROWS, (part + 1) * ROWS)
    columns = tuple(Column(key=key, values=np.sin(steps + len(writer))) for key in KEYS)
    batch = Batch(steps=steps, times=1.7e9 + steps * 1.0, columns=columns, attempt="0")
    return Delivery(project="p", run=f"run {run}", writer=writer, batch_id=f"{writer} {part}", batch=batch)


def both(stores: tuple[Store, Store], writers: tuple[str, str]) -> list[Receipt]:
    """Both servers are sent each run's parts at the same moment; receipts of all."""
    together = threading.Barrier(2)

    def send(store: Store, writer: str) -> list[Receipt]:
        receipts = []
        for run in range(RUNS):
            together.wait(60)
            receipts += [store.accept(delivery(run, writer, part)) for part in range(PARTS)]
            if run % 5 == 0:
                store.compact()
        return receipts

    with ThreadPoolExecutor(2) as pool:
        return list(chain.from_iterable(pool.map(send, stores, writers)))


def test_runs_that_both_are_sent_at_once_are_made_once_and_lose_nothing(stores: tuple[Store, Store]) -> None:
    receipts = both(stores, ("rank 0", "rank 01"))
    assert not any(receipt.duplicate for receipt in receipts)
    assert len({receipt.run_id for receipt in receipts}) == RUNS
    for store in stores:
        assert store.check() == []
        for run_id in {receipt.run_id for receipt in receipts}:
            held = store.read(run_id)
            assert len(held) == 2 * len(KEYS), "the two writers log the same series at the same steps"
            assert sum(len(series.step) for series in held.values()) == 2 * len(KEYS) * PARTS * ROWS


def test_batch_sent_to_two_servers_is_stored_once(stores: tuple[Store, Store]) -> None:
    receipts = both(stores, ("rank 0", "rank 0"))
    assert sum(receipt.duplicate for receipt in receipts) == RUNS * PARTS
    assert stores[0].check() == []


def test_both_compact_the_same_run(stores: tuple[Store, Store]) -> None:
    run = [stores[0].accept(delivery(0, "w", part)).run_id for part in range(80)][-1]
    together = threading.Barrier(2)

    def compact(store: Store) -> int:
        together.wait(60)
        return store.compact(run)

    with ThreadPoolExecutor(2) as pool:
        written = sum(pool.map(compact, stores))
    assert written >= len(KEYS)
    assert stores[0].check() == []
    assert {len(series.step) for series in stores[1].read(run).values()} == {80 * ROWS}
