"""Ranks that are set up differently: versions, networks, variables."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import ClassVar

from holter.detectors.setup.communication.launch import Launch, launches, on
from holter.types import ConfigValue, Remark, RunData, Severity

_OWN = re.compile(
    r"NCCL_(?:HOSTID|COMM_ID|DEBUG_FILE|TOPO_DUMP_FILE|GRAPH_DUMP_FILE|TOPO_FILE)|.*_IFNAME|.*_HCA"
)
"""Variables that may name what a host alone has."""


class Agreement:
    """Compares what hosts and processes of one launch say, where each says something."""

    name: ClassVar[str] = "agreement"

    def look(self, run: RunData) -> Iterator[Remark]:
        """One remark a launch for versions, one for networks, one for each variable that differs."""
        for launch in launches(run):
            yield from _versions(launch)
            yield from _networks(launch)
            for name in sorted(launch.said):
                if name.startswith("nccl.env.") and not _OWN.fullmatch(name.removeprefix("nccl.env.")):
                    yield from _variable(launch, name.removeprefix("nccl.env."))


def _versions(launch: Launch) -> Iterator[Remark]:
    versions = [str(value) for value in launch.values("nccl.version")]
    # "2.22.3" and "2.22.3+cuda12.6" are one version, told twice
    if len({version.partition("+")[0].partition("-")[0] for version in versions}) > 1:
        odd = _odd(launch, "nccl.version")
        yield launch.remark(
            "nccl-versions-differ",
            f"Ranks load different versions of NCCL, which may hang: {' and '.join(versions[:4])}{on(odd)}.",
            "Give all nodes the same container or environment: LD_LIBRARY_PATH decides which libnccl.so.",
            severity=Severity.CRITICAL,
            hosts=odd,
            versions=versions[:16],
        )


def _networks(launch: Launch) -> Iterator[Remark]:
    nets = [str(value) for value in launch.values("nccl.net")]
    if len(nets) > 1:
        odd = _odd(launch, "nccl.net")
        yield launch.remark(
            "nccl-networks-differ",
            f"Ranks chose different networks and cannot talk: {' and '.join(nets[:4])}{on(odd)}.",
            "Look there for what the others have: devices, the plugin on LD_LIBRARY_PATH (NCCL_NET_PLUGIN).",
            severity=Severity.CRITICAL,
            hosts=odd,
            networks=nets[:16],
        )


def _variable(launch: Launch, name: str) -> Iterator[Remark]:
    values = [str(value) for value in launch.values(f"nccl.env.{name}")]
    if len(values) > 1:
        odd = _odd(launch, f"nccl.env.{name}")
        yield launch.remark(
            "nccl-settings-differ",
            f"{name} differs between ranks: {' and '.join(values[:4])}{on(odd)}.",
            f"Set {name} alike for all ranks: algorithms and connections must be chosen alike everywhere.",
            hosts=odd,
            variable=name,
            values=values[:16],
        )


def _odd(launch: Launch, name: str) -> list[str]:
    """The hosts where a setting is not what most say."""
    everyone: list[ConfigValue] = list(launch.said[name].values())
    usual = max(dict.fromkeys(everyone), key=everyone.count)
    return [
        host for host, values in launch.by_host(name).items() if host and any(one != usual for one in values)
    ]
