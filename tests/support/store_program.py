"""Run as a program: kills a store in the middle of its work, again and again; what it acknowledged is noted.

    python -m tests.support.store_program DATABASE_URL NOTES KILLS SEED

Each child accepts batch after batch while it compacts all the time, and writes the number of every batch
that was acknowledged into the file NOTES. The parent kills it at a random moment.
"""

from __future__ import annotations

import os
import random
import sys
import threading
import time
from functools import partial

import numpy as np

from holter.server.database import connect
from holter.server.store import Store
from holter.types import Batch, Column, Cursor, Delivery, SeriesKey
from tests.support.random_kills import kill_at_random

ROWS = 100
KEYS = [SeriesKey(f"m{n}") for n in range(3)]


def delivery(number: int) -> Delivery:
    steps = np.arange(number * ROWS, (number + 1) * ROWS, dtype=np.int64)
    columns = tuple(Column(key=key, values=np.sin(steps * (n + 1))) for n, key in enumerate(KEYS))
    return Delivery(
        project="p",
        run="run",
        writer="w",
        batch_id=f"file:0:{number}",
        batch=Batch(steps=steps, times=steps * 0.5, columns=columns),
        cursor=Cursor(source="file", format="csv", offset=number + 1, identity="i"),
    )


def child(url: str, notes: int) -> None:
    store = Store(connect(url))
    store.start()
    threading.Thread(target=compact, args=(store,), daemon=True).start()
    cursor = store.cursor("file")
    number = cursor.offset if cursor else 0
    # a source that was not sure whether its last batches arrived sends them again
    for again in range(max(0, number - 3), number):
        assert store.accept(delivery(again)).duplicate
    while True:
        assert not store.accept(delivery(number)).duplicate
        os.write(notes, f"{number}\n".encode())
        number += 1


def compact(store: Store) -> None:
    while True:
        store.compact()
        time.sleep(0.002)


def main(url: str, notes: str, kills: str, seed: str) -> None:
    chance = random.Random(int(seed))
    kill_at_random(partial(child, url), notes, kills=int(kills), chance=chance, mean=0.15)


if __name__ == "__main__":
    main(*sys.argv[1:])
