"""Filters over 10,000 runs with 200 settings each: seconds of the first and of repeated searches.

`--runs` and `--settings` change the size. The database is a temporary SQLite file, filled by SQL:
logging two million settings would take minutes.
"""

from __future__ import annotations

import argparse
import json
import random
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from sqlalchemy import Engine, insert

from holter.server.database import connect, writing
from holter.server.database.free_space import checkpoint
from holter.server.migrate import upgrade
from holter.server.models import Attempt, ConfigRow, IncidentRow, Project, RunDetailRow, RunRecord
from holter.server.read_models.runs import RunReader
from holter.server.run_search.run_search import RunQuery, RunSearch
from holter.server.store import Store

NOW = 1_700_000_000.0
BATCH = 20_000
FILTERS = (
    "",
    "project:llm-3",
    "lr<3e-4",
    "lr<3e-4 state:running tag:baseline",
    "seed:17 optimizer:adamw",
    "kind:divergence -state:finished",
    "name~run-12*",
    "slow",
    "setting_100>0.5 setting_101<=0.5 setting_102!=0.25",
)


def fill(engine: Engine, runs: int, settings: int) -> None:
    """Store runs with settings, attempts, tags and incidents."""
    rng = random.Random(1)
    with writing(engine) as connection:
        projects = [{"id": n + 1, "name": f"llm-{n}", "created_at": NOW} for n in range(10)]
        connection.execute(insert(Project), projects)
        connection.execute(insert(RunRecord), [_run(n) for n in range(runs)])
        connection.execute(insert(Attempt), [_attempt(n) for n in range(runs)])
        details = [{"run_id": n + 1, "tags": ["baseline"], "revision": 1} for n in range(0, runs, 10)]
        connection.execute(insert(RunDetailRow), details)
        connection.execute(insert(IncidentRow), [_incident(n) for n in range(0, runs, 3)])
    names = [f"group_{n % 8}.setting_{n}" for n in range(settings - 4)]
    for batch in _batches(_settings(runs, names, rng)):
        with writing(engine) as connection:
            connection.execute(insert(ConfigRow), batch)
        checkpoint(engine)  # as a server does, which never reads this much from the write-ahead log


def _run(n: int) -> dict[str, Any]:
    return {
        "id": n + 1, "public_id": f"{n:012x}", "project_id": n % 10 + 1, "name": f"run-{n:05}",
        "created_at": NOW - n, "updated_at": NOW, "finished_at": NOW if n % 4 else None, "revision": 1,
        "stated": 1, "attempt_state": {},
    }  # fmt: skip


def _attempt(n: int) -> dict[str, Any]:
    times = {"first_time": NOW - 1000.0, "last_time": NOW}
    return {"run_id": n + 1, "number": 0, "first_step": 0, "last_step": 1000 + n, "points": 1000, **times}


def _incident(n: int) -> dict[str, Any]:
    return {
        "run_id": n + 1, "fingerprint": str(n), "kind": ("divergence", "spike_slow")[n % 2], "metric": "loss",
        "labels": {}, "attempt": 0, "start_step": 5, "detected_step": 6, "severity": "warning",
        "confidence": 1.0, "summary": "The loss rises", "advice": "", "evidence": {},
        "state": ("open", "recovered")[n % 5 == 0], "opened_at": NOW, "updated_at": NOW,
    }  # fmt: skip


def _settings(runs: int, names: list[str], rng: random.Random) -> Iterator[dict[str, Any]]:
    for n in range(runs):
        own: dict[str, Any] = {
            ("lr", "optimizer.lr", "learning_rate")[n % 3]: 10 ** -rng.uniform(2, 5),
            "optimizer.name": ("adamw", "lion", "sgd")[n % 3], "seed": n % 100, "model": f"m{n % 7}",
        }  # fmt: skip
        for name in names:
            own[name] = rng.choice((rng.random(), rng.randrange(8), True, "text"))
        for name, value in own.items():
            row = {"run_id": n + 1, "attempt": 0, "name": name, "labels": "[]"}
            yield {**row, "value": json.dumps(value)}


def _batches(rows: Iterator[dict[str, Any]]) -> Iterator[list[dict[str, Any]]]:
    batch: list[dict[str, Any]] = []
    for row in rows:
        batch.append(row)
        if len(batch) == BATCH:
            yield batch
            batch = []
    if batch:
        yield batch


def main() -> None:
    """Print the times."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=10_000)
    parser.add_argument("--settings", type=int, default=200)
    parser.add_argument("--folder", type=Path, help="keep the database here, for `holter serve --data-dir`")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        engine = connect(f"sqlite:///{(arguments.folder or Path(temporary)) / 'holter.db'}")
        upgrade(engine)
        fill(engine, arguments.runs, arguments.settings)
        store = Store(engine)
        search = RunSearch(engine, store, RunReader(engine, store), clock=lambda: NOW, max_age=2.0)
        began = time.perf_counter()
        search.index.snapshot()
        print(f"reading the index: {time.perf_counter() - began:.3f} s")
        print(f"{'filter':52} {'found':>6} {'first ms':>9} {'median of 9 ms':>15}")
        for text in FILTERS:
            times = [_measure(search, text) for _ in range(10)]
            found = len(search.find(text))
            print(f"{text:52} {found:6} {times[0]:9.1f} {sorted(times[1:])[4]:15.1f}")
        engine.dispose()


def _measure(search: RunSearch, text: str) -> float:
    """Milliseconds of a search in the order of the overview; each repetition is computed anew."""
    query = RunQuery(filter=text, sort="attention")
    began = time.perf_counter()
    search._search(query, search.index.snapshot())
    search._searches.clear()
    return 1000 * (time.perf_counter() - began)


if __name__ == "__main__":
    main()
