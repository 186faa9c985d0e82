"""Checks for data that takes a detour through the host's memory on its way out of a GPU."""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar

from holter.detectors.detector import DetectorContext
from holter.detectors.launch_checks.nccl_launch import NcclLaunch, nccl_launches, on_hosts
from holter.detectors.launch_checks.nccl_network import SOCKETS
from holter.types import Diagnostic, RunData

_TRUE_VALUES = ("1", "true", "True")


class DirectPathsCheck:
    """Reports disabled GPU-direct RDMA, peer-to-peer or shared memory: each costs an additional copy."""

    name: ClassVar[str] = "direct_paths"

    def check(self, run: RunData, context: DetectorContext) -> Iterator[Diagnostic]:
        """One diagnostic per launch for each disabled path."""
        for launch in nccl_launches(run):
            yield from _rdma(launch)
            yield from _peers(launch)
            yield from _shared_memory(launch)


def _rdma(launch: NcclLaunch) -> Iterator[Diagnostic]:
    """Network cards that read from the GPU need no copy in the host's memory; sockets always do."""
    over_net = launch.by_host("nccl.channels.via_net")
    direct = {*launch.by_host("nccl.channels.via_net_gdrdma"), *launch.by_host("nccl.gdrdma.enabled")}
    sockets = {host for host, nets in launch.by_host("nccl.net").items() if SOCKETS in nets}
    without = [host for host in over_net if host not in direct | sockets]
    if not without or not launch.has("nccl.net"):
        return
    reasons = [str(reason) for reason in launch.values("nccl.gdrdma.disabled") if isinstance(reason, str)]
    level = launch.env("NCCL_NET_GDR_LEVEL")
    if level in ("0", "LOC") or launch.env("NCCL_IB_CUDA_SUPPORT") == "0":
        advice = "A variable turns it off (NCCL_NET_GDR_LEVEL, NCCL_IB_CUDA_SUPPORT): unset it."
    elif any("distance" in reason for reason in reasons):
        advice = (
            "The cards are farther from the GPUs than NCCL allows: NCCL_NET_GDR_LEVEL=PHB, or SYS, sets "
            "how far they may be; measure both."
        )
    else:
        advice = (
            "Load nvidia-peermem, or use a driver and kernel with DMA-BUF (AWS: libfabric with FI_HMEM; AMD: "
            "NCCL_DMABUF_ENABLE=1); PCI's ACS must be off. NCCL_NET_GDR_LEVEL sets how far a card may be."
        )
    yield launch.diagnostic(
        "nccl-no-gdr",
        f"Network cards do not read from GPUs directly (GPU-direct RDMA is off){on_hosts(without)}: data "
        "between nodes is copied through the host's memory, often at half the speed.",
        advice,
        hosts=without,
        reasons=reasons[:4],
    )


def _peers(launch: NcclLaunch) -> Iterator[Diagnostic]:
    if launch.number("nccl.ranks_per_node") == 1:
        return
    level = launch.env("NCCL_P2P_LEVEL")
    if launch.env("NCCL_P2P_DISABLE") in _TRUE_VALUES or level in ("0", "LOC"):
        variable = (
            "NCCL_P2P_DISABLE"
            if launch.env("NCCL_P2P_DISABLE") in _TRUE_VALUES
            else f"NCCL_P2P_LEVEL={level}"
        )
        yield launch.diagnostic(
            "nccl-p2p-disabled",
            f"{variable} keeps the GPUs of a node apart: NVLink or Infinity Fabric is unused, and data "
            "goes through the host's memory, ten times slower and more.",
            f"Unset {variable.partition('=')[0]}; if it was set to prevent hangs, check ACS and the IOMMU.",
            variable=variable,
        )
    elif launch.has("nccl.channels.via_shm") and not launch.has("nccl.channels.via_p2p"):
        yield launch.diagnostic(
            "nccl-no-p2p",
            "The GPUs of a node do not reach each other directly: data goes through the host's memory.",
            "Check `nvidia-smi topo -m`, PCI's ACS and the IOMMU, NCCL_P2P_LEVEL; consumer GPUs cannot.",
        )


def _shared_memory(launch: NcclLaunch) -> Iterator[Diagnostic]:
    if launch.env("NCCL_SHM_DISABLE") in _TRUE_VALUES and launch.number("nccl.ranks_per_node") != 1:
        yield launch.diagnostic(
            "nccl-shm-disabled",
            "NCCL_SHM_DISABLE=1: GPUs of a node without a direct path to each other use the network card.",
            "Unset NCCL_SHM_DISABLE; if it was set in a container, give that a larger /dev/shm instead.",
        )
