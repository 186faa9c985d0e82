"""Fuzzes the readers from the command line: `python -m tests.support.fuzzing --inputs 1000000`."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from tests.support.fuzzing.campaign import MAX_MEMORY, Summary, make_input, run_campaign
from tests.support.fuzzing.targets import targets


def main() -> int:
    """Read the inputs and print a table by target; 1 if an input exceeds a limit."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--inputs", type=int, default=1_000_000, help="in all, by default 1,000,000")
    parser.add_argument("--seed", type=int, default=0, help="another seed gives other inputs")
    parser.add_argument("--first", type=int, default=0, help="the number of the first input of each target")
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--targets", nargs="*", default=[], help="e.g. format/csv; by default all")
    parser.add_argument("--save", type=Path, help="a folder for the inputs that exceed a limit")
    parser.add_argument("--write", type=int, help="write input number WRITE of the only target to --save")
    arguments = parser.parse_args()
    if arguments.write is not None:
        name, content = make_input(targets()[arguments.targets[0]], arguments.seed, arguments.write)
        (arguments.save / Path(name).name).write_bytes(content)
        return 0
    problems = 0

    def report(target: str, summary: Summary) -> None:
        nonlocal problems
        problems += summary.alike
        for problem in summary.problems:
            problems += 1
            sys.stdout.write(f"{problem}\n\n")
            sys.stdout.flush()
            if arguments.save:
                arguments.save.mkdir(parents=True, exist_ok=True)
                file = arguments.save / f"{target.replace('/', '-')}-{problem.index}-{problem.kind}"
                file.write_bytes(problem.content)

    summaries = run_campaign(
        arguments.inputs, seed=arguments.seed, workers=arguments.workers, chosen=arguments.targets,
        first=arguments.first, report=report,
    )  # fmt: skip
    sys.stdout.write(f"{table(summaries)}\n")
    return 1 if problems else 0


def table(summaries: dict[str, Summary]) -> str:
    """A line for each target: inputs, processor time, and the share of the limits that was taken at most."""
    lines = [
        f"{'target':32} {'inputs':>8} {'refused':>8} {'seconds':>8}  slowest, hungriest (of their limits)"
    ]
    for name, summary in summaries.items():
        slow, hungry = summary.slowest, summary.hungriest
        lines.append(
            f"{name:32} {summary.inputs:8} {summary.refused:8} {summary.seconds:8.1f}"
            f"  {slow.amount:4.0%} #{slow.index} ({slow.size} B)"
            f"   {hungry.amount / MAX_MEMORY:4.0%} #{hungry.index} ({hungry.size} B)"
            + (f"   {len(summary.problems) + summary.alike} PROBLEMS" if summary.problems else "")
        )
    total = sum(summary.inputs for summary in summaries.values())
    seconds = sum(summary.seconds for summary in summaries.values())
    return "\n".join([*lines, f"{'all':32} {total:8} {'':8} {seconds:8.1f}"])


if __name__ == "__main__":
    sys.exit(main())
