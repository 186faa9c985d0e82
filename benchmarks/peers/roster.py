"""The compared trackers, and which share of the points each writes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from peers.environments import PeerEnvironment, install_package, own_environment, unpack_debian

READ_WORKLOADS = ("R20",)


@dataclass(frozen=True)
class PeerSpec:
    """A compared tracker: its class (`module:Class` in this folder), and how it is installed and measured.

    `package`: its Python package; None: it runs in Holter's environment; `debian`: a Debian package to
    unpack; `rounds`: the maximum number of rounds. Slow peers write only a `share` of the points, since
    points per second hardly depend on it; `workload_shares` overrides it for single workloads. Workloads that
    are read (`READ_WORKLOADS`) are always complete. `readable`: whether it can be asked at all.
    """

    name: str
    factory: str
    package: str | None = None
    debian: str | None = None
    share: float = 1.0
    workload_shares: Mapping[str, float] = field(default_factory=dict)
    rounds: int = 3
    readable: bool = True

    def share_of(self, workload: str) -> float:
        """The share of the points of a workload that the peer writes."""
        return 1.0 if workload in READ_WORKLOADS else self.workload_shares.get(workload, self.share)


ROSTER = (
    PeerSpec("Holter", "holter_server:HolterPeer"),
    PeerSpec("trackio", "trackio_local:TrackioPeer", "trackio", workload_shares={"L1M": 0.1}),
    PeerSpec(
        "wandb offline",
        "wandb_offline:WandbPeer",
        "wandb",
        share=0.3,
        workload_shares={"L1M": 0.03},
        readable=False,
    ),
    PeerSpec("TensorBoard", "tensorboard_files:TensorBoardPeer", "tensorboard", share=0.2, rounds=1),
    PeerSpec(
        "TensorBoard Rust server",
        "tensorboard_rust:TensorBoardRustPeer",
        "tensorboard",
        share=0.2,
        rounds=1,
    ),
    PeerSpec("mlflow sqlite", "mlflow_sqlite:MlflowSqlitePeer", "mlflow", share=0.05, rounds=1),
    PeerSpec("mlflow files", "mlflow_files:MlflowFilesPeer", "mlflow", share=0.05, rounds=1),
    PeerSpec("aim", "aim_repo:AimPeer", "aim", share=0.05, workload_shares={"W2": 0.02}, rounds=1),
    PeerSpec("VictoriaMetrics", "victoria_metrics:VictoriaMetricsPeer", None, debian="victoria-metrics"),
)


def install(peer: PeerSpec) -> PeerEnvironment:
    """Install the newest version of a peer. Raises PeerUnavailableError."""
    if peer.debian is not None:
        return unpack_debian(peer.debian)
    if peer.package is None:
        return own_environment()
    return install_package(peer.package, "numpy")
