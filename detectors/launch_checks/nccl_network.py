"""Network cards: fewer than other nodes use, or than NCCL was allowed to.

Interfaces that are not meant for data: bridges of containers, loopback, management ports.

The network that NCCL really chose: sockets where a fast one may be there, a provider without RDMA.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import ClassVar

from holter.detectors.detector import DetectorContext
from holter.detectors.launch_checks.nccl_launch import NcclLaunch, nccl_launches, on_hosts, split_names
from holter.plurals import counted
from holter.types import Diagnostic, RunData, Severity

SOCKETS = "Socket"
_SLOW_PROVIDERS = ("tcp", "sockets", "udp", "net")
_COST = (
    "TCP goes through the host's kernel and memory, a fraction of the network's speed: on LUMI the missing "
    "plugin alone cost a factor of 3 to 4."
)


class NetworkCheck:
    """Data between nodes goes over TCP: NCCL found nothing faster, or was told not to look."""

    name: ClassVar[str] = "network_chosen"

    def check(self, run: RunData, context: DetectorContext) -> Iterator[Diagnostic]:
        """One remark a launch."""
        for launch in nccl_launches(run):
            if launch.needs_network:
                yield from _sockets(launch)
                yield from _provider(launch)


def _sockets(launch: NcclLaunch) -> Iterator[Diagnostic]:
    slow = [host for host, nets in launch.by_host("nccl.net").items() if SOCKETS in nets]
    if not slow:
        return
    cards = list(
        dict.fromkeys(card for nics in launch.values("nccl.socket.nics") for card in split_names(nics))
    )
    over = f" ({', '.join(cards[:4])}{' ...' if len(cards) > 4 else ''})" if cards else ""
    yield launch.remark(
        "nccl-sockets",
        f"NCCL moves data between nodes over TCP sockets{over}{on_hosts(slow)}. {_COST}",
        _way_out(launch, cards),
        hosts=slow,
        interfaces=cards,
        plugin=next(iter(map(str, launch.values("nccl.net_plugin"))), None),
    )


def _way_out(launch: NcclLaunch, cards: list[str]) -> str:
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


def _provider(launch: NcclLaunch) -> Iterator[Diagnostic]:
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
            f"Libfabric uses its provider {provider}{on_hosts(hosts)}, which has no RDMA. {_COST}",
            "Set FI_PROVIDER=efa on AWS or FI_PROVIDER=cxi on Slingshot; `fi_info` says whether it is there.",
            hosts=hosts,
            provider=provider,
        )


_NOWHERE = re.compile(
    r"lo\d*|docker\d*|br-.*|virbr.*|veth.*|cni\d*|flannel.*|cali.*|podman\d*|tun\d*|tap\d*|lxc.*"
)
"""They do not leave the host, or not as themselves."""
_MANAGEMENT = re.compile(r"eno\d+\w*|em\d+|idrac|bmc\w*|usb\d*|wl\w+|enx[0-9a-f]{12}")
"""Ports of the main board, for management as a rule; wireless; adapters on USB."""


class InterfaceCheck:
    """NCCL uses an interface that leads nowhere, or sends data through one for management."""

    name: ClassVar[str] = "management_interfaces"

    def check(self, run: RunData, context: DetectorContext) -> Iterator[Diagnostic]:
        """One remark a launch for either."""
        for launch in nccl_launches(run):
            if launch.needs_network:
                yield from _used(launch)


def _used(launch: NcclLaunch) -> Iterator[Diagnostic]:
    used = _interfaces(launch)
    nowhere = {host: names for host, all_of in used.items() if (names := _matching(_NOWHERE, all_of))}
    slow = {host: names for host, all_of in used.items() if (names := _matching(_MANAGEMENT, all_of))}
    data = SOCKETS in launch.values("nccl.net")
    for code, found, why in (
        (
            "nccl-virtual-interface",
            nowhere,
            "It leads to no other node: connections fail, hang, or are slow.",
        ),
        (
            "nccl-management-interface",
            slow if data else {},
            "Such a port is for management, often with 1 Gb/s.",
        ),
    ):
        if found:
            hosts = list(found)
            names = sorted({name for all_of in found.values() for name in all_of})
            yield launch.remark(
                code,
                f"NCCL uses {' and '.join(names[:4])}{on_hosts(hosts)}. {why}",
                f"Set NCCL_SOCKET_IFNAME to the interface of the fast network, or leave these out: "
                f"NCCL_SOCKET_IFNAME=^{','.join(names[:8])}.",
                hosts=hosts,
                interfaces=names,
            )


def _interfaces(launch: NcclLaunch) -> dict[str, list[str]]:
    """The interfaces that each host uses: for data where it goes over sockets, and to find the others."""
    found: dict[str, list[str]] = {}
    for setting in ("nccl.oob", *(["nccl.socket.nics"] if SOCKETS in launch.values("nccl.net") else [])):
        for host, values in launch.by_host(setting).items():
            found.setdefault(host, []).extend(name for value in values for name in split_names(value))
    return found


def _matching(pattern: re.Pattern[str], names: list[str]) -> list[str]:
    return [name for name in dict.fromkeys(names) if pattern.fullmatch(name)]


class NetworkCardCountCheck:
    """A node that has fewer cards than the others slows all of them: rings and trees are as wide as the
    narrowest."""

    name: ClassVar[str] = "fewer_rails"

    def check(self, run: RunData, context: DetectorContext) -> Iterator[Diagnostic]:
        """One remark a launch for cards that some nodes lack, one for cards that were left out by name."""
        for launch in nccl_launches(run):
            if launch.needs_network:
                yield from _uneven(launch)
                yield from _left_out(launch)


def _uneven(launch: NcclLaunch) -> Iterator[Diagnostic]:
    cards = _cards(launch)
    counts = {host: len(names) for host, names in cards.items()}
    least, most = launch.number("nccl.net_devices.min"), launch.number("nccl.net_devices.max")
    fewer = [host for host, count in counts.items() if count < max(counts.values())]
    if fewer:
        least, most = min(counts.values()), max(counts.values())
    elif not least < most:
        return
    lacking = (
        sorted({name for names in cards.values() for name in names} - set(cards[fewer[0]])) if fewer else []
    )
    which = f" (without {', '.join(lacking[:8])})" if lacking else ""
    yield launch.remark(
        "nccl-fewer-nics",
        f"NCCL uses {least:.0f} network cards{on_hosts(fewer)}{which}, elsewhere {most:.0f}: all wait for it.",
        "Look at the links there (`ibstat`, `ip link`), at NCCL_IB_HCA, and at what the container is given.",
        hosts=fewer,
        least=least,
        most=most,
        missing=lacking,
    )


def _left_out(launch: NcclLaunch) -> Iterator[Diagnostic]:
    """Few cards for many GPUs because a variable names them; how many the node has is not logged."""
    chosen = launch.env("NCCL_IB_HCA")
    cards, gpus = _cards(launch), launch.number("nccl.ranks_per_node")
    most = max(map(len, cards.values()), default=0)
    if chosen and not chosen.startswith("^") and most and gpus >= 4 * most:
        yield launch.remark(
            "nccl-few-nics",
            f"{gpus:.0f} GPUs of a node share {counted(most, 'network card')}: NCCL_IB_HCA={chosen}.",
            "If the node has more cards, leave NCCL_IB_HCA out or list them all (`ibstat -l`).",
            severity=Severity.INFO,
            cards=most,
            gpus=gpus,
        )


def _cards(launch: NcclLaunch) -> dict[str, list[str]]:
    """The cards of each host that data goes through: those of InfiniBand and RoCE, where it does."""
    if not any("IB" in str(net) or "UCX" in str(net) for net in launch.values("nccl.net")):
        return {}
    by_host = launch.by_host("nccl.ib.nics")
    return {
        host: max((split_names(value) for value in values), key=len)
        for host, values in by_host.items()
        if host
    }
