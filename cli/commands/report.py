"""`holter report`: writes the report of a run, or of a project's week, as one HTML file."""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path

from sqlalchemy import Engine

from holter.cli.commands import fail
from holter.cli.commands.db import add_database_flags, on_database
from holter.private_files import private_opener
from holter.server.maintenance.find_run import RunLookupError, find_run
from holter.server.planned_events import PlannedEvents
from holter.server.read_models.incident_context import IncidentContextReader
from holter.server.read_models.runs import RunReader
from holter.server.reports.run_report import RunReports
from holter.server.reports.week_report import WeekError, WeekReports, week_of
from holter.server.store import Store
from holter.settings import Settings


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The run or the project, the week, and the output."""
    parser.add_argument("run", metavar="RUN", help="a run's id, its name, or PROJECT/NAME; or a project")
    parser.add_argument(
        "--week",
        metavar="WEEK",
        nargs="?",
        const="",
        help="report on the project RUN in a week such as 2026-W47 (default: this week)",
    )
    parser.add_argument("--output", type=Path, metavar="FILE", help="default: standard output")
    add_database_flags(parser)


def run(arguments: argparse.Namespace) -> int:
    """Exit code 1: no such run, several of that name, or no such week."""
    with on_database(arguments) as (engine, settings):
        try:
            html = _report(engine, settings, arguments)
        except (RunLookupError, WeekError) as error:
            return fail(str(error))
    if arguments.output is None:
        sys.stdout.write(html)
        return 0
    try:
        with open(arguments.output, "w", encoding="utf-8", opener=private_opener) as file:
            file.write(html)
    except OSError as error:
        return fail(f"{arguments.output}: {error.strerror}")
    print(arguments.output)
    return 0


def _report(engine: Engine, settings: Settings, arguments: argparse.Namespace) -> str:
    now = time.time()
    store = Store(engine)
    planned_events = PlannedEvents(engine, settings)
    runs = RunReader(engine, store, tuning=planned_events.display_tuning)
    if arguments.week is not None:
        return WeekReports(engine, runs).html(arguments.run, arguments.week or week_of(now), now=now)
    found = find_run(engine, arguments.run)
    events = IncidentContextReader(engine, store, planned_events)
    return RunReports(engine, store, runs, events).html(found.public_id, now=now)
