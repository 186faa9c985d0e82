"""`holter export`: a run's points as CSV or JSON lines, exactly as they are stored."""

from __future__ import annotations

import argparse
import csv
import json
import sys
from collections.abc import Iterator, Sequence
from contextlib import nullcontext
from fnmatch import fnmatchcase
from pathlib import Path
from typing import TextIO

from sqlalchemy import select
from sqlalchemy.orm import Session

from holter.commands.db import add_database_flags, on_database
from holter.commands.serve import refuse
from holter.server.api.answers import number, time_or_none
from holter.server.models import Project, Run
from holter.server.store import Store
from holter.timeline import Span, superseded
from holter.types import SeriesKey

FIELDS = ("metric", "labels", "attempt", "step", "time", "value", "superseded")
Point = tuple[str, dict[str, str], int, int, float | None, float | str | None, bool]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Which run, which of its series, in which form, where to."""
    parser.add_argument("run", metavar="RUN", help="a run's id, its name, or PROJECT/NAME")
    parser.add_argument("--format", choices=("csv", "jsonl"), default="csv")
    parser.add_argument("--output", type=Path, metavar="FILE", help="default: standard output")
    parser.add_argument("--metric", metavar="PATTERN", default="*", help="only these metrics, e.g. 'train/*'")
    add_database_flags(parser)


def run(arguments: argparse.Namespace) -> int:
    """A line a point, NaN and ghost branches included. Exit code 1: no such run, or several of that name."""
    with on_database(arguments) as (engine, _):
        with Session(engine) as session:
            found = _find(session, arguments.run)
        if len(found) != 1:
            return refuse(_which(arguments.run, found))
        store, run_id = Store(engine), next(iter(found))
        keys = sorted(
            one.key for one in store.series(run_id) if fnmatchcase(one.key.metric, arguments.metric)
        )
        if not keys and arguments.metric != "*":
            return refuse(f"{arguments.run} has no metric like {arguments.metric!r}")
        points = _points(store, run_id, keys)
        write = _write_csv if arguments.format == "csv" else _write_lines
        try:
            with (
                arguments.output.open("w", newline="") if arguments.output else nullcontext(sys.stdout) as out
            ):
                write(out, points)
        except BrokenPipeError:
            raise  # the reader has seen enough
        except OSError as error:
            return refuse(f"{arguments.output or 'standard output'}: {error.strerror}")
    return 0


def _find(session: Session, wanted: str) -> dict[int, str]:
    query = select(Run.id, Run.public_id, Run.name, Project.name).join(Project, Project.id == Run.project_id)
    runs = session.execute(query).all()
    return {
        number_: f"{public_id}  {project}/{name}"
        for number_, public_id, name, project in runs
        if wanted in {public_id, name, f"{project}/{name}"}
    }


def _which(wanted: str, found: dict[int, str]) -> str:
    if not found:
        return f"there is no run {wanted!r}"
    return "\n  ".join([f"{wanted!r} names {len(found)} runs, say which by its id:", *found.values()])


def _points(store: Store, run_id: int, keys: Sequence[SeriesKey]) -> Iterator[Point]:
    spans = [Span(one.number, one.first_step, one.last_step) for one in store.attempts(run_id)]
    for key in keys:
        series = store.read(run_id, [key])[key]
        ghost = superseded(series.attempt, series.step, spans)
        columns = (series.attempt, series.step, series.time, series.value, ghost)
        for attempt, step, time, value, gone in zip(*(column.tolist() for column in columns), strict=True):
            yield key.metric, dict(key.labels), attempt, step, time_or_none(time), number(value), gone


def _write_csv(out: TextIO, points: Iterator[Point]) -> None:
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(FIELDS)
    for metric, labels, attempt, step, time, value, gone in points:
        shown = json.dumps(labels) if labels else ""
        writer.writerow((metric, shown, attempt, step, time, value, int(gone)))


def _write_lines(out: TextIO, points: Iterator[Point]) -> None:
    for point in points:
        out.write(json.dumps(dict(zip(FIELDS, point, strict=True)), allow_nan=False) + "\n")
