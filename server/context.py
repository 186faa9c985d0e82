"""The services of a server: created together, started in order, closed in reverse order."""

from __future__ import annotations

import threading
from collections.abc import Callable
from contextlib import AbstractContextManager, ExitStack
from functools import lru_cache, partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from fastapi import Depends, Request
from sqlalchemy import Engine
from sqlalchemy.engine import make_url

from holter.flops.peaks import Peaks
from holter.private_files import create_private_folder, restrict_to_owner
from holter.server.agents import AgentRegistry
from holter.server.alerting import IncidentStore, NotificationSender
from holter.server.alerting.agent_monitor import AgentMonitor
from holter.server.alerting.gpu_hours import gpu_count
from holter.server.alerting.incident_mutes import end_mutes_of_recovered
from holter.server.alerting.notification_scheduler import NotificationScheduler
from holter.server.alerting.routing import build_policy
from holter.server.analysis import AnalysisWorker
from holter.server.analysis.missing_data_monitor import MissingDataMonitor
from holter.server.auth import Authenticator, missing_credentials
from holter.server.channels import open_channels
from holter.server.client_status import ClientStatusReader
from holter.server.clock import Clock
from holter.server.compare.comparison import ComparisonReader
from holter.server.compare.references import ReferenceRuns
from holter.server.database import connect
from holter.server.heartbeat import Heartbeat
from holter.server.incident_actions import IncidentActions
from holter.server.ingest_http.receiver import Receiver
from holter.server.ingest_http.upload import Uploads
from holter.server.live import LiveStream, commit_listener, incident_listener
from holter.server.maintenance.worker import MaintenanceWorker
from holter.server.migrate import upgrade
from holter.server.planned_events import PlannedEvents
from holter.server.prometheus import MetricSources, ServerMetrics
from holter.server.read_models.launches import LaunchReader
from holter.server.read_models.runs import RunReader
from holter.server.run_details import RunDetailStore
from holter.server.run_search.run_search import RunSearch
from holter.server.saved_views import SavedViews
from holter.server.share_links import ShareLinks
from holter.server.slack_interactions import SlackInteractions
from holter.server.store import Store
from holter.server.worker_progress import WorkerProgress, ignore_turn
from holter.settings import Settings

if TYPE_CHECKING:
    from holter.ingest.telemetry.scrape import Scraper

SEARCH_MAX_AGE = 2.0
"""Seconds after which the list of runs shows changes by other servers and commands."""
CACHED_PROJECTS = 10_000
"""Projects whose settings are cached."""
COMPACTION_SECONDS = 0.2
"""Seconds that compaction has to stop once everything else is closed."""
CHECKPOINT_SECONDS = 0.2
"""Seconds that the database has to close."""


class UnprotectedServerError(RuntimeError):
    """Other machines could reach the server without a password or token."""


