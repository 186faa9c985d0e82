"""Mutation testing from the command line: `python -m tests.support.mutation --sample 40 --seed 1`."""

from __future__ import annotations

import argparse
import difflib
import os
import shlex
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from cosmic_ray.testing import run_tests
from cosmic_ray.work_item import TestOutcome

from tests.support.mutation.mutants import Mutant, sample_mutants
from tests.support.mutation.score import score_table
from tests.support.mutation.targets import MUTATION_TARGETS, MutationTarget

_SLOWER = 3.0  # times as long as without a fault a test run may take, and then counts as noticed
_SPARE_SECONDS = 20.0


def main() -> int:
    """Print each surviving mutant and a table of scores; 1 if less than `--least` per cent are killed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sample", type=int, default=40, help="mutants of each target, by default 40")
    parser.add_argument("--seed", type=int, default=0, help="another seed gives other mutants")
    parser.add_argument(
        "--targets", nargs="*", default=list(MUTATION_TARGETS), choices=list(MUTATION_TARGETS)
    )
    parser.add_argument("--only", type=int, nargs="*", help="these numbers of the sample, to try them again")
    parser.add_argument("--least", type=float, default=0.0, help="per cent to be killed, by default 0")
    arguments = parser.parse_args()
    with _copy(Path.cwd()) as folder:
        os.chdir(folder)
        os.environ["PYTHONPATH"] = str(folder / ".editable")
        scores = {
            name: _score(name, MUTATION_TARGETS[name], arguments.sample, arguments.seed, arguments.only)
            for name in arguments.targets
        }
    sys.stdout.write(score_table(scores))
    return int(any(100 * killed < arguments.least * trials for killed, trials in scores.values()))


@contextmanager
def _copy(root: Path) -> Iterator[Path]:
    """A copy of the working tree, in which faults can be planted while people work on."""
    listed = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=root, check=True, capture_output=True, text=True,
    ).stdout  # fmt: skip
    with tempfile.TemporaryDirectory(prefix="holter-mutation-") as name:
        folder = Path(name)
        for file in filter(None, listed.split("\0")):
            if (root / file).is_file():
                (folder / file).parent.mkdir(parents=True, exist_ok=True)
                shutil.copy2(root / file, folder / file)
        # its links are relative: they lead to the copied folders
        shutil.copytree(root / ".editable", folder / ".editable", symlinks=True)
        yield folder


def _score(
    name: str, target: MutationTarget, sample: int, seed: int, only: Sequence[int] | None
) -> tuple[int, int]:
    """Killed mutants and all that were tried."""
    tests = _test_command(target)
    started = time.monotonic()
    outcome, output = run_tests(tests, None)
    if outcome is not TestOutcome.SURVIVED:
        raise SystemExit(f"{name}: the tests fail without any fault\n{output}")
    limit = _SLOWER * (time.monotonic() - started) + _SPARE_SECONDS
    killed = trials = 0
    for number, mutant in enumerate(sample_mutants(_paths(target.modules), sample, seed)):
        if only and number not in only:
            continue
        trials += 1
        if _survives(mutant, tests, limit):
            _write(f"{name} {number}: SURVIVED {mutant}\n{_difference(mutant)}\n")
        else:
            killed += 1
            _write(f"{name} {number}: killed {mutant}\n")
    return killed, trials


def _survives(mutant: Mutant, tests: str, limit: float) -> bool:
    source = mutant.module.read_text()
    try:
        mutant.module.write_text(mutant.code())
        outcome, output = run_tests(tests, limit)
    finally:
        mutant.module.write_text(source)
    if outcome is TestOutcome.INCOMPETENT:
        raise SystemExit(f"{mutant}: the tests could not be run\n{output}")
    return outcome is TestOutcome.SURVIVED


def _test_command(target: MutationTarget) -> str:
    options = [
        "-x",
        "-q",
        "-p",
        "no:cacheprovider",
        "-p",
        "no:schemathesis",
        "-m",
        "not postgresql and not browser and not slow",
    ]
    return shlex.join([sys.executable, "-m", "pytest", *options, *map(str, _paths(target.tests))])


def _paths(patterns: Sequence[str]) -> list[Path]:
    return [path for pattern in patterns for path in sorted(Path().glob(pattern))]


def _difference(mutant: Mutant) -> str:
    source, mutated = mutant.module.read_text(), mutant.code()
    return "\n".join(
        list(difflib.unified_diff(source.splitlines(), mutated.splitlines(), lineterm="", n=1))[2:]
    )


def _write(text: str) -> None:
    sys.stdout.write(text)
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main())
