"""Measures detection on families of odd curves: what is rightly told, missed, misnamed, and false alarms.

python benchmarks/odd_curves --seeds 8 [--family NAME] [--group WORDS] [--json] [--details] [--jobs 2]
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor

from holter.detectors import find
from odd_curves import FAMILIES
from odd_curves.curve import CurveFamily
from odd_curves.judge import CurveScore, as_run, judge, total

COLUMNS = ("events", "right", "missed", "misnamed", "warnings", "critical")


def main(arguments: Sequence[str] | None = None) -> None:
    """Print the table, or JSON."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--seeds", type=int, default=8, help="runs of each family")
    parser.add_argument("--first-seed", type=int, default=0, help="the first seed")
    parser.add_argument("--family", action="append", help="only this family; may be repeated")
    parser.add_argument("--group", help="only groups that contain these words")
    parser.add_argument("--json", action="store_true", help="JSON instead of a table")
    parser.add_argument("--details", action="store_true", help="a line for each error")
    parser.add_argument("--jobs", type=int, default=1, help="processes")
    options = parser.parse_args(arguments)
    if unknown := sorted(set(options.family or ()) - FAMILIES.keys()):
        parser.error(f"no family is named {', '.join(unknown)}")
    families = [
        each
        for each in FAMILIES.values()
        if (not options.family or each.name in options.family) and (options.group or "") in each.group
    ]
    seeds = range(options.first_seed, options.first_seed + options.seeds)
    names = [each.name for each in families]
    if options.jobs > 1:
        with ProcessPoolExecutor(options.jobs) as pool:
            scores = list(pool.map(score_family, names, [seeds] * len(names)))
    else:
        scores = [score_family(name, seeds) for name in names]
    if options.json:
        print(json.dumps(as_json(families, scores), indent=1))
    else:
        print_table(families, scores, details=options.details)


def score_family(name: str, seeds: Sequence[int]) -> CurveScore:
    """The score of one family over some seeds."""
    score = CurveScore()
    for seed in seeds:
        curve = FAMILIES[name].curve(seed)
        own = judge(curve, find(as_run(curve)))
        own.details = [f"seed {seed}: {line}" for line in own.details]
        score.add(own)
    return score


def summarize(scores: Sequence[CurveScore]) -> dict[str, float]:
    """The totals: shares of planted events, and alarms on healthy families."""
    whole = total(scores)
    events, runs = max(whole.events, 1), max(whole.healthy_runs, 1)
    return {
        "events": whole.events,
        "right": round(whole.right / events, 4),
        "missed": round(whole.missed / events, 4),
        "misnamed": round(whole.misnamed / events, 4),
        "healthy_runs": whole.healthy_runs,
        "healthy_series": whole.healthy_series,
        "healthy_critical": whole.healthy_critical,
        "healthy_warnings": whole.healthy_warnings,
        "healthy_warnings_per_series": round(whole.healthy_warnings / max(whole.healthy_series, 1), 4),
        "healthy_alarms_per_run": round((whole.healthy_warnings + whole.healthy_critical) / runs, 4),
        "false_alarms_with_events": whole.warnings
        + whole.critical
        - whole.healthy_warnings
        - whole.healthy_critical,
    }


def as_json(families: Sequence[CurveFamily], scores: Sequence[CurveScore]) -> dict[str, object]:
    """Every family's counts and errors, and the totals."""
    rows = [
        {
            "family": each.name,
            "group": each.group,
            **{name: getattr(score, name) for name in COLUMNS},
            "details": score.details,
        }
        for each, score in zip(families, scores, strict=True)
    ]
    return {"families": rows, "total": summarize(scores)}


def print_table(families: Sequence[CurveFamily], scores: Sequence[CurveScore], *, details: bool) -> None:
    """A row for each family, by group, and the totals."""
    group = ""
    for each, score in zip(families, scores, strict=True):
        if each.group != group:
            group = each.group
            print(f"\n{group:<40}" + "".join(f"{name:>10}" for name in COLUMNS))
        print(f"  {each.name:<38}" + "".join(f"{getattr(score, name) or '':>10}" for name in COLUMNS))
        for line in score.details if details else ():
            print(f"      {line}")
    print()
    for name, value in summarize(scores).items():
        print(f"{name:<30} {value}")
