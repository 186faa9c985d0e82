"""Generates laboratory runs and measures detectors with them.

python benchmarks/laboratory generate --list development --seed 7 --runs 40 FOLDER
python benchmarks/laboratory measure --list development --seed 7 --runs 40 [--detector COMMAND] [--write]
python benchmarks/laboratory present --list development --seed 7 --runs 40 [--write]
python benchmarks/laboratory list development
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from pathlib import Path
from subprocess import CalledProcessError

from page_sections import DOCS, write_section

from laboratory.generate import cached_runs, generate
from laboratory.lists import LISTS, describe
from laboratory.measure import DetectorError, score_contenders, tables
from laboratory.presentations import measure_presentations

PAGE = DOCS / "measurements" / "laboratory.md"


def main(arguments: Sequence[str] | None = None) -> None:
    """Run one of the commands."""
    options = _parser().parse_args(arguments)
    try:
        if options.command == "list":
            print(describe(LISTS[options.list]))
        elif options.command == "generate":
            generate(options.folder, options.list, options.seed, options.runs, options.jobs)
        elif options.command == "measure":
            _measure(options)
        else:
            folders = cached_runs(options.list, options.seed, options.runs, options.jobs)
            _print(measure_presentations(folders, options.jobs), "presentations", write=options.write)
    except (CalledProcessError, DetectorError) as error:
        sys.exit(str(error))


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python benchmarks/laboratory", description=(__doc__ or "").splitlines()[0]
    )
    commands = parser.add_subparsers(dest="command", required=True)
    shown = commands.add_parser("list", help="print what is drawn at random")
    shown.add_argument("list", choices=LISTS)
    for name, text in (
        ("generate", "write runs with their truth into a folder"),
        ("measure", "score a detector and the published rules"),
        ("present", "compare findings in other presentations of the same runs"),
    ):
        command = commands.add_parser(name, help=text)
        command.add_argument("--list", choices=LISTS, default="development")
        command.add_argument("--seed", type=int, default=7)
        command.add_argument("--runs", type=int, default=40)
        command.add_argument("--jobs", type=int, default=2, help="processes (2)")
        if name == "generate":
            command.add_argument("folder", type=Path)
            continue
        command.add_argument("--write", action="store_true", help="write the tables into the documentation")
        if name == "measure":
            command.add_argument(
                "--detector", metavar="COMMAND", help="prints the findings of a run's folder"
            )
            command.add_argument(
                "--folder", type=Path, help="runs that `generate` wrote, instead of generating"
            )
            command.add_argument("--details", action="store_true", help="a line for each error")
            command.add_argument("--json", action="store_true", help="JSON instead of tables")
    return parser


def _measure(options: argparse.Namespace) -> None:
    if options.folder is not None and options.write:
        sys.exit("--write needs runs of a list and a seed, so that others can repeat it: leave out --folder")
    if options.folder is None:
        folders = cached_runs(options.list, options.seed, options.runs, options.jobs)
    else:
        folders = sorted(path.parent for path in options.folder.glob("*/truth.json"))
    scores = score_contenders(folders, options.detector, options.jobs)
    first = next(iter(scores.values()))
    if options.details:
        print("\n".join(first.details) + "\n")
    if options.json:
        result = {
            name: {"summary": each.summary(), "per_class": each.per_class(), "confusion": each.confusion}
            for name, each in scores.items()
        }
        print(json.dumps(result, indent=1))
        return
    drawn = f"`{options.list}`, seed {options.seed}"
    heading = f"### Laboratory runs: {drawn if options.folder is None else f'`{options.folder}`'}"
    _print(tables(scores, heading), f"laboratory-{options.list}", write=options.write)


def _print(text: str, section: str, *, write: bool) -> None:
    print(text)
    if write:
        write_section(PAGE, section, text)
