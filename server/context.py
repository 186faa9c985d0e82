"""The parts of a server: made together, started in order, closed in reverse."""

from __future__ import annotations

from contextlib import AbstractContextManager, ExitStack
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from fastapi import Depends, Request
from sqlalchemy import Engine
from sqlalchemy.engine import make_url

from holter.flops.peaks import Peaks
from holter.server.agents import AgentRegistry
from holter.server.alerting import IncidentStore, NotificationSender, routes
from holter.server.alerting.agent_monitor import Watch
from holter.server.analysis import AnalysisLoop
from holter.server.auth import Access, refusal_to_start
from holter.server.channels import open_channels
from holter.server.clock import Clock
from holter.server.database import connect
from holter.server.ingest_http.receiver import Reception
from holter.server.ingest_http.upload import Uploads
from holter.server.live import Live, tell_commits, tell_incidents
from holter.server.maintenance.worker import Keeper
from holter.server.migrate import upgrade
from holter.server.planned_events import ExpectedEvents
from holter.server.prometheus import Counts
from holter.server.read_models.collectives import Collectives
from holter.server.read_models.runs import Overview
from holter.server.read_models.setup import SetUp
from holter.server.store import Store
from holter.settings import Settings

if TYPE_CHECKING:
    from holter.ingest.telemetry.scrape import Scraper

PROJECTS = 10_000  # whose settings are remembered


class OpenDoorError(RuntimeError):
    """Others could reach the server, and nothing would stop them."""


class Parts:
    """What requests and commands work with. `start` once, `close` once or more."""

    def __init__(self, settings: Settings, *, clock: Clock | None = None) -> None:
        self.clock = clock = clock or Clock()
        self.settings = settings
        make_folder(settings)
        self.engine = connect(settings.database)
        channels = open_channels(settings.all_channels())
        self.store = Store(
            self.engine, clock=clock, quota=lru_cache(PROJECTS)(lambda name: settings.project(name).quota)
        )
        self.reception = Reception(self.store, limit=settings.max_batch_mb * 2**20)
        self.uploads = Uploads(beside(self.engine), settings.max_import_mb * 2**20)
        self.incidents = IncidentStore(self.engine, routes=routes(channels), clock=clock)
        self.expected = ExpectedEvents(self.engine, settings, clock=clock)
        self.analysis = AnalysisLoop(
            self.engine, self.store, self.incidents, tuning=self.expected.tuning, clock=clock
        )
        self.outbox = NotificationSender(self.engine, self.store, channels, public_url=settings.address, clock=clock)
        self.keeper = Keeper(
            self.engine,
            lambda name: settings.project(name).retention,
            clock=clock,
            turn=self.store.rewrite_lock,
        )
        self.overview = Overview(self.engine, self.store, tuning=self.expected.on_the_pages, clock=clock)
        self.setup = SetUp(self.store, Peaks.from_settings(settings.peaks))
        self.collectives = Collectives(self.store)
        self.agents = AgentRegistry(self.engine, clock=clock)
        self.watch = Watch(
            self.engine, self.agents, routes=routes(channels), clock=clock, told=self.outbox.wake
        )
        self.access = Access(settings, self.engine, clock=clock)
        self.live = Live()
        self.counts = Counts(self.engine, self.live, self.agents)
        self._closing = ExitStack()
        self.started = False

    def start(self) -> None:
        """Migrate the database and start everything that works in the background.

        Raises OpenDoorError where a password or token must be set first, StoreLockedError where another
        server has the database, SQLAlchemyError where it cannot be reached.
        """
        with ExitStack() as undo:
            undo.callback(self.engine.dispose)
            upgrade(self.engine)
            if refusal := refusal_to_start(self.settings, self.engine):
                raise OpenDoorError(refusal)
            for part in (self.store, self.analysis, self.outbox, self.keeper, self.watch):
                part.start()
                undo.callback(part.close)
            self.store.on_commit(lambda commit: self.counts.points.inc(commit.points))
            self.store.on_commit(tell_commits(self.live))
            self.incidents.on_change(tell_incidents(self.live))
            self.incidents.on_change(self.outbox.wake)
            if self.settings.scrape.endpoints:
                undo.enter_context(self._scraper().at_work())
            self._closing = undo.pop_all()
        self.started = True

    def _scraper(self) -> Scraper:
        from holter.server.scraping import scraper  # noqa: PLC0415 - 10 MB of formats for those who scrape

        return scraper(self.settings.scrape, self.engine, self.store, clock=self.clock)

    def attach(self, more: AbstractContextManager[object]) -> None:
        """Start something more, which ends before everything that it works with."""
        self._closing.enter_context(more)

    def close(self) -> None:
        """End everything, what was started last first."""
        self._closing.close()


def make_folder(settings: Settings) -> None:
    address = make_url(settings.database)
    if address.get_backend_name() == "sqlite" and not settings.database_url:
        settings.data_dir.expanduser().mkdir(parents=True, exist_ok=True, mode=0o700)


def beside(engine: Engine) -> Path | None:
    """The folder of the database's file, where there is the room that its points will need; else None."""
    return Path(str(engine.url.database)).absolute().parent if engine.dialect.name == "sqlite" else None


# async, like every dependency here: a plain function would cost a change of threads for each request
async def _of_request(request: Request) -> Parts:
    parts: Parts = request.app.state.parts
    return parts


OfServer = Annotated[Parts, Depends(_of_request)]
