"""Generates runs with the Python that has torch, or takes those that this version generated before."""

from __future__ import annotations

import hashlib
import subprocess
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from laboratory.environment import CACHE, python_with_torch
from laboratory.plan import draw

HERE = Path(__file__).parent
NOT_GENERATING = {"command.py", "environment.py", "generate.py", "measure.py", "presentations.py"}


def version() -> str:
    """A digest of the code that makes runs: other code makes other runs."""
    sources = [path for path in sorted(HERE.rglob("*.py")) if path.name not in NOT_GENERATING]
    return hashlib.sha256(b"".join(path.read_bytes() for path in sources)).hexdigest()[:12]


def cached_runs(list_name: str, seed: int, count: int, jobs: int) -> list[Path]:
    """The folders of runs 0 to count - 1 of a list and seed; those that are missing are trained."""
    return generate(CACHE / "runs" / version() / f"{list_name}-{seed}", list_name, seed, count, jobs)


def generate(folder: Path, list_name: str, seed: int, count: int, jobs: int) -> list[Path]:
    """Write runs 0 to count - 1 below a folder, unless they are there. Raises CalledProcessError."""
    targets = [folder / draw(list_name, seed, index).name for index in range(count)]
    missing = [index for index, target in enumerate(targets) if not target.exists()]
    if missing:
        folder.mkdir(parents=True, exist_ok=True)
        command = [str(python_with_torch()), str(HERE / "worker.py"), list_name, str(seed), str(folder)]
        shares = [missing[first::jobs] for first in range(jobs) if missing[first::jobs]]
        with ThreadPoolExecutor(jobs) as pool:
            list(pool.map(lambda share: subprocess.run([*command, *map(str, share)], check=True), shares))
    return targets
