"""`holter diff`: what differs between two runs, and whether it is more than noise."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console

from holter.cli.commands import fail
from holter.cli.report import diff_html, diff_text, dump_json
from holter.cli.report.speed import measure_run_goodput
from holter.cli.server_client import ServerError, find_run, server_client
from holter.detectors import find
from holter.detectors.apply_tuning import with_roles
from holter.detectors.compare.axes import XAxis
from holter.detectors.compare.run_diff import DiffInput, diff_runs
from holter.ingest import formats
from holter.ingest.offline.read_run import read_run
from holter.ingest.processor_time import limited_file_time
from holter.settings import Settings, SettingsError, load
from holter.terminal_text import printable
from holter.types import FloatArray

EXIT_FINE = 0
EXIT_CONDITION = 1
EXIT_USAGE = 2
EXIT_NOT_COMPARABLE = 3
SLOWER = 0.03
"""The share of the throughput whose loss counts as slower, as for the finding `throughput_regression`."""
Picture = tuple[FloatArray, FloatArray] | None


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The two runs, what they are aligned by, and the output."""
    parser.add_argument(
        "baseline", metavar="A", help="the baseline: a file or folder, or a run with --server"
    )
    parser.add_argument("run", metavar="B", help="the run that is compared with it")
    parser.add_argument(
        "--format", choices=("text", "json", "html"), default="text", help="html: one stand-alone page"
    )
    parser.add_argument(
        "--x",
        choices=[axis.value for axis in XAxis],
        help="align by this (default: step, or tokens where steps have different numbers of them)",
    )
    parser.add_argument("--metric", help="compare this metric (default: the training loss)")
    parser.add_argument(
        "--fail-if",
        choices=("worse", "slower", "different"),
        action="append",
        default=[],
        help="exit with 1 if B's loss is shown to be higher, if B is 3 %% slower, if the losses differ "
        "(repeatable)",
    )
    parser.add_argument("--server", help="A and B are runs of this server: ids, names or PROJECT/NAME")
    parser.add_argument("--token", help="token of the scope all (better in HOLTER_TOKEN)")
    parser.add_argument("--settings", type=Path, metavar="FILE", help="settings file (default: holter.toml)")
    parser.add_argument("--project", default="default", metavar="NAME", help="project whose settings apply")


def run(arguments: argparse.Namespace) -> int:
    """Exit codes: 1 a condition of --fail-if holds, 2 usage, 3 the runs cannot be compared."""
    try:
        if arguments.server:
            content, page, picture = _from_server(arguments)
        else:
            content, page, picture = _from_files(arguments, load(file=arguments.settings))
    except SettingsError as error:
        return fail(f"diff: {error}", EXIT_USAGE)
    except (ServerError, _NotComparableError) as error:
        return fail(f"diff: {error}", EXIT_NOT_COMPARABLE)
    if arguments.format == "json":
        print(dump_json(content, indent=2))
    elif arguments.format == "html":
        print(page)
    else:
        diff_text.write(content, Console(highlight=False), curve=picture)
    met = [condition for condition in arguments.fail_if if _holds(condition, content)]
    if met:
        print(f"holter diff: {', '.join(met)}", file=sys.stderr)
        return EXIT_CONDITION
    unknown = content["verdict"] == "unknown" and not set(arguments.fail_if) <= {"slower"}
    return EXIT_NOT_COMPARABLE if unknown and arguments.fail_if else EXIT_FINE


class _NotComparableError(Exception):
    """Nothing of a run can be read."""


def _from_files(arguments: argparse.Namespace, settings: Settings) -> tuple[Mapping[str, Any], str, Picture]:
    tuning = settings.project(arguments.project).detection.tuning()
    known = formats(settings.formats)
    inputs = []
    for text in (arguments.baseline, arguments.run):
        path = Path(text)
        with limited_file_time(settings.parse_seconds):
            offline = read_run(path, known=known)
        if not offline.points and not offline.data.config:
            raise _NotComparableError(f"{text}: no logs of a known format (holter doctor {text} explains)")
        for unreadable in offline.unreadable[:3]:
            problem = f"{unreadable.source}: {unreadable.location}: {unreadable.reason}"
            print(printable(problem), file=sys.stderr)
        data = with_roles(offline.data, tuning)
        inputs.append(
            DiffInput(
                name=_name(path),
                data=data,
                findings=find(data, tuning=tuning),
                goodput=measure_run_goodput(data),
            )
        )
    axis = None if arguments.x is None else XAxis(arguments.x)
    diff = diff_runs(*inputs, axis=axis, metric=arguments.metric)
    picture = None if diff.loss is None else (diff.loss.band.x, diff.loss.band.difference)
    page = diff_html.page(diff) if arguments.format == "html" else ""
    return diff.as_json(), page, picture


def _name(path: Path) -> str:
    """The last two parts of a path: folders of runs often end with the same name."""
    return "/".join(path.resolve().parts[-2:]) if len(path.parts) > 1 else path.resolve().name


def _from_server(arguments: argparse.Namespace) -> tuple[Mapping[str, Any], str, Picture]:
    with server_client(arguments) as client:
        found = [find_run(client, name) for name in (arguments.baseline, arguments.run)]
        query = {"runs": ",".join(run["id"] for run in found), "x": arguments.x or XAxis.STEP.value}
        differences = client.get("/compare/differences", params=query).raise_for_status().json()
        named = query if arguments.metric is None else query | {"metric": arguments.metric}
        statistics = client.get("/compare/statistics", params=named).raise_for_status().json()
    comparison = statistics["comparisons"][0]
    band = comparison.pop("band")
    axes = [run["axis"] for run in differences["runs"]]
    reasons = [text for each in axes if (text := each["formula"] or each["reason"] or each["metric"])]
    content = {
        "baseline": f"{found[0]['project']}/{found[0]['name']}",
        "run": f"{found[1]['project']}/{found[1]['name']}",
        "x": query["x"],
        "aligned_by": "; ".join(dict.fromkeys(reasons)),
        **{name: text for name, text in differences["summaries"][0].items() if name != "run"},
        "loss": comparison["sentence"],
        "verdict": comparison["verdict"],
        "difference": {name: value for name, value in comparison.items() if name not in _NOT_OF_DIFFERENCE},
        "settings": differences["settings"],
        "equal_settings": differences["equal_settings"],
        "figures": differences["figures"],
        "incidents_by_kind": differences["incidents"],
    }
    picture = np.array(band["x"]), np.array(band["difference"])
    page = diff_html.render(content) if arguments.format == "html" else ""
    return content, page, picture


_NOT_OF_DIFFERENCE = frozenset({"run", "metric", "baseline_metric", "verdict", "sentence"})


def _holds(condition: str, content: Mapping[str, Any]) -> bool:
    if condition == "worse":
        return bool(content["verdict"] == "higher")
    if condition == "different":
        return content["verdict"] in ("higher", "lower")
    for each in content["figures"]:
        before, after = each["values"]
        if each["name"] in ("throughput", "step_time") and before and after:
            speed = after / before if each["better"] == "higher" else before / after
            return bool(speed < 1 - SLOWER)
    return False
