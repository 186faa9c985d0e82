"""kill -9 at random moments: nothing acknowledged is lost, nothing is stored twice, everything is whole.

`HOLTER_TEST_KILLS=300 pytest tests/faults/test_kills.py` kills so many times in all.
"""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from holter.server.database import connect
from holter.server.maintenance import downsampling
from holter.server.maintenance.deletion import purge
from holter.server.migrate import upgrade
from holter.server.store import Store
from holter.types import SeriesKey
from tests.support import maintenance_program
from tests.support.batch_senders import BatchSender, assert_all_is_there, assert_in_numbers, sending
from tests.support.command_runner import CommandRunner
from tests.support.stored_runs import points_of
from tests.support.waiting import wait_for

pytestmark = pytest.mark.slow

Note = Callable[[str, object], None]
ROOT = Path(__file__).parents[2]
KILLS = int(os.environ.get("HOLTER_TEST_KILLS", "24")) // 4
"""Of a server and of a store, on either database."""


@pytest.mark.timeout(60 + 20 * KILLS)
def test_repeatedly_killed_server_loses_no_acknowledged_points(
    database_url: str, command_runner: CommandRunner, record_property: Note
) -> None:
    chance = random.Random(database_url.partition(":")[0])
    senders = [
        BatchSender(command_runner.port, "small"),
        BatchSender(command_runner.port, "ranks", rank=0),
        BatchSender(command_runner.port, "ranks", rank=1),
        BatchSender(command_runner.port, "wide", metrics=40, rows=1000),  # is compacted every few batches
    ]
    kills = 0
    command_runner.serve(database_url)
    with sending(senders):
        while kills < KILLS:
            # before every other kill the server gets to work first, however busy the machine is
            if kills % 2:
                news = sum(sender.acknowledged for sender in senders)
                wait_for(lambda: sum(sender.acknowledged for sender in senders) > news, 60)  # noqa: B023
            time.sleep(chance.expovariate(1 / 0.4))
            assert command_runner.end(signal.SIGKILL) == -signal.SIGKILL, command_runner.log.read_text()[
                -3000:
            ]
            kills += 1
            command_runner.begin("serve", "--database-url", database_url)
    for sender in senders:
        assert sender.acknowledged > KILLS // 2
        assert set(sender.answers) <= {200, 503}
    for number in chance.sample(range(senders[0].acknowledged), min(20, senders[0].acknowledged)):
        senders[0].repeat(number)
    senders[0].hang_up()
    assert not senders[0].wrong
    assert command_runner.end(signal.SIGTERM) == 0
    command_runner.begin("db", "check", "--database-url", database_url)
    assert command_runner.ended() == 0, command_runner.log.read_text()[-3000:]
    lost = sum(sender.arrived_before for sender in senders)
    sent = sum(sender.acknowledged for sender in senders)
    record_property("kills", kills)
    record_property("batches", sent)
    record_property("acknowledged by the receipt of a duplicate", lost)
    engine = connect(database_url)
    store = Store(engine)
    store.start()
    assert_all_is_there(store, senders)
    store.compact()
    assert_all_is_there(store, senders)
    store.close()
    engine.dispose()


@pytest.fixture(scope="session")
def thinned(tmp_path_factory: pytest.TempPathFactory) -> dict[SeriesKey, tuple[bytes, ...]]:
    """What stays of an old run if nobody disturbs."""
    engine = connect(f"sqlite:///{tmp_path_factory.mktemp('peace') / 'holter.db'}")
    upgrade(engine)
    store = Store(engine)
    store.start()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(downsampling, "PART_POINTS", maintenance_program.AT_ONCE)
        kept = points_of(engine, maintenance_program.make_old(store, engine, 0))
    store.close()
    engine.dispose()
    return kept


@pytest.mark.timeout(60 + 20 * KILLS)
def test_store_killed_during_maintenance_is_consistent(
    database_url: str,
    tmp_path: Path,
    thinned: dict[SeriesKey, tuple[bytes, ...]],
    monkeypatch: pytest.MonkeyPatch,
    record_property: Note,
) -> None:
    notes = tmp_path / "acknowledged"
    program = [sys.executable, "-m", maintenance_program.__name__, database_url, str(notes), str(KILLS)]
    subprocess.run([*program, database_url[:3]], check=True, cwd=ROOT)
    acknowledged = [int(line) for line in notes.read_text().splitlines()]
    assert acknowledged == sorted(set(acknowledged))
    engine = connect(database_url)
    store = Store(engine)
    assert store.check() == []
    store.start()
    cursor = store.cursor("growing")
    assert cursor is not None
    stored = cursor.offset
    assert set(acknowledged) <= set(range(stored))
    growing = store.accept(maintenance_program.delivery("growing", 0))
    assert growing.duplicate
    found = store.read(growing.run_id)
    for n, key in enumerate(maintenance_program.KEYS):
        assert np.array_equal(found[key].step, np.arange(stored * maintenance_program.ROWS))
        values = maintenance_program.values(found[key].step, n)
        assert found[key].value.tobytes() == values.tobytes()
        assert_in_numbers(store, growing.run_id, key, values)
    (attempt,) = store.attempts(growing.run_id)
    assert attempt.points == stored * maintenance_program.ROWS * len(maintenance_program.KEYS)
    monkeypatch.setattr(downsampling, "PART_POINTS", maintenance_program.AT_ONCE)
    purge(engine)
    old = maintenance_program.old_runs(engine)
    for number, run_id in sorted(old.items()):
        maintenance_program.make_old(store, engine, number)  # where it was interrupted it goes on
        assert points_of(engine, run_id) == thinned
    assert store.check() == []
    record_property("kills", KILLS)
    record_property("batches", stored)
    record_property("runs thinned", max(old))
    store.close()
    engine.dispose()