class ServerContext:
    """All services that requests and commands use. Call `start` once, `close` at least once."""

    def __init__(self, settings: Settings, *, clock: Clock | None = None) -> None:
        self.clock = clock = clock or Clock()
        self.settings = settings
        create_data_dir(settings)
        self.engine = connect(settings.database)
        self.progress = WorkerProgress()
        self.metrics = ServerMetrics()
        self.channels = channels = open_channels(settings.all_channels())
        quota = lru_cache(CACHED_PROJECTS)(lambda name: settings.project(name).quota)
        self.store = Store(self.engine, clock=clock, quota=quota)
        self.receiver = Receiver(self.store, limit=settings.max_batch_mb * 2**20)
        self.uploads = Uploads(database_folder(self.engine), settings.max_import_mb * 2**20)
        self.policy = build_policy(channels, settings.alerting)
        self.incidents = IncidentStore(self.engine, policy=self.policy, clock=clock)
        self.planned_events = PlannedEvents(self.engine, settings, clock=clock)
        self.runs = RunReader(self.engine, self.store, tuning=self.planned_events.display_tuning, clock=clock)
        self.comparison = ComparisonReader(
            self.engine, self.store, self.runs, self.planned_events.display_tuning
        )
        self.references = ReferenceRuns(
            self.engine,
            self.comparison.access,
            lambda name: settings.project(name).reference,
            clock=clock,
        )
        self.analysis = AnalysisWorker(
            self.engine,
            self.store,
            self.incidents,
            tuning=self.planned_events.tuning,
            further=self.references.findings,
            clock=clock,
            on_turn=self.progress.register("analysis"),
        )
        self.notification_sender = NotificationSender(
            self.engine,
            self.store,
            channels,
            public_url=settings.address,
            policy=self.policy,
            clock=clock,
            devices=partial(gpu_count, self.store),
            on_turn=lambda name: self.progress.register(f"channel {name}"),
            on_attempt=self.metrics.delivery.attempted,
        )
        self.notification_scheduler = NotificationScheduler(
            self.engine,
            self.policy,
            self.notification_sender.wake,
            clock=clock,
            on_turn=self.progress.register("notification scheduler") if channels else ignore_turn,
        )
        self.maintenance = MaintenanceWorker(
            self.engine,
            lambda name: settings.project(name).retention,
            clock=clock,
            rewrite_lock=self.store.rewrite_lock,
        )
        self.incident_actions = IncidentActions(
            self.engine, self.incidents, self.planned_events, self.analysis
        )
        self.slack_interactions = SlackInteractions(
            self.engine,
            channels,
            incidents=self.incidents,
            actions=self.incident_actions,
            composer=self.notification_sender.composer,
            clock=clock,
        )
        self.run_search = RunSearch(self.engine, self.store, self.runs, clock=clock, max_age=SEARCH_MAX_AGE)
        self.views = SavedViews(self.engine, clock=clock)
        self.shares = ShareLinks(self.engine, address=settings.address, clock=clock)
        self.launches = LaunchReader(self.store, Peaks.from_settings(settings.peaks))
        self.run_details = RunDetailStore(self.engine, clock=clock)
        self.client_status = ClientStatusReader(self.engine, self.run_details, clock=clock)
        self.agents = AgentRegistry(self.engine, clock=clock)
        self.agent_monitor = AgentMonitor(
            self.agents,
            self.incidents,
            no_data=settings.alerting.no_data,
            clock=clock,
            on_turn=self.progress.register("agent monitor"),
        )
        self.missing_data_monitor = MissingDataMonitor(
            self.engine,
            self.incidents,
            settings.alerting.no_data,
            tuning=self.planned_events.tuning,
            clock=clock,
            on_turn=self.progress.register("missing data monitor"),
        )
        self.heartbeat = Heartbeat(settings.alerting.heartbeat, self.progress)
        self.authenticator = Authenticator(settings, self.engine, clock=clock)
        self.live = LiveStream(on_event=lambda event: self.run_search.index.notice(event.run))
        self.metrics.collect_from(
            MetricSources(
                engine=self.engine,
                live=self.live,
                agents=self.agents,
                progress=self.progress,
                heartbeat=self.heartbeat,
                channels=self.notification_sender.statuses,
                clock=clock,
            )
        )
        self._closing = ExitStack()
        self._stop_early: list[Callable[[], None]] = [
            self.live.close, self.store.begin_to_stop, self.analysis.stop, self.notification_sender.stop,
            self.notification_scheduler.stop, self.maintenance.stop, self.heartbeat.stop,
        ]  # fmt: skip
        self.started = False

    def start(self) -> None:
        """Migrate the database and start all background work.

        Raises UnprotectedServerError if a password or token must be set first, StoreLockedError if another
        server uses the database, SQLAlchemyError if it cannot be reached.
        """
        with ExitStack() as undo:
            undo.callback(self._close_database)
            upgrade(self.engine)
            if problem := missing_credentials(self.settings, self.engine):
                raise UnprotectedServerError(problem)
            self.store.start()
            undo.callback(self.store.close, compaction_seconds=COMPACTION_SECONDS)
            self.run_search.start()
            undo.callback(self.run_search.close)
            for service in (
                self.analysis,
                self.notification_sender,
                self.notification_scheduler,
                self.maintenance,
                self.agent_monitor,
                self.missing_data_monitor,
                self.heartbeat,
            ):
                service.start()
                undo.callback(service.close)
            undo.callback(self._close_receiver)
            self.store.on_commit(lambda commit: self.metrics.points.inc(commit.points))
            self.store.on_commit(commit_listener(self.live))
            self.incidents.on_change(incident_listener(self.live))
            self.incidents.on_change(end_mutes_of_recovered(self.engine, self.clock))
            self.incidents.on_change(self.notification_sender.wake)
            if self.settings.scrape.endpoints:
                undo.enter_context(self._scraper().running())
            self._closing = undo.pop_all()
        self.started = True

    def _close_database(self) -> None:
        """Close the connections; SQLite then moves its log into the file.

        That takes long after many writes, and the end of the process may cut it: what is in the log is
        durable, too.
        """
        closing = threading.Thread(target=self.engine.dispose, name="database-closing", daemon=True)
        closing.start()
        closing.join(CHECKPOINT_SECONDS)

    def _close_receiver(self) -> None:
        self.receiver.close()

    def _scraper(self) -> Scraper:
        from holter.server.scraping import create_scraper  # noqa: PLC0415 - loads 10 MB of formats

        return create_scraper(self.settings.scrape, self.engine, self.store, clock=self.clock)

    def attach(self, service: AbstractContextManager[object], *, stop: Callable[[], None]) -> None:
        """Enter a further service, which ends before those that it uses; `stop` tells it to do so soon."""
        self._closing.enter_context(service)
        self._stop_early.append(stop)

    def begin_to_stop(self) -> None:
        """Let background work end soon, without waiting for it; points are still accepted until `close`."""
        for stop in self._stop_early:
            stop()

    def close(self) -> None:
        """Stop all services in reverse order."""
        self._closing.close()


def create_data_dir(settings: Settings) -> None:
    """Create the folder of the SQLite database, unless the settings name one; make its files private."""
    address = make_url(settings.database)
    if address.get_backend_name() != "sqlite":
        return
    if not settings.database_url:
        create_private_folder(settings.data_folder, tighten=settings.has_default_data_dir)
    file = Path(address.database or "").resolve()
    for suffix in ("", "-wal", "-shm", "-journal", ".lock"):
        restrict_to_owner(file.with_name(file.name + suffix))


def database_folder(engine: Engine) -> Path | None:
    """The folder of the SQLite file, on whose disk uploads are stored temporarily; None for PostgreSQL."""
    return Path(str(engine.url.database)).absolute().parent if engine.dialect.name == "sqlite" else None


# async, like every dependency here: a plain function would run in another thread for each request
async def _context_of(request: Request) -> ServerContext:
    context: ServerContext = request.app.state.context
    return context


Context = Annotated[ServerContext, Depends(_context_of)]
