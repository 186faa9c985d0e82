"""Checks the network that NCCL uses: slow transports, unsuitable interfaces, and missing network cards."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

from holter.detectors.detector import DetectorContext
from holter.detectors.launch_checks.nccl_launch import NcclLaunch, nccl_launches, on_hosts, split_names
from holter.detectors.thresholds import Thresholds
from holter.plurals import counted
from holter.types import Diagnostic, RunData, Severity

SOCKETS = "Socket"
_SLOW_PROVIDERS = ("tcp", "sockets", "udp", "net")
_COST = (
    "TCP goes through the host's kernel and memory, a fraction of the network's speed: on LUMI the missing "
    "plugin alone cost a factor of 3 to 4."
)


class NetworkCheck:
    """Reports data between nodes that goes over TCP: NCCL found nothing faster, or is set to use it."""

    name: ClassVar[str] = "network_chosen"

    def check(self, run: RunData, context: DetectorContext) -> Iterator[Diagnostic]:
        """One diagnostic per launch and problem."""
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
    yield launch.diagnostic(
        "nccl-sockets",
        f"NCCL moves data between nodes over TCP sockets{over}{on_hosts(slow)}. {_COST}",
        _advice_on_sockets(launch, cards),
        hosts=slow,
        interfaces=cards,
        plugin=next(iter(map(str, launch.values("nccl.net_plugin"))), None),
    )


def _advice_on_sockets(launch: NcclLaunch, cards: list[str]) -> str:
    """How to make NCCL use a faster network, by the most certain cause."""
    if launch.env("NCCL_IB_DISABLE") not in (None, "0"):
        return "NCCL_IB_DISABLE is set: unset it, and InfiniBand or RoCE is used."
    if launch.env("NCCL_NET") == SOCKETS:
        return "NCCL_NET=Socket is set: unset it, or name the available network (IB, the plugin's name)."
    if any(card.startswith("hsn") for card in cards):
        return (
            "These are Slingshot interfaces: put aws-ofi-nccl (on AMD: aws-ofi-rccl) on LD_LIBRARY_PATH, or "
            'name it with NCCL_NET_PLUGIN, set NCCL_NET="AWS Libfabric" and FI_PROVIDER=cxi.'
        )
    plugin = (
        "If it is EFA or Slingshot, NCCL needs a plugin and found none: put aws-ofi-nccl on LD_LIBRARY_PATH "
        "or name it with NCCL_NET_PLUGIN (Slingshot: with FI_PROVIDER=cxi)."
        if launch.has("nccl.net_plugin", "not found")
        else "If it is EFA or Slingshot, check why the plugin was not used (FI_PROVIDER=efa or cxi)."
    )
    if launch.has("nccl.ib.nics", ""):
        return (
            "No InfiniBand device was found. If the nodes have InfiniBand or RoCE, pass /dev/infiniband into "
            f"the container, install libibverbs, and check NCCL_IB_HCA. {plugin}"
        )
    return f"If the nodes have InfiniBand or RoCE, check NCCL_IB_HCA and whether libibverbs loads. {plugin}"


def _provider(launch: NcclLaunch) -> Iterator[Diagnostic]:
    """Reports Libfabric over a provider without RDMA."""
    slow = {
        host: str(value)
        for host, values in launch.by_host("nccl.ofi.provider").items()
        for value in values
        if str(value).split(";")[0] in _SLOW_PROVIDERS
    }
    if slow:
        hosts, provider = list(slow), next(iter(slow.values()))
        yield launch.diagnostic(
            "nccl-slow-provider",
            f"Libfabric uses its provider {provider}{on_hosts(hosts)}, which has no RDMA. {_COST}",
            "Set FI_PROVIDER=efa on AWS or FI_PROVIDER=cxi on Slingshot; `fi_info` lists those available.",
            hosts=hosts,
            provider=provider,
        )


_VIRTUAL_INTERFACES = re.compile(
    r"lo\d*|docker\d*|br-.*|virbr.*|veth.*|cni\d*|flannel.*|cali.*|podman\d*|tun\d*|tap\d*|lxc.*"
)
"""Interfaces that do not leave the host, or only through another one."""
_MANAGEMENT_INTERFACES = re.compile(r"eno\d+\w*|em\d+|idrac|bmc\w*|usb\d*|wl\w+|enx[0-9a-f]{12}")
"""Ports of the main board, which are usually for management; wireless; USB adapters."""


class InterfaceCheck:
    """Reports virtual interfaces that NCCL uses, and management interfaces that it sends data through."""

    name: ClassVar[str] = "management_interfaces"

    def check(self, run: RunData, context: DetectorContext) -> Iterator[Diagnostic]:
        """One diagnostic per launch for each of the two."""
        for launch in nccl_launches(run):
            if launch.needs_network:
                yield from _check_interfaces(launch)


def _check_interfaces(launch: NcclLaunch) -> Iterator[Diagnostic]:
    used = _interfaces(launch)
    virtual = _matching_by_host(_VIRTUAL_INTERFACES, used)
    management = (
        _matching_by_host(_MANAGEMENT_INTERFACES, used) if SOCKETS in launch.values("nccl.net") else {}
    )
    for code, by_host, consequence in (
        (
            "nccl-virtual-interface",
            virtual,
            "It leads to no other node: connections fail, hang, or are slow.",
        ),
        (
            "nccl-management-interface",
            management,
            "Such a port is for management, often with 1 Gb/s.",
        ),
    ):
        if by_host:
            hosts = list(by_host)
            names = sorted({name for of_host in by_host.values() for name in of_host})
            yield launch.diagnostic(
                code,
                f"NCCL uses {' and '.join(names[:4])}{on_hosts(hosts)}. {consequence}",
                f"Set NCCL_SOCKET_IFNAME to the interface of the fast network, or exclude these: "
                f"NCCL_SOCKET_IFNAME=^{','.join(names[:8])}.",
                hosts=hosts,
                interfaces=names,
            )


def _interfaces(launch: NcclLaunch) -> dict[str, list[str]]:
    """The interfaces of each host: for bootstrapping, and for data where it goes over sockets."""
    interfaces: dict[str, list[str]] = {}
    for setting in ("nccl.oob", *(["nccl.socket.nics"] if SOCKETS in launch.values("nccl.net") else [])):
        for host, values in launch.by_host(setting).items():
            interfaces.setdefault(host, []).extend(name for value in values for name in split_names(value))
    return interfaces


def _matching_by_host(pattern: re.Pattern[str], by_host: dict[str, list[str]]) -> dict[str, list[str]]:
    """The interfaces of each host that match a pattern; hosts without any are left out."""
    matching = {
        host: [name for name in dict.fromkeys(names) if pattern.fullmatch(name)]
        for host, names in by_host.items()
    }
    return {host: names for host, names in matching.items() if names}


@dataclass(frozen=True, kw_only=True)
class CardCountThresholds(Thresholds):
    """When a node has too few network cards for its GPUs."""

    gpus_per_card: int = 4
    """GPUs for each network card. More of them is reported where a variable names the cards."""


@dataclass(frozen=True)
class NetworkCardCountCheck:
    """Reports nodes with fewer network cards than others, which slow all nodes.

    Rings and trees are only as wide as the narrowest node.
    """

    name: ClassVar[str] = "fewer_rails"
    thresholds: CardCountThresholds = CardCountThresholds()

    def check(self, run: RunData, context: DetectorContext) -> Iterator[Diagnostic]:
        """One diagnostic per launch for cards that some nodes lack, one for cards excluded by a variable."""
        for launch in nccl_launches(run):
            if launch.needs_network:
                yield from _check_card_counts(launch)
                yield from _check_excluded_cards(launch, self.thresholds)


def _check_card_counts(launch: NcclLaunch) -> Iterator[Diagnostic]:
    cards = _cards(launch)
    counts = {host: len(names) for host, names in cards.items()}
    least, most = launch.number("nccl.net_devices.min"), launch.number("nccl.net_devices.max")
    fewer = [host for host, count in counts.items() if count < max(counts.values())]
    if fewer:
        least, most = min(counts.values()), max(counts.values())
    elif not least < most:
        return
    everywhere = {name for names in cards.values() for name in names}
    missing = sorted(everywhere - set(cards[fewer[0]])) if fewer else []
    without = f" (without {', '.join(missing[:8])})" if missing else ""
    yield launch.diagnostic(
        "nccl-fewer-nics",
        f"NCCL uses {least:.0f} network cards{on_hosts(fewer)}{without}, elsewhere {most:.0f}: all nodes "
        "wait for the slowest.",
        "Check the links there (`ibstat`, `ip link`), NCCL_IB_HCA, and the devices of the container.",
        hosts=fewer,
        least=least,
        most=most,
        missing=missing,
    )


def _check_excluded_cards(launch: NcclLaunch, limits: CardCountThresholds) -> Iterator[Diagnostic]:
    """Reports few cards for many GPUs because of a variable; the number of cards of a node is not logged."""
    chosen = launch.env("NCCL_IB_HCA")
    cards, gpus = _cards(launch), launch.number("nccl.ranks_per_node")
    most = max(map(len, cards.values()), default=0)
    if chosen and not chosen.startswith("^") and most and gpus >= limits.gpus_per_card * most:
        yield launch.diagnostic(
            "nccl-few-nics",
            f"{gpus:.0f} GPUs of a node share {counted(most, 'network card')}: NCCL_IB_HCA={chosen}.",
            "If the node has more cards, leave NCCL_IB_HCA out or list them all (`ibstat -l`).",
            severity=Severity.INFO,
            cards=most,
            gpus=gpus,
        )


def _cards(launch: NcclLaunch) -> dict[str, list[str]]:
    """The InfiniBand and RoCE cards of each host that data goes through."""
    if not any("IB" in str(net) or "UCX" in str(net) for net in launch.values("nccl.net")):
        return {}
    by_host = launch.by_host("nccl.ib.nics")
    return {
        host: max((split_names(value) for value in values), key=len)
        for host, values in by_host.items()
        if host
    }
