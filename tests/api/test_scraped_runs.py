"""`[scrape]` and `--scrape`: metrics of exporters for running runs, in a real database."""

from __future__ import annotations

import time
from pathlib import Path

import numpy as np
import pytest
from sqlalchemy import select
from sqlalchemy.orm import Session

from holter.server.clock import Clock
from holter.server.context import ServerContext
from holter.server.models import Attempt, Project, RunRecord
from holter.server.scraping import target_runs
from holter.settings import ScrapeSettings, SettingsError, load
from holter.types import CLOCK_STEPS, Batch, Column, Delivery, SeriesKey, labels_of
from tests.support.metrics_exporter import NODE, exporter, page
from tests.support.waiting import wait_for

UTIL = SeriesKey("gpu_util (%)", labels_of({"gpu": 0, "steps": CLOCK_STEPS}))


def delivery(run: str, key: SeriesKey, steps: list[int], times: list[float], batch_id: str) -> Delivery:
    batch = Batch(
        steps=np.array(steps, dtype=np.int64),
        times=np.array(times),
        columns=(Column(key=key, values=np.ones(len(steps))),),
    )
    return Delivery(project="llm", run=run, writer=key.metric, batch_id=batch_id, batch=batch)


def test_scraped_metrics_go_to_the_running_run(tmp_path: Path) -> None:
    with exporter(page(NODE)) as address:
        context = ServerContext(load({"data_dir": tmp_path, "scrape": {"endpoints": [address], "every": 1}}))
        context.start()
        try:
            now = time.time()
            receipt = context.store.accept(delivery("a", SeriesKey("loss"), [1], [now], "1"))
            keys = wait_for(
                lambda: [key for key in context.store.read(receipt.run_id) if key.metric == "node_load1"]
            )
        finally:
            context.close()
    assert all(key.has_clock_steps for key in keys)


def test_machine_metrics_neither_extend_a_run_nor_keep_it_running(tmp_path: Path) -> None:
    context = ServerContext(load({"data_dir": tmp_path}))
    context.start()
    try:
        accept, begin = context.store.accept, time.time() - 5000.0
        run = accept(delivery("a", SeriesKey("loss"), [1, 2], [begin, begin + 10], "1")).run_id
        with Session(context.engine) as session:
            before = session.scalars(select(RunRecord.updated_at)).one()
        moments = [begin - 90_000, begin + 5, begin + 4000]
        receipt = accept(delivery("a", UTIL, [round(at * 1000) for at in moments], moments, "2"))
        with Session(context.engine) as session:
            row = session.execute(select(Attempt.first_time, Attempt.last_time, Attempt.last_step)).one()
            assert (receipt.attempt, tuple(row)) == (0, (begin, begin + 10, 2))
            assert session.scalars(select(RunRecord.updated_at)).one() == before
        assert len(context.store.read(run)[UTIL]) == 3
    finally:
        context.close()


def test_runs_that_have_ended_or_are_silent_get_nothing(tmp_path: Path) -> None:
    context = ServerContext(load({"data_dir": tmp_path}))
    context.start()
    try:
        for name in ("old", "ended", "new"):
            context.store.accept(delivery(name, SeriesKey("loss"), [1], [time.time()], name))
        with Session(context.engine) as session, session.begin():
            rows = {row.name: row for row in session.scalars(select(RunRecord))}
            rows["old"].updated_at -= 3600
            rows["ended"].finished_at = time.time()
            assert session.scalars(select(Project.name)).all() == ["llm"]
        clock = Clock()
        assert target_runs(ScrapeSettings(), context.engine, clock=clock)() == [("llm", "new")]
        assert target_runs(ScrapeSettings(project="other"), context.engine, clock=clock)() == []
        assert target_runs(ScrapeSettings(run="x"), context.engine, clock=clock)() == [("default", "x")]
    finally:
        context.close()


def test_an_invalid_address_is_refused() -> None:
    with pytest.raises(SettingsError, match=r"scrape.endpoints: expected addresses such as http"):
        load({"scrape": {"endpoints": ["node1:9400"]}})
