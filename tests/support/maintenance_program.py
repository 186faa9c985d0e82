"""Run as a program: a store that takes points, compacts, thins and deletes, killed in the middle of it.

    python -m tests.support.maintenance_program DATABASE_URL NOTES KILLS SEED

Each child writes the number of every acknowledged batch of the run "growing" into the file NOTES. Beside
that it makes the runs "old 0", "old 1", …, thins each, and deletes the one three before it.
"""

from __future__ import annotations

import os
import random
import sys
import threading
import time
from contextlib import suppress
from functools import partial

import numpy as np
from sqlalchemy import Engine, select

from holter.server.database import connect, reading
from holter.server.maintenance import downsampling
from holter.server.maintenance.deletion import delete_run, purge
from holter.server.models import RunRecord
from holter.server.store import Store, StoreError
from holter.types import Batch, Column, Cursor, Delivery, SeriesKey
from tests.support.random_kills import kill_at_random

ROWS = 100
OLD_ROWS = 60_000
BUCKET = 100
NOW = 1.7e9
KEYS = [SeriesKey(f"m{n}") for n in range(3)]
AT_ONCE = 15_000
"""Points that are thinned in one transaction: fewer than by default, so that there is more to interrupt."""


def values(steps: np.ndarray, metric: int) -> np.ndarray:
    return np.sin(steps * (metric + 1.0)) + steps / 1000


def delivery(run: str, number: int, rows: int = ROWS) -> Delivery:
    steps = np.arange(number * rows, (number + 1) * rows, dtype=np.int64)
    columns = tuple(Column(key=key, values=values(steps, n)) for n, key in enumerate(KEYS))
    return Delivery(
        project="p",
        run=run,
        writer="w",
        batch_id=f"{run}:{number}",
        batch=Batch(steps=steps, times=steps * 0.5, columns=columns),
        cursor=Cursor(source=run, format="csv", offset=number + 1, identity="i"),
    )


def make_old(store: Store, engine: Engine, number: int) -> int:
    """A run that is thinned, whatever of that an earlier process has done."""
    run_id = store.accept(delivery(f"old {number}", 0, OLD_ROWS)).run_id
    while True:
        try:
            downsampling.downsample_run(engine, run_id, BUCKET, NOW)
            return run_id
        except StoreError:  # it was just being compacted
            time.sleep(0.001)


def maintain(store: Store, engine: Engine) -> None:
    """Make old runs, one after the other, from the newest on that there is."""
    purge(engine)
    while True:
        made = old_runs(engine)
        number = max(made, default=0)
        make_old(store, engine, number)
        if number - 3 in made:
            delete_run(engine, made[number - 3], NOW)
            purge(engine, pause=lambda _: None)
        store.accept(delivery(f"old {number + 1}", 0, OLD_ROWS))


def old_runs(engine: Engine) -> dict[int, int]:
    """The ids of the old runs by their numbers."""
    with reading(engine) as connection:
        rows = connection.execute(
            select(RunRecord.name, RunRecord.id).where(RunRecord.name.startswith("old "))
        ).all()
    return {int(name.split()[1]): run_id for name, run_id in rows}


def compact(store: Store) -> None:
    while True:
        with suppress(StoreError):  # it was just being thinned, or deleted
            store.compact()
        time.sleep(0.002)


def child(url: str, notes: int) -> None:
    downsampling.PART_POINTS = AT_ONCE
    engine = connect(url)
    store = Store(engine)
    store.start()
    threading.Thread(target=compact, args=(store,), daemon=True).start()
    threading.Thread(target=maintain, args=(store, engine), daemon=True).start()
    cursor = store.cursor("growing")
    number = cursor.offset if cursor else 0
    # a source that was not sure whether its last batches arrived sends them again
    for again in range(max(0, number - 3), number):
        assert store.accept(delivery("growing", again)).duplicate
    while True:
        assert not store.accept(delivery("growing", number)).duplicate
        os.write(notes, f"{number}\n".encode())
        number += 1


def main(url: str, notes: str, kills: str, seed: str) -> None:
    chance = random.Random(seed)
    kill_at_random(partial(child, url), notes, kills=int(kills), chance=chance, mean=0.3)


if __name__ == "__main__":
    main(*sys.argv[1:])
