"""Scrapes Prometheus exporters into the store, for the running runs or for one named run."""

from __future__ import annotations

from collections.abc import Sequence

from sqlalchemy import Engine, select
from sqlalchemy.orm import Session

from holter.ingest.telemetry.scrape import ACTIVE_SECONDS, ActiveRuns, DeliverySink, Scraper
from holter.server.clock import Clock
from holter.server.models import Project, RunRecord
from holter.settings import ScrapeSettings

_MAX_RUNS = 32


def create_scraper(settings: ScrapeSettings, engine: Engine, sink: DeliverySink, *, clock: Clock) -> Scraper:
    """A scraper of the endpoints in the settings, which writes to the store."""
    runs = target_runs(settings, engine, clock=clock)
    return Scraper(settings.endpoints, sink, runs, every=settings.every, also=settings.also, clock=clock)


def target_runs(settings: ScrapeSettings, engine: Engine, *, clock: Clock) -> ActiveRuns:
    """A function that returns the run named in the settings, else the newest `_MAX_RUNS` running ones."""

    def named_run() -> Sequence[tuple[str, str]]:
        return [(settings.project or "default", settings.run)]

    def running_runs() -> Sequence[tuple[str, str]]:
        query = (
            select(Project.name, RunRecord.name)
            .join(RunRecord, RunRecord.project_id == Project.id)
            .where(
                RunRecord.updated_at > clock() - ACTIVE_SECONDS,
                RunRecord.finished_at.is_(None),
                RunRecord.deleted_at.is_(None),
            )
            .order_by(RunRecord.updated_at.desc())
            .limit(_MAX_RUNS)
        )
        if settings.project:
            query = query.where(Project.name == settings.project)
        with Session(engine) as session:
            return [(project, run) for project, run in session.execute(query)]

    return named_run if settings.run else running_runs
