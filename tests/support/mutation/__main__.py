"""Mutation testing from the command line: `python -m tests.support.mutation --sample 40 --seed 1`."""

from __future__ import annotations

import argparse
import difflib
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from multiprocessing import get_context
from pathlib import Path

import pytest

from tests.support.mutation.mutants import Mutant, sample_mutants
from tests.support.mutation.score import score_table
from tests.support.mutation.targets import MUTATION_TARGETS
from tests.support.mutation.trials import FaultTrials, Trial

_OPTIONS = (
    "-q", "-s", "-p", "no:cacheprovider", "-p", "no:schemathesis", "-p", "no:xdist",
    "-m", "not postgresql and not browser and not slow",
)  # fmt: skip


def main() -> int:
    """Print each surviving fault and a table of scores; 1 if less than `--least` per cent are killed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sample", type=int, default=40, help="faults of each target, by default 40")
    parser.add_argument("--seed", type=int, default=0, help="another seed gives other faults")
    parser.add_argument(
        "--targets", nargs="*", default=list(MUTATION_TARGETS), choices=list(MUTATION_TARGETS)
    )
    parser.add_argument("--only", type=int, nargs="*", help="these numbers of the sample, to try them again")
    parser.add_argument("--least", type=float, default=0.0, help="per cent to be killed, by default 0")
    parser.add_argument("--here", action="store_true", help="in this folder, not in a copy of it")
    arguments = parser.parse_args()
    if not arguments.here:
        with _copy(Path.cwd()) as folder:
            command = [sys.executable, "-m", "tests.support.mutation", "--here", *sys.argv[1:]]
            environment = {**os.environ, "PYTHONPATH": str(folder / ".editable")}
            return subprocess.run(command, cwd=folder, env=environment).returncode
    jobs = [(name, arguments.sample, arguments.seed, arguments.only) for name in arguments.targets]
    # a process for each target: pytest imports everything for it anew
    with get_context("fork").Pool(1, maxtasksperchild=1) as pool:
        scores = dict(zip(arguments.targets, pool.starmap(_score, jobs, chunksize=1), strict=True))
    sys.stdout.write(score_table(scores))
    return int(any(100 * killed < arguments.least * trials for killed, trials in scores.values()))


@contextmanager
def _copy(root: Path) -> Iterator[Path]:
    """A copy of the working tree, so that people can work on it meanwhile."""
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


def _score(name: str, sample: int, seed: int, only: Sequence[int] | None) -> tuple[int, int]:
    """Killed faults of a target and all that were tried."""
    target = MUTATION_TARGETS[name]
    sampled = dict(enumerate(sample_mutants(_paths(target.modules), sample, seed)))
    chosen = {number: fault for number, fault in sampled.items() if not only or number in only}
    numbers = list(chosen)
    trials: list[Trial] = []

    def report(index: int, trial: Trial) -> None:
        trials.append(trial)
        _write(f"{name} {numbers[index]}: {_describe(trial)}\n")

    with tempfile.TemporaryDirectory(prefix="holter-mutation-tests-") as folder:
        faults = FaultTrials(list(chosen.values()), Path(folder), report)
        options = [*_OPTIONS, f"--basetemp={folder}/tests", *map(str, _paths(target.tests))]
        code = pytest.main(options, plugins=[faults])
    if code not in (pytest.ExitCode.OK, pytest.ExitCode.NO_TESTS_COLLECTED):
        raise RuntimeError(f"{name}: the tests could not be run")
    return sum(trial.noticed_by is not None for trial in trials), len(trials)


def _describe(trial: Trial) -> str:
    if trial.noticed_by is not None:
        return f"killed {trial.mutant} by {trial.noticed_by}"
    reason = f"{trial.tests} tests execute it" if trial.tests else "no test executes it"
    return f"SURVIVED {trial.mutant} ({reason})\n{_difference(trial.mutant)}"


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
