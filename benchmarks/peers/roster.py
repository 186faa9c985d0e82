"""Who takes part, and the environment each of them gets, in a cache folder of this user."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

READ = ("R20",)
CACHE = Path(os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache")) / "holter" / "peers"


@dataclass(frozen=True)
class Entrant:
    """`module` is its file here; `requirements` None: runs in Holter's own environment; `rounds` at most.

    Who is slow is given a share of the points to write: points a second hardly depend on it. `fewer` says
    it for single workloads. What is read (`READ`) is always whole.
    """

    name: str
    module: str
    requirements: tuple[str, ...] | None = None
    debian: str | None = None
    share: float = 1.0
    fewer: Mapping[str, float] = field(default_factory=dict)
    rounds: int = 3

    def share_of(self, workload: str) -> float:
        """The share of a workload's points that it is given."""
        return 1.0 if workload in READ else self.fewer.get(workload, self.share)


ROSTER = (
    Entrant("Holter", "holter_itself"),
    Entrant("trackio", "trackio_local", ("trackio", "numpy"), fewer={"L1M": 0.1}),
    Entrant("wandb offline", "wandb_offline", ("wandb", "numpy"), share=0.3, fewer={"L1M": 0.03}),
    Entrant("TensorBoard", "tensorboard_files", ("tensorboard", "numpy"), share=0.2, rounds=1),
    Entrant("TensorBoard Rust server", "tensorboard_rust", ("tensorboard", "numpy"), share=0.2, rounds=1),
    Entrant("mlflow sqlite", "mlflow_sqlite", ("mlflow", "numpy"), share=0.05, rounds=1),
    Entrant("mlflow files", "mlflow_files", ("mlflow", "numpy"), share=0.05, rounds=1),
    Entrant("aim", "aim_repo", ("aim", "numpy"), share=0.05, fewer={"W2": 0.02}, rounds=1),
    Entrant("VictoriaMetrics", "victoria", None, debian="victoria-metrics"),
)


class AbsentError(Exception):
    """A peer cannot take part; the message says why."""


def python_of(entrant: Entrant) -> Path:
    """The interpreter that has the peer, after installing it if need be. Raises AbsentError."""
    if entrant.debian is not None:
        _unpack(entrant.debian)
    if entrant.requirements is None:
        return Path(sys.executable)
    folder = CACHE / "-".join(sorted(set(entrant.requirements) - {"numpy"}))
    python = folder / "bin" / "python"
    done = folder / "installed"
    if not done.exists():
        _run([sys.executable, "-m", "venv", str(folder)], "no environment")
        _run([str(python), "-m", "pip", "install", "-q", *entrant.requirements], "not installed")
        done.touch()
    return python


def _unpack(package: str) -> None:
    """Debian's package, unpacked rather than installed: nothing of it runs by itself."""
    folder = CACHE / package
    if (folder / "usr").exists():
        return
    folder.mkdir(parents=True, exist_ok=True)
    _run(["apt-get", "download", package], "not downloaded", folder)
    found = next(folder.glob("*.deb"), None)
    if found is None:
        raise AbsentError(f"not downloaded: there is no {package} for this system")
    _run(["dpkg", "-x", str(found), str(folder)], "not unpacked")


def _run(command: list[str], failure: str, folder: Path | None = None) -> None:
    try:
        done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=900)
    except (OSError, subprocess.TimeoutExpired) as error:
        raise AbsentError(f"{failure}: {error}") from error
    if done.returncode:
        said = [line for line in done.stderr.splitlines() if line.strip()]
        raise AbsentError(f"{failure}: {said[-1] if said else done.returncode}")
