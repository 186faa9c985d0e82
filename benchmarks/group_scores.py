"""Scores detection on labelled runs by group, and shows how far the scores of all depend on the groups.

    python benchmarks/group_scores.py --labelled DIR [--labelled DIR ...] [--write]

A group are the runs of one project, or those that share the beginning of their training. No threshold is
fitted to any of them, so that leaving one out changes nothing but the score: groups are resampled with
replacement, and the score has the interval from 5 to 95 % of 1,000 such draws. `--write` puts the tables into
docs/measurements/detection.md.
"""

from __future__ import annotations

import argparse
import json
from collections import defaultdict
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from event_scores import EventScores, Truth
from page_sections import DOCS, write_section

from holter.detectors import find
from holter.ingest.offline.read_run import read_run
from holter.json_values import plain

_DRAWS = 1000
_MOST_ROWS = 12
"""Groups up to which each has a row of its own."""
Run = tuple[Truth, list[dict[str, Any]]]
"""The truth of a run, and its findings."""


def main() -> None:
    """Print the tables of all folders."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--labelled", type=Path, action="append", required=True, metavar="DIR")
    parser.add_argument("--write", action="store_true", help="write them into the documentation")
    arguments = parser.parse_args()
    text = "\n\n".join(group_tables(folder) for folder in arguments.labelled)
    print(text)
    if arguments.write:
        write_section(DOCS / "measurements" / "detection.md", "groups", text)


def group_tables(folder: Path) -> str:
    """The scores of a folder's groups, and the intervals of those of all."""
    groups: dict[str, list[Run]] = defaultdict(list)
    for path in sorted(folder.iterdir()):
        if (path / "truth.json").exists():
            truth = json.loads((path / "truth.json").read_text())
            findings = [plain(finding.as_json()) for finding in find(read_run(path).data)]
            groups[group_of(truth)].append((truth, findings))
    lines = [
        f"`{folder.name}/`, {len(groups)} groups:",
        "",
        "| group | runs | events | found | of the right kind | false |",
        "|---|---|---|---|---|---|",
    ]
    if len(groups) <= _MOST_ROWS:
        lines += [group_row(name, runs) for name, runs in sorted(groups.items())]
    lines.append(group_row("all", [run for runs in groups.values() for run in runs]))
    scores = resampled(groups)
    intervals = (
        f"{title} {low:.3f} to {high:.3f}"
        for title, name in (("F1", "detection_f1"), ("right kind", "class_accuracy"))
        for low, high in [np.quantile([score[name] for score in scores], (0.05, 0.95))]
    )
    return "\n".join([*lines, "", f"Resampled by group (5 to 95 %): {', '.join(intervals)}."])


def group_of(truth: Truth) -> str:
    """The project that a run is from, or the trunk whose beginning it shares."""
    source = truth.get("source", {})
    return str(truth.get("trunk_id") or source.get("repo") or source.get("repository"))


def score(runs: Sequence[Run]) -> dict[str, Any]:
    """The scores of some runs."""
    scores = EventScores()
    for truth, findings in runs:
        scores.add(truth, findings)
    summary = scores.summary()
    right = sum(row["right_class"] for row in scores.per_class())
    return {**summary, "right": right}


def group_row(name: str, runs: Sequence[Run]) -> str:
    """A group's row of the table."""
    of_group = score(runs)
    cells = (of_group[key] for key in ("events", "detected", "right", "false_alarms"))
    return f"| {name} | {len(runs)} | {' | '.join(map(str, cells))} |"


def resampled(groups: Mapping[str, Sequence[Run]]) -> list[dict[str, Any]]:
    """The scores of draws of as many groups, with replacement."""
    random, names = np.random.default_rng(0), sorted(groups)
    draws = random.integers(0, len(names), (_DRAWS, len(names))).tolist()
    return [score([run for number in draw for run in groups[names[number]]]) for draw in draws]


if __name__ == "__main__":
    main()
