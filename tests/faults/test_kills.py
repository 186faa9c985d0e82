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
from tests.faults import housework
from tests.faults.conftest import Nursery
from tests.faults.feeding import Feeder, assert_all_is_there, assert_in_numbers, feeding
from tests.stored_runs import points
from tests.waiting import wait_for

Note = Callable[[str, object], None]
ROOT = Path(__file__).parents[2]
KILLS = int(os.environ.get("HOLTER_TEST_KILLS", "24")) // 4
"""Of a server and of a store, on either database."""


@pytest.mark.timeout(60 + 20 * KILLS)
def test_a_server_killed_again_and_again_keeps_what_it_acknowledged(
    database_url: str, nursery: Nursery, record_property: Note
) -> None:
    chance = random.Random(database_url.partition(":")[0])
    feeders = [
        Feeder(nursery.port, "small"),
        Feeder(nursery.port, "ranks", rank=0),
        Feeder(nursery.port, "ranks", rank=1),
        Feeder(nursery.port, "wide", metrics=40, rows=1000),  # is compacted every few batches
    ]
    kills = 0
    nursery.serve(database_url)
    with feeding(feeders):
        while kills < KILLS:
            # before every other kill the server gets to work first, however busy the machine is
            if kills % 2:
                news = sum(feeder.acknowledged for feeder in feeders)
                wait_for(lambda: sum(feeder.acknowledged for feeder in feeders) > news, 60)  # noqa: B023
            time.sleep(chance.expovariate(1 / 0.4))
            assert nursery.end(signal.SIGKILL) == -signal.SIGKILL, nursery.log.read_text()[-3000:]
            kills += 1
            nursery.begin("serve", "--database-url", database_url)
    for feeder in feeders:
        assert feeder.acknowledged > KILLS // 2
        assert set(feeder.answers) <= {200, 503}
    for number in chance.sample(range(feeders[0].acknowledged), min(20, feeders[0].acknowledged)):
        feeders[0].repeat(number)
    feeders[0].hang_up()
    assert not feeders[0].wrong
    assert nursery.end(signal.SIGTERM) == 0
    nursery.begin("db", "check", "--database-url", database_url)
    assert nursery.ended() == 0, nursery.log.read_text()[-3000:]
    lost = sum(feeder.arrived_before for feeder in feeders)
    sent = sum(feeder.acknowledged for feeder in feeders)
    record_property("kills", kills)
    record_property("batches", sent)
    record_property("acknowledged by the receipt of a duplicate", lost)
    engine = connect(database_url)
    store = Store(engine)
    store.start()
    assert_all_is_there(store, feeders)
    store.compact()
    assert_all_is_there(store, feeders)
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
        patch.setattr(downsampling, "PART_POINTS", housework.AT_ONCE)
        kept = points(engine, housework.make_old(store, engine, 0))
    store.close()
    engine.dispose()
    return kept


@pytest.mark.timeout(60 + 20 * KILLS)
def test_a_store_killed_while_it_compacts_thins_and_deletes_is_whole(
    database_url: str,
    tmp_path: Path,
    thinned: dict[SeriesKey, tuple[bytes, ...]],
    monkeypatch: pytest.MonkeyPatch,
    record_property: Note,
) -> None:
    notes = tmp_path / "acknowledged"
    program = [sys.executable, "-m", housework.__name__, database_url, str(notes), str(KILLS)]
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
    growing = store.accept(housework.delivery("growing", 0))
    assert growing.duplicate
    found = store.read(growing.run_id)
    for n, key in enumerate(housework.KEYS):
        assert np.array_equal(found[key].step, np.arange(stored * housework.ROWS))
        values = housework.values(found[key].step, n)
        assert found[key].value.tobytes() == values.tobytes()
        assert_in_numbers(store, growing.run_id, key, values)
    (attempt,) = store.attempts(growing.run_id)
    assert attempt.points == stored * housework.ROWS * len(housework.KEYS)
    monkeypatch.setattr(downsampling, "PART_POINTS", housework.AT_ONCE)
    purge(engine)
    old = housework.old_runs(engine)
    for number, run_id in sorted(old.items()):
        housework.make_old(store, engine, number)  # where it was interrupted it goes on
        assert points(engine, run_id) == thinned
    assert store.check() == []
    record_property("kills", KILLS)
    record_property("batches", stored)
    record_property("runs thinned", max(old))
    store.close()
    engine.dispose()
