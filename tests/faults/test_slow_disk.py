"""A disk that takes its time, and a server that is told to end: who waits is answered."""

from __future__ import annotations

import signal
import threading
import time
from collections.abc import Iterator

import numpy as np
import pytest
from sqlalchemy import Engine, event

from holter.server.database import connect
from holter.server.read_models.runs import RunReader
from holter.server.store import Receipt, Store
from holter.types import Batch, Column, Delivery, SeriesKey
from tests.support.batch_senders import BatchSender
from tests.support.servers import forked
from tests.support.waiting import wait_for

pytestmark = pytest.mark.slow

CLIENTS = 64
FLUSHES = 12
KEYS = [SeriesKey(f"m{n}") for n in range(10)]


@pytest.fixture
def commits(engine: Engine) -> list[float]:
    """When each transaction of points was committed; each commit takes `commits[0]` seconds longer."""
    noted = [0.0]

    @event.listens_for(engine, "commit")
    def wait(connection: object) -> None:
        if threading.current_thread().name == "holter-store-writer":
            noted.append(time.monotonic())
            time.sleep(noted[0])

    return noted


@pytest.fixture
def slow(engine: Engine, commits: list[float]) -> Iterator[Store]:
    assert commits
    store = Store(engine)
    store.start()
    yield store
    store.close()


def flush(client: int, number: int) -> Delivery:
    steps = np.arange(number * 10, number * 10 + 10)
    columns = tuple(Column(key=key, values=np.cos(steps)) for key in KEYS)
    batch = Batch(steps=steps, times=steps * 1.0, columns=columns)
    return Delivery(project="p", run=f"r{client}", writer="w", batch_id=str(number), batch=batch)


@pytest.mark.parametrize("delay", [0.005, 0.05])
def test_many_clients_share_the_wait_for_a_slow_disk(slow: Store, commits: list[float], delay: float) -> None:
    for client in range(CLIENTS):
        slow.accept(flush(client, 0))
    before = len(commits)
    commits[0] = delay
    receipts = list[Receipt]()

    def client(number: int) -> None:
        for turn in range(1, FLUSHES + 1):
            receipts.append(slow.accept(flush(number, turn)))

    threads = [threading.Thread(target=client, args=(number,)) for number in range(CLIENTS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(receipts) == CLIENTS * FLUSHES
    assert not any(receipt.duplicate for receipt in receipts)
    # every client waits for the transaction under way and for its own: no flush pays for a commit alone
    assert len(commits) - before <= len(receipts) / 4


def test_stopping_server_answers_accepted_requests(sqlite_url: str) -> None:
    with forked("serve", "--database-url", sqlite_url) as (process, url):
        port = int(url.rpartition(":")[2])
        senders = [BatchSender(port, f"r{n}") for n in range(4)]
        try:
            for sender in senders:
                sender.start()
            wait_for(lambda: all(sender.acknowledged > 5 for sender in senders))
            process.send_signal(signal.SIGTERM)
            assert process.wait(60) == 0
        finally:
            for sender in senders:
                sender.patience = 0
                sender.end()
    for sender in senders:
        sender.join(60)
    assert set().union(*(sender.answers for sender in senders)) <= {200, 503}
    engine = connect(sqlite_url)
    store = Store(engine)
    runs = {run["name"]: run["points"] for run in RunReader(engine, store).runs()}
    # nothing was stored of which nobody was told
    assert runs == {sender.run_name: sender.acknowledged * 150 for sender in senders}
    assert store.check() == []
    engine.dispose()
