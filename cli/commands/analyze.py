"""`holter analyze`: reads logs once, prints the findings, and exits."""

from __future__ import annotations

import argparse
import shlex
import sys
from collections.abc import Iterator, Mapping, Sequence
from fnmatch import fnmatchcase
from pathlib import Path

from rich.console import Console

from holter.cli.report import Report, dump_json, html, text
from holter.cli.report.speed import measure_run_goodput
from holter.detectors import find
from holter.detectors.apply_tuning import with_roles
from holter.detectors.launch_checks import run_launch_checks
from holter.flops.peaks import Peaks
from holter.flops.throughput import run_throughput
from holter.ingest import formats
from holter.ingest.format import Format
from holter.ingest.offline.read_run import OfflineRun, read_run
from holter.ingest.offline.tracker_runs import read_tracker_runs
from holter.ingest.processor_time import limited_file_time
from holter.ingest.trackers import find_collection
from holter.ingest.trackers.base import CollectionError
from holter.settings import SettingsError, load
from holter.terminal_text import printable
from holter.tuning import Tuning
from holter.types import Finding, SeriesKey

EXIT_ANALYSED = 0
EXIT_USAGE = 2
EXIT_NOTHING_READABLE = 3
_MAX_UNREADABLE_SHOWN = 20


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The command's flags."""
    parser.add_argument(
        "paths", metavar="PATH", nargs="+", type=Path, help="the logs of one run: a folder, or one file"
    )
    parser.add_argument(
        "--format",
        choices=("text", "json", "jsonl", "html"),
        default="text",
        help="text (default); json: one document; jsonl: one line per PATH; html: one stand-alone page",
    )
    parser.add_argument("--until-step", type=int, metavar="N", help="analyse only steps up to N")
    parser.add_argument(
        "--metric",
        action="append",
        metavar="PATTERN",
        help="print only findings on these metrics, e.g. 'loss*' or 'step_time{rank=3}' (repeatable)",
    )
    parser.add_argument(
        "--settings",
        type=Path,
        metavar="FILE",
        help="settings file (default: holter.toml in this folder)",
    )
    parser.add_argument(
        "--project",
        default="default",
        metavar="NAME",
        help="project whose detection settings apply (default: default)",
    )


def run(arguments: argparse.Namespace) -> int:
    """Print reports to stdout, problems to stderr. Exit codes: 2 usage, 3 nothing readable in any PATH."""
    try:
        settings = load(file=arguments.settings)
    except SettingsError as error:
        print(printable(f"holter analyze: {error}"), file=sys.stderr)
        return EXIT_USAGE
    tuning = settings.project(arguments.project).detection.tuning()
    known, peaks, reports = formats(settings.formats), Peaks.from_settings(settings.peaks), []
    runs = _read_runs(arguments.paths, arguments.until_step, known, settings.parse_seconds)
    for report in _reports(runs, arguments.metric, tuning, peaks):
        _print_problems(report)
        reports.append(report)
        if arguments.format == "jsonl":
            print(dump_json(report.as_json()), flush=True)
    if arguments.format == "json":
        print(dump_json([report.as_full_json() for report in reports], indent=2))
    elif arguments.format == "text":
        text.write(reports, Console(highlight=False))
    elif arguments.format == "html":
        print(html.page(reports))
    readable = any(report.points or report.data.config for report in reports)
    return EXIT_ANALYSED if readable else EXIT_NOTHING_READABLE


def _reports(
    runs: Iterator[tuple[Path, str, OfflineRun]], metrics: Sequence[str] | None, tuning: Tuning, peaks: Peaks
) -> Iterator[Report]:
    for path, name, offline in runs:
        if len(offline.runs) > 1:
            names = ", ".join([*offline.runs[:3], *(["..."] if len(offline.runs) > 3 else [])])
            print(
                printable(
                    f"{path}: the logs of {len(offline.runs)} folders ({names}) are analysed as one run; "
                )
                + "if they are several runs, give each as a separate PATH",
                file=sys.stderr,
            )
        data = with_roles(offline.data, tuning)
        yield Report(
            path=str(path),
            run=name,
            attempts=offline.attempts,
            points=offline.points,
            data=data,
            findings=[finding for finding in find(data, tuning=tuning) if _is_selected(finding, metrics)],
            diagnostics=run_launch_checks(data, peaks=peaks),
            throughput=run_throughput(data, peaks),
            goodput=measure_run_goodput(data),
            unreadable=offline.unreadable,
        )


def _read_runs(
    paths: Sequence[Path], until_step: int | None, known: Mapping[str, Format], parse_seconds: float
) -> Iterator[tuple[Path, str, OfflineRun]]:
    """The run of each path with its name; all runs of a path with the files of another tracker."""
    for path in paths:
        collection = find_collection(path)
        if collection is None:
            with limited_file_time(parse_seconds):
                offline = read_run(path, until_step=until_step, known=known)
            yield path, path.resolve().name, offline
            continue
        try:
            for name, offline in read_tracker_runs(path, collection, until_step=until_step):
                yield path, name, offline
        except (CollectionError, OSError) as error:
            print(printable(f"holter analyze: {error}"), file=sys.stderr)


def _is_selected(finding: Finding, patterns: Sequence[str] | None) -> bool:
    # selects what is printed, not what is analysed: findings do not depend on the selection
    series = str(SeriesKey(finding.metric, finding.labels))
    return patterns is None or any(
        fnmatchcase(finding.metric, pattern) or fnmatchcase(series, pattern) for pattern in patterns
    )


def _print_problems(report: Report) -> None:
    if not (report.points or report.unreadable or report.data.config):
        print(
            printable(
                f"{report.path}: no logs of a known format "
                f"(holter doctor {shlex.quote(report.path)} explains)"
            ),
            file=sys.stderr,
        )
    for unreadable in report.unreadable[:_MAX_UNREADABLE_SHOWN]:
        text = f"{unreadable.source}: {unreadable.location}: {unreadable.reason}"
        print(printable(text), file=sys.stderr)
    hidden = len(report.unreadable) - _MAX_UNREADABLE_SHOWN
    if hidden > 0:
        text = f"{report.path}: {hidden} more unreadable locations; --format json lists all"
        print(printable(text), file=sys.stderr)
