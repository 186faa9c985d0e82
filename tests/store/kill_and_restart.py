"""Run as a program: kills a store in the middle of its work, again and again; what it acknowledged is noted.

    python kill_and_restart.py DATABASE_URL NOTES KILLS SEED

Each child accepts batch after batch while it compacts all the time, and writes the number of every batch
that was acknowledged into the file NOTES. The parent kills it at a random moment.
"""

from __future__ import annotations

import os
import random
import signal
import sys
import threading
import time

import numpy as np

from holter.server.database import connect
from holter.server.store import Store
from holter.types import Batch, Column, Cursor, Delivery, SeriesKey

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
    opened = os.open(notes, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    for turn in range(int(kills)):
        before = os.fstat(opened).st_size
        pid = os.fork()
        if pid == 0:
            child(url, opened)
        # every other child has got to work first, however busy the machine is
        end = time.monotonic() + 20 * (turn % 2)
        while os.fstat(opened).st_size == before and time.monotonic() < end:
            time.sleep(0.01)
        time.sleep(chance.expovariate(1 / 0.15))
        os.kill(pid, signal.SIGKILL)
        _, status = os.waitpid(pid, 0)
        if os.WTERMSIG(status) != signal.SIGKILL:
            sys.exit("a child ended by itself")


if __name__ == "__main__":
    main(*sys.argv[1:])
