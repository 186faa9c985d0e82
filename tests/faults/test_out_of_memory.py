"""A server that gets no more memory in the middle of a look: that fails, and nothing acknowledged is lost.

Python says so, and the server goes on; libraries in other languages end the process, as the system does
where memory is really gone. What was acknowledged is there all the same.
"""

from __future__ import annotations

import resource
import signal
from concurrent.futures import ThreadPoolExecutor

import httpx
import numpy as np
import psutil
import pytest

from holter.server.database import connect
from holter.server.store import Store
from holter.types import SeriesKey
from tests.support.batch_senders import BatchSender, assert_all_is_there, sending
from tests.support.command_runner import CommandRunner
from tests.support.stored_runs import delivery
from tests.support.waiting import wait_for

pytestmark = pytest.mark.slow

SIZE = 300_000
ROOM = 48 * 2**20
"""Bytes of addresses that a server gets beside those that it has: less than the look needs."""
FREE = (resource.RLIM_INFINITY, resource.RLIM_INFINITY)


def test_analysis_out_of_memory_loses_no_points(database_url: str, command_runner: CommandRunner) -> None:
    engine = connect(database_url)
    store = Store(engine)
    store.start()
    keys = [SeriesKey(f"m{n}") for n in range(8)]
    steps = np.arange(SIZE)
    large = store.accept(delivery(steps, {key: np.sin(steps) for key in keys}, batch_id="x"))
    store.compact()
    store.close()
    command_runner.serve(database_url)
    server = psutil.Process(command_runner.child)
    url = f"http://127.0.0.1:{command_runner.port}/api/v1"
    question = {"metric": [str(key) for key in keys], "points": str(100_000)}
    senders = [BatchSender(command_runner.port, "small")]
    with sending(senders), httpx.Client(base_url=url, timeout=60) as client:

        def look(_: int = 0) -> int:
            try:
                return client.get(f"/runs/{large.public_id}/data", params=question).status_code
            except httpx.TransportError:
                return 0

        wait_for(lambda: senders[0].acknowledged > 3)
        server.rlimit(resource.RLIMIT_AS, (server.memory_info().vms + ROOM, resource.RLIM_INFINITY))
        with ThreadPoolExecutor(4) as people:
            seen = set(people.map(look, range(8)))
        assert seen & {0, 500, 503}, seen
        if has_ended(server):
            assert command_runner.ended() in {-signal.SIGABRT, -signal.SIGSEGV}
            command_runner.serve(database_url)
        else:
            server.rlimit(resource.RLIMIT_AS, FREE)
        acknowledged = senders[0].acknowledged
        wait_for(lambda: senders[0].acknowledged > acknowledged + 3)
        assert look() == 200
    assert set(senders[0].answers) <= {200, 500, 503}
    assert command_runner.end(signal.SIGTERM) == 0
    store = Store(engine)
    store.start()
    assert_all_is_there(store, senders)
    store.close()
    engine.dispose()


def has_ended(process: psutil.Process) -> bool:
    """Whether a process is gone, or about to go."""
    try:
        process.wait(2)
    except psutil.TimeoutExpired:
        return False
    return True
