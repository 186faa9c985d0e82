"""The network that NCCL really chose: sockets where a fast one may be there, a provider without RDMA."""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar

from holter.detectors.setup.communication.launch import Launch, launches, names_of, on
from holter.types import Remark, RunData

SOCKETS = "Socket"
_SLOW_PROVIDERS = ("tcp", "sockets", "udp", "net")
_COST = (
    "TCP goes through the host's kernel and memory, a fraction of the network's speed: on LUMI the missing "
    "plugin alone cost a factor of 3 to 4."
)


class NetworkChosen:
    """Data between nodes goes over TCP: NCCL found nothing faster, or was told not to look."""

    name: ClassVar[str] = "network_chosen"

    def look(self, run: RunData) -> Iterator[Remark]:
        """One remark a launch."""
        for launch in launches(run):
            if launch.needs_network:
                yield from _sockets(launch)
                yield from _provider(launch)


def _sockets(launch: Launch) -> Iterator[Remark]:
    slow = [host for host, nets in launch.by_host("nccl.net").items() if SOCKETS in nets]
    if not slow:
        return
    cards = list(dict.fromkeys(card for nics in launch.values("nccl.socket.nics") for card in names_of(nics)))
    over = f" ({', '.join(cards[:4])}{' ...' if len(cards) > 4 else ''})" if cards else ""
    yield launch.remark(
        "nccl-sockets",
        f"NCCL moves data between nodes over TCP sockets{over}{on(slow)}. {_COST}",
        _way_out(launch, cards),
        hosts=slow,
        interfaces=cards,
        plugin=next(iter(map(str, launch.values("nccl.net_plugin"))), None),
    )


def _way_out(launch: Launch, cards: list[str]) -> str:
    """What keeps NCCL from a faster network, the surest first."""
    if launch.env("NCCL_IB_DISABLE") not in (None, "0"):
        return "NCCL_IB_DISABLE is set: unset it, and InfiniBand or RoCE is used."
    if launch.env("NCCL_NET") == SOCKETS:
        return "NCCL_NET=Socket is set: unset it, or name the network that is there (IB, the plugin's name)."
    if any(card.startswith("hsn") for card in cards):
        return (
            "These are Slingshot interfaces: put aws-ofi-nccl (on AMD: aws-ofi-rccl) on LD_LIBRARY_PATH, or "
            'name it with NCCL_NET_PLUGIN, set NCCL_NET="AWS Libfabric" and FI_PROVIDER=cxi.'
        )
    plugin = (
        "If it is EFA or Slingshot, NCCL needs a plugin and found none: put aws-ofi-nccl on LD_LIBRARY_PATH "
        "or name it with NCCL_NET_PLUGIN (Slingshot: with FI_PROVIDER=cxi)."
        if launch.has("nccl.net_plugin", "not found")
        else "If it is EFA or Slingshot, see why the plugin was not taken (FI_PROVIDER=efa or cxi)."
    )
    if launch.has("nccl.ib.nics", ""):
        return (
            "No InfiniBand device was found. If the nodes have InfiniBand or RoCE, pass /dev/infiniband into "
            f"the container, install libibverbs, and see NCCL_IB_HCA. {plugin}"
        )
    return f"If the nodes have InfiniBand or RoCE, see NCCL_IB_HCA and whether libibverbs loads. {plugin}"


def _provider(launch: Launch) -> Iterator[Remark]:
    """Libfabric over a provider that has no RDMA."""
    slow = {
        host: str(value)
        for host, values in launch.by_host("nccl.ofi.provider").items()
        for value in values
        if str(value).split(";")[0] in _SLOW_PROVIDERS
    }
    if slow:
        hosts, provider = list(slow), next(iter(slow.values()))
        yield launch.remark(
            "nccl-slow-provider",
            f"Libfabric uses its provider {provider}{on(hosts)}, which has no RDMA. {_COST}",
            "Set FI_PROVIDER=efa on AWS or FI_PROVIDER=cxi on Slingshot; `fi_info` says whether it is there.",
            hosts=hosts,
            provider=provider,
        )
