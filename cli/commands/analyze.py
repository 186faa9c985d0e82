"""`holter analyze`: read everything once, print the findings, exit."""

from __future__ import annotations

import argparse
import shlex
import sys
from collections.abc import Iterator, Mapping, Sequence
from fnmatch import fnmatchcase
from pathlib import Path

from rich.console import Console

from holter.cli.report import Report, html, json, text
from holter.cli.report.speed import spent_in
from holter.detectors import find
from holter.detectors.apply_tuning import with_roles
from holter.detectors.launch_checks import run_launch_checks
from holter.flops.peaks import Peaks
from holter.flops.throughput import run_throughput
from holter.ingest import formats
from holter.ingest.format import Format
from holter.ingest.offline.read_run import OfflineRun, read_run
from holter.ingest.offline.tracker_runs import read_tracker_runs
from holter.ingest.trackers import collection_at
from holter.ingest.trackers.base import CollectionError
from holter.settings import SettingsError, load
from holter.tuning import Tuning
from holter.types import Finding, SeriesKey

EXIT_ANALYSED = 0
EXIT_USAGE = 2
EXIT_NOTHING_READABLE = 3
_SHOWN_UNREADABLE = 20


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The command's flags."""
    parser.add_argument("paths", metavar="PATH", nargs="+", type=Path, help="a run: a folder, or one file")
    parser.add_argument(
        "--format",
        choices=("text", "json", "jsonl", "html"),
        default="text",
        help="text for people (default), jsonl: one line a PATH, html: one stand-alone page",
    )
    parser.add_argument("--until-step", type=int, metavar="N", help="look only at steps up to N")
    parser.add_argument(
        "--metric",
        action="append",
        metavar="PATTERN",
        help="only findings on these metrics, e.g. 'loss*' or 'step_time{rank=3}'; may be given again",
    )
    parser.add_argument(
        "--settings",
        type=Path,
        metavar="FILE",
        help="how detection is tuned, instead of the holter.toml in this folder",
    )
    parser.add_argument(
        "--project", default="default", metavar="NAME", help="the runs are tuned as those of this project"
    )


def run(arguments: argparse.Namespace) -> int:
    """Print the answer to stdout, problems to stderr; 3 when no PATH held anything readable."""
    try:
        settings = load(file=arguments.settings)
    except SettingsError as error:
        print(f"holter analyze: {error}", file=sys.stderr)
        return EXIT_USAGE
    tuning = settings.project(arguments.project).detection.tuning()
    known, peaks, reports = formats(settings.formats), Peaks.from_settings(settings.peaks), []
    for report in _reports(arguments.paths, arguments.until_step, arguments.metric, tuning, known, peaks):
        _complain(report)
        reports.append(report)
        if arguments.format == "jsonl":
            print(json.line(report), flush=True)
    if arguments.format == "json":
        print(json.document(reports))
    elif arguments.format == "text":
        text.write(reports, Console(highlight=False))
    elif arguments.format == "html":
        print(html.page(reports))
    read = any(report.points or report.data.config for report in reports)
    return EXIT_ANALYSED if read else EXIT_NOTHING_READABLE


def _reports(
    paths: Sequence[Path],
    until_step: int | None,
    metrics: Sequence[str] | None,
    tuning: Tuning,
    known: Mapping[str, Format],
    peaks: Peaks,
) -> Iterator[Report]:
    for path, name, gathered in _gathered(paths, until_step, known):
        if len(gathered.runs) > 1:
            told = ", ".join([*gathered.runs[:3], *(["..."] if len(gathered.runs) > 3 else [])])
            print(
                f"{path}: the logs of {len(gathered.runs)} folders ({told}) are taken for one run; "
                "are they several? Give each as a PATH of its own",
                file=sys.stderr,
            )
        data = with_roles(gathered.data, tuning)
        yield Report(
            path=str(path),
            run=name,
            attempts=gathered.attempts,
            points=gathered.points,
            data=data,
            findings=[finding for finding in find(data, tuning=tuning) if _wanted(finding, metrics)],
            remarks=run_launch_checks(data, peaks=peaks),
            throughput=run_throughput(data, peaks),
            spent=spent_in(data),
            unreadable=gathered.unreadable,
        )


def _gathered(
    paths: Sequence[Path], until_step: int | None, known: Mapping[str, Format]
) -> Iterator[tuple[Path, str, OfflineRun]]:
    """A run a path, by its name; each of its runs where another tracker keeps them there."""
    for path in paths:
        collection = collection_at(path)
        if collection is None:
            yield path, path.resolve().name, read_run(path, until_step=until_step, known=known)
            continue
        try:
            for name, gathered in read_tracker_runs(path, collection, until_step=until_step):
                yield path, name, gathered
        except (CollectionError, OSError) as error:
            print(f"holter analyze: {error}", file=sys.stderr)


def _wanted(finding: Finding, patterns: Sequence[str] | None) -> bool:
    # which findings are shown, never what the detectors look at: a finding is the same with and without
    series = str(SeriesKey(finding.metric, finding.labels))
    return patterns is None or any(
        fnmatchcase(finding.metric, pattern) or fnmatchcase(series, pattern) for pattern in patterns
    )


def _complain(report: Report) -> None:
    if not (report.points or report.unreadable or report.data.config):
        print(
            f"{report.path}: no logs of a known format (holter doctor {shlex.quote(report.path)} says why)",
            file=sys.stderr,
        )
    for unreadable in report.unreadable[:_SHOWN_UNREADABLE]:
        print(f"{unreadable.source}: {unreadable.location}: {unreadable.reason}", file=sys.stderr)
    left = len(report.unreadable) - _SHOWN_UNREADABLE
    if left > 0:
        print(f"{report.path}: {left} more unreadable places; --format json lists them all", file=sys.stderr)
