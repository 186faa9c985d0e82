"""Runs with unusual values, written to export files and imported again."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from hypothesis import strategies as st
from sqlalchemy import Engine

from holter.server.import_export.export import open_export
from holter.server.import_export.import_targets import LocalImportTarget
from holter.server.import_export.importer import ImportContext, ImportProgress
from holter.server.store import Store
from holter.types import SeriesKey
from tests.support.stored_runs import LOSS, RANKED, delivery, running_store

COMPLETE = ("json", "parquet")  # these carry configuration, attempts and incidents, too


def odd_run(store: Store, name: str = "a") -> int:
    """Two attempts, the first without a clock at times; NaN, infinities, odd labels, a gap in numbers."""
    steps = np.arange(600)
    values = np.sin(steps) * 1e300
    values[[3, 4, 5, 6]] = [np.nan, np.inf, -np.inf, -0.0]
    times = np.where(steps % 7 == 0, np.nan, 1.7e9 + steps / 3)
    store.accept(delivery(steps, {LOSS: values}, batch_id="0", times=times, run=name))
    store.accept(delivery(steps[:9], {RANKED: values[:9]}, batch_id="1", run=name))
    wide = np.array([400, 2**62, -(2**62)])
    store.compact()
    return store.accept(
        delivery(wide, {LOSS: values[:3], SeriesKey("lr"): values[4:7]}, batch_id="2", run=name, attempt="7")
    ).run_id


def write_export(engine: Engine, run_id: int, form: str, path: Path) -> Path:
    with open_export(engine, run_id, form) as one:
        path.write_bytes(b"".join(one.content))
    return path


def import_into(
    engine: Engine, path: Path, *, project: str | None = None, run: str | None = None
) -> ImportProgress:
    with running_store(engine) as store:
        return LocalImportTarget(ImportContext(engine=engine, store=store)).file(
            path, project=project, run=run
        )


@st.composite
def random_batches(draw: st.DrawFn) -> list[tuple[str, np.ndarray, dict[SeriesKey, np.ndarray], np.ndarray]]:
    """Some batches of any bits, in some attempts."""
    found = []
    letters = st.characters(exclude_characters="\0", exclude_categories=["Cs"])
    text = st.text(letters, min_size=1, max_size=5)
    key = st.builds(SeriesKey, text, st.tuples(st.tuples(text, text)))
    keys = draw(st.lists(key, min_size=1, max_size=3, unique=True))
    for _ in range(draw(st.integers(1, 4))):
        random = np.random.default_rng(draw(st.integers(0, 2**32)))
        rows = draw(st.sampled_from([1, 3, 300]))
        start = draw(st.sampled_from([0, 150, -(2**62)]))
        values = random.integers(-(2**63), 2**63 - 1, (len(keys), rows), dtype=np.int64).view(np.float64)
        times = np.where(random.random(rows) < 0.2, np.nan, random.normal(1.7e9, 1e3, rows))
        steps = np.arange(start, start + rows)
        columns = dict(zip(keys, values, strict=True))
        found.append((str(draw(st.integers(0, 3))), steps, columns, times))
    return found
