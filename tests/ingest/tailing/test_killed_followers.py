"""A tailing process that is killed at any moment loses nothing and repeats nothing."""

from __future__ import annotations

import random
import signal
import sqlite3
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import pytest
from tensorboardX import SummaryWriter

from holter.server.database import connect
from holter.server.store import Store
from holter.types import SeriesKey

pytestmark = pytest.mark.slow

PROGRAM = Path(__file__).parents[2] / "support" / "tailing_program.py"
STEPS = 600


@contextmanager
def following(kind: str, database: Path, root: Path) -> Iterator[subprocess.Popen[str]]:
    """A process that follows; killed without warning at the end."""
    command = [sys.executable, str(PROGRAM), kind, str(database), str(root)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "following\n"
        try:
            yield process
        finally:
            process.send_signal(signal.SIGKILL)


def write(root: Path, seconds: float) -> threading.Thread:
    """Training jobs that log for a while: a CSV log, one that Lightning's way is rewritten, an event file."""

    def job() -> None:
        for name in ("csv", "rewritten", "events"):
            (root / name).mkdir()
        events = SummaryWriter(str(root / "events"))
        rewritten = root / "rewritten" / "metrics.csv"
        with (root / "csv" / "log.csv").open("w") as log:
            log.write("step,loss\n")
            for step in range(STEPS):
                log.write(f"{step},{step / 2}")
                log.flush()
                log.write("\n")
                log.flush()
                events.add_scalar("loss", step / 2, step)
                events.flush()
                extra = step >= STEPS // 2
                if step in (0, STEPS // 2):
                    header = "added,step,loss\n" if extra else "step,loss\n"
                    rows = [f",{at},{at / 2}\n" for at in range(step)]
                    rewritten.write_text(header + "".join(rows))
                with rewritten.open("a") as file:
                    file.write(f"1,{step},{step / 2}\n" if extra else f"{step},{step / 2}\n")
                time.sleep(seconds / STEPS)
        events.close()

    thread = threading.Thread(target=job)
    thread.start()
    return thread


def eventually(check: object, seconds: float = 60) -> None:
    """Wait until a check holds."""
    end = time.monotonic() + seconds
    while not check():  # type: ignore[operator]
        assert time.monotonic() < end, "it did not come to that in time"
        time.sleep(0.1)


def offsets(database: Path) -> dict[str, int]:
    """How far each log has been read, as the store has it."""
    with closing(sqlite3.connect(database)) as db:
        return dict(db.execute('SELECT source, "offset" FROM source_cursor'))


def test_killed_at_random_moments_nothing_is_lost_and_nothing_repeated(tmp_path: Path) -> None:
    root, database = tmp_path / "logs", tmp_path / "points.db"
    root.mkdir()
    chance = random.Random(5)
    writer = write(root, 6)
    while writer.is_alive():
        with following("table", database, root):
            time.sleep(chance.uniform(0.0, 0.6))
    writer.join()
    wanted = [(step, step / 2) for step in range(STEPS)]

    def found(run: str) -> list[tuple[int, float]]:
        with closing(sqlite3.connect(database)) as db:
            query = "SELECT step, value FROM point WHERE run = ? AND metric = 'loss' ORDER BY rowid"
            rows: list[tuple[int, float]] = db.execute(query, (run,)).fetchall()
        return rows

    with following("table", database, root):
        eventually(lambda: all(len(found(run)) >= STEPS for run in ("csv", "rewritten", "events")))
    assert {run: found(run) for run in ("csv", "rewritten", "events")} == dict.fromkeys(
        ("csv", "rewritten", "events"), wanted
    )


def test_killed_in_front_of_the_real_store_every_step_is_there_once_in_one_attempt(
    tmp_path: Path, sqlite_template: Path
) -> None:
    root, database = tmp_path / "logs", tmp_path / "holter.db"
    root.mkdir()
    database.write_bytes(sqlite_template.read_bytes())
    chance = random.Random(6)
    writer = write(root, 4)
    while writer.is_alive():
        with following("store", database, root):
            time.sleep(chance.uniform(0.1, 0.8))
    writer.join()
    with following("store", database, root):
        eventually(lambda: offsets(database) == {str(path): path.stat().st_size for path in root.glob("*/*")})
    engine = connect(f"sqlite:///{database}")
    store = Store(engine)
    try:
        for run_id in (1, 2, 3):
            loss = store.read(run_id)[SeriesKey("loss")]
            assert loss.step.tolist() == list(range(STEPS))
            assert set(loss.attempt.tolist()) == {0}
        assert store.check() == []
    finally:
        store.close()
        engine.dispose()
