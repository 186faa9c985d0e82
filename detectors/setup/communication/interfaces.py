"""Interfaces that are not meant for data: bridges of containers, loopback, management ports."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import ClassVar

from holter.detectors.setup.communication.launch import Launch, launches, names_of, on
from holter.detectors.setup.communication.network import SOCKETS
from holter.types import Remark, RunData

_NOWHERE = re.compile(
    r"lo\d*|docker\d*|br-.*|virbr.*|veth.*|cni\d*|flannel.*|cali.*|podman\d*|tun\d*|tap\d*|lxc.*"
)
"""They do not leave the host, or not as themselves."""
_MANAGEMENT = re.compile(r"eno\d+\w*|em\d+|idrac|bmc\w*|usb\d*|wl\w+|enx[0-9a-f]{12}")
"""Ports of the main board, for management as a rule; wireless; adapters on USB."""


class ManagementInterfaces:
    """NCCL uses an interface that leads nowhere, or sends data through one for management."""

    name: ClassVar[str] = "management_interfaces"

    def look(self, run: RunData) -> Iterator[Remark]:
        """One remark a launch for either."""
        for launch in launches(run):
            if launch.needs_network:
                yield from _used(launch)


def _used(launch: Launch) -> Iterator[Remark]:
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
                f"NCCL uses {' and '.join(names[:4])}{on(hosts)}. {why}",
                f"Set NCCL_SOCKET_IFNAME to the interface of the fast network, or leave these out: "
                f"NCCL_SOCKET_IFNAME=^{','.join(names[:8])}.",
                hosts=hosts,
                interfaces=names,
            )


def _interfaces(launch: Launch) -> dict[str, list[str]]:
    """The interfaces that each host uses: for data where it goes over sockets, and to find the others."""
    found: dict[str, list[str]] = {}
    for setting in ("nccl.oob", *(["nccl.socket.nics"] if SOCKETS in launch.values("nccl.net") else [])):
        for host, values in launch.by_host(setting).items():
            found.setdefault(host, []).extend(name for value in values for name in names_of(value))
    return found


def _matching(pattern: re.Pattern[str], names: list[str]) -> list[str]:
    return [name for name in dict.fromkeys(names) if pattern.fullmatch(name)]
