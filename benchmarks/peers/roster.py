"""The compared trackers, and their environments in a cache folder of this user."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

READ_WORKLOADS = ("R20",)
CACHE = Path(os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache")) / "holter" / "peers"


@dataclass(frozen=True)
class PeerSpec:
    """A compared tracker: its class (`module:Class` in this folder), and how it is installed and measured.

    `requirements` None: it runs in Holter's environment; `debian`: a Debian package to unpack; `rounds`: the
    maximum number of rounds. Slow peers write only a `share` of the points, since points per second hardly
    depend on it; `workload_shares` overrides it for single workloads. Workloads that are read
    (`READ_WORKLOADS`) are always complete.
    """

    name: str
    factory: str
    requirements: tuple[str, ...] | None = None
    debian: str | None = None
    share: float = 1.0
    workload_shares: Mapping[str, float] = field(default_factory=dict)
    rounds: int = 3

    def share_of(self, workload: str) -> float:
        """The share of the points of a workload that the peer writes."""
        return 1.0 if workload in READ_WORKLOADS else self.workload_shares.get(workload, self.share)


ROSTER = (
    PeerSpec("Holter", "holter_server:HolterPeer"),
    PeerSpec("trackio", "trackio_local:TrackioPeer", ("trackio", "numpy"), workload_shares={"L1M": 0.1}),
    PeerSpec(
        "wandb offline",
        "wandb_offline:WandbPeer",
        ("wandb", "numpy"),
        share=0.3,
        workload_shares={"L1M": 0.03},
    ),
    PeerSpec(
        "TensorBoard", "tensorboard_files:TensorBoardPeer", ("tensorboard", "numpy"), share=0.2, rounds=1
    ),
    PeerSpec(
        "TensorBoard Rust server",
        "tensorboard_rust:TensorBoardRustPeer",
        ("tensorboard", "numpy"),
        share=0.2,
        rounds=1,
    ),
    PeerSpec("mlflow sqlite", "mlflow_sqlite:MlflowSqlitePeer", ("mlflow", "numpy"), share=0.05, rounds=1),
    PeerSpec("mlflow files", "mlflow_files:MlflowFilesPeer", ("mlflow", "numpy"), share=0.05, rounds=1),
    PeerSpec("aim", "aim_repo:AimPeer", ("aim", "numpy"), share=0.05, workload_shares={"W2": 0.02}, rounds=1),
    PeerSpec("VictoriaMetrics", "victoria_metrics:VictoriaMetricsPeer", None, debian="victoria-metrics"),
)


class PeerUnavailableError(Exception):
    """A peer cannot be installed; the message is the reason."""


def install_environment(peer: PeerSpec) -> Path:
    """Install a peer if necessary; returns its Python interpreter. Raises PeerUnavailableError."""
    if peer.debian is not None:
        _unpack(peer.debian)
    if peer.requirements is None:
        return Path(sys.executable)
    folder = CACHE / "-".join(sorted(set(peer.requirements) - {"numpy"}))
    python = folder / "bin" / "python"
    marker = folder / "installed"
    if not marker.exists():
        _run([sys.executable, "-m", "venv", str(folder)], "virtual environment not created")
        _run([str(python), "-m", "pip", "install", "-q", *peer.requirements], "not installed")
        marker.touch()
    return python


def _unpack(package: str) -> None:
    """Unpack a Debian package instead of installing it, so that it starts no service."""
    folder = CACHE / package
    if (folder / "usr").exists():
        return
    folder.mkdir(parents=True, exist_ok=True)
    _run(["apt-get", "download", package], "not downloaded", folder)
    archive = next(folder.glob("*.deb"), None)
    if archive is None:
        raise PeerUnavailableError(f"not downloaded: no package {package} for this system")
    _run(["dpkg", "-x", str(archive), str(folder)], "not unpacked")


def _run(command: list[str], failure: str, folder: Path | None = None) -> None:
    try:
        process = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=900)
    except (OSError, subprocess.TimeoutExpired) as error:
        raise PeerUnavailableError(f"{failure}: {error}") from error
    if process.returncode:
        lines = [line for line in process.stderr.splitlines() if line.strip()]
        raise PeerUnavailableError(f"{failure}: {lines[-1] if lines else process.returncode}")
