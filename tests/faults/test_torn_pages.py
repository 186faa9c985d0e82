"""Bytes that the disk tore: what is damaged is named, what is whole is read, nothing is made up."""

from __future__ import annotations

import logging
import random
import shutil
from pathlib import Path

import httpx
import numpy as np
import pytest
from sqlalchemy import text
from sqlalchemy.exc import DBAPIError

from holter.cli.main import main
from holter.server.database import connect, writing
from holter.server.store import CorruptDataError, Store
from holter.settings import Settings
from holter.types import Batch, Column, Delivery, SeriesKey
from tests.support.servers import served

pytestmark = pytest.mark.slow

ROWS = 200
PAGE = 8192
KEYS = [SeriesKey("a"), SeriesKey("b")]


def delivery(number: int, run: str = "run") -> Delivery:
    steps = np.arange(number * ROWS, (number + 1) * ROWS)
    columns = tuple(Column(key=key, values=np.sin(steps * (n + 1.0))) for n, key in enumerate(KEYS))
    batch = Batch(steps=steps, times=steps * 0.5, columns=columns)
    return Delivery(project="p", run=run, writer="w", batch_id=f"{run} {number}", batch=batch)


def truth(rows: int) -> list[bytes]:
    steps = np.arange(rows)
    return [np.sin(steps * (n + 1.0)).tobytes() for n in range(len(KEYS))]


def fill(url: str, *, batches: int = 60) -> None:
    engine = connect(url)
    store = Store(engine)
    store.start()
    for number in range(batches):
        store.accept(delivery(number))
        if number == batches // 2:
            store.compact()
    store.close()
    engine.dispose()


def read(url: str) -> int | None:
    """How many rows the run has, all of them the true ones; None where it is said that some are damaged."""
    engine = connect(url)
    try:
        store = Store(engine)
        found = store.read(1)
        rows = len(found[KEYS[0]])
        assert [found[key].value.tobytes() for key in KEYS] == truth(rows)
        return None if store.check() else rows
    except (CorruptDataError, DBAPIError):
        assert damaged_is_said(url)
        return None
    finally:
        engine.dispose()


def damaged_is_said(url: str) -> bool:
    engine = connect(url)
    try:
        return bool(Store(engine).check())
    except DBAPIError:  # the file is none any more: every command says so
        return True
    finally:
        engine.dispose()


def test_torn_write_ahead_log_is_valid_up_to_the_tear(sqlite_url: str, tmp_path: Path) -> None:
    chance = random.Random(7)
    file = Path(sqlite_url.removeprefix("sqlite:///"))
    engine = connect(sqlite_url)
    with engine.connect() as held:  # while somebody has it open, the log stays beside the file
        held.execute(text("SELECT 1"))
        fill(sqlite_url)
        log = Path(f"{file}-wal").read_bytes()
        assert len(log) > 100 * PAGE
        crashed = tmp_path / "crashed.db"
        seen = set()
        for turn in range(25):
            torn = bytearray(log)
            at = len(log) - chance.randrange(1, PAGE) if turn % 5 == 0 else chance.randrange(len(log))
            if turn % 2:
                del torn[at:]
            else:
                torn[at] ^= 1 << chance.randrange(8)
            shutil.copy(file, crashed)
            Path(f"{crashed}-wal").write_bytes(torn)
            Path(f"{crashed}-shm").unlink(missing_ok=True)
            rows = read_or_nothing(f"sqlite:///{crashed}")
            assert rows is not None, (turn, at)
            assert rows % ROWS == 0
            seen.add(rows)
        assert len(seen) > 5
    engine.dispose()


def read_or_nothing(url: str) -> int | None:
    """As `read`, 0 where the log is torn before the run's first batch."""
    engine = connect(url)
    with engine.connect() as connection:
        there = connection.scalar(text("SELECT count(*) FROM run"))
    engine.dispose()
    return read(url) if there else 0


def test_torn_page_of_sqlite_is_found_and_never_read_as_points(sqlite_url: str, tmp_path: Path) -> None:
    chance = random.Random(8)
    fill(sqlite_url)
    whole = Path(sqlite_url.removeprefix("sqlite:///")).read_bytes()
    pages = len(whole) // PAGE
    torn_file = tmp_path / "torn.db"
    found = 0
    for turn in range(40):
        torn = bytearray(whole)
        page = pages - 1 - chance.randrange(pages // 2 if turn % 2 else 1)
        if turn % 4 == 0:
            half = page * PAGE + chance.randrange(0, PAGE, 512)
            torn[half : (page + 1) * PAGE] = bytes((page + 1) * PAGE - half)  # the rest was never written
        else:
            torn[page * PAGE + chance.randrange(PAGE)] ^= 1 << chance.randrange(8)
        torn_file.write_bytes(torn)
        rows = read(f"sqlite:///{torn_file}")
        found += rows is None
        assert rows in (None, 60 * ROWS)
    assert found > 10


def test_a_file_that_was_cut_off_is_refused_in_a_sentence(
    sqlite_url: str, capsys: pytest.CaptureFixture[str]
) -> None:
    fill(sqlite_url)
    file = Path(sqlite_url.removeprefix("sqlite:///"))
    file.write_bytes(file.read_bytes()[: 3 * PAGE])
    with pytest.raises(SystemExit, match="1"):
        main(["db", "check", "--database-url", sqlite_url])
    said = "".join(capsys.readouterr())
    assert "malformed" in said
    assert "Traceback" not in said


def test_a_damaged_run_is_named_and_the_others_are_served(
    sqlite_url: str, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.CRITICAL)
    engine = connect(sqlite_url)
    store = Store(engine)
    store.start()
    hurt = store.accept(delivery(0, "hurt")).public_id
    well = store.accept(delivery(0, "well")).public_id
    store.close()
    with writing(engine) as connection:
        blob = connection.scalar(text("SELECT payload FROM log WHERE run_id = 1"))
        assert blob is not None
        torn = blob[: len(blob) // 2] + bytes(len(blob) - len(blob) // 2)
        connection.execute(text("UPDATE log SET payload = :torn WHERE run_id = 1"), {"torn": torn})
    engine.dispose()
    with (
        served(Settings(database_url=sqlite_url)) as (context, address),
        httpx.Client(base_url=f"{address}/api/v1", timeout=60) as client,
    ):
        assert client.get(f"/runs/{well}/data", params={"metric": "a"}).status_code == 200
        answer = client.get(f"/runs/{hurt}/data", params={"metric": "a"})
        assert answer.status_code == 500
        assert "run 1, log entry 1" in answer.json()["detail"]
        assert "holter db check" in answer.json()["detail"]
        runs = {run["id"]: run for run in client.get("/runs").json()["runs"]}
        assert (runs[well]["points"], runs[well]["damaged"]) == (2 * ROWS, None)
        assert "run 1, log entry 1" in runs[hurt]["damaged"]
        body = {"project": "p", "run": "hurt", "columns": {"step": [9000], "a": [1.0]}}
        assert client.post("/ingest", json=body).status_code == 200
        assert [problem for problem in context.store.check() if "run 'hurt'" in problem]
        assert not [problem for problem in context.store.check() if "run 'well'" in problem]
