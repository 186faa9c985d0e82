"""Ranks that are set up differently: versions, networks, variables."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, ClassVar

from holter.detectors.detector import DetectorContext
from holter.detectors.launch_checks.nccl_launch import NcclLaunch, nccl_launches, on_hosts
from holter.types import ConfigValue, Diagnostic, RunData, Severity

_OWN = re.compile(
    r"NCCL_(?:HOSTID|COMM_ID|DEBUG_FILE|TOPO_DUMP_FILE|GRAPH_DUMP_FILE|TOPO_FILE)|.*_IFNAME|.*_HCA"
)
"""Variables that may name what a host alone has."""
_SHOWN = 16


class RankAgreementCheck:
    """Compares what hosts and processes of one launch say, where each says something."""

    name: ClassVar[str] = "agreement"

    def check(self, run: RunData, context: DetectorContext) -> Iterator[Diagnostic]:
        """One remark a launch for versions, one for networks, one for each variable that differs."""
        for launch in nccl_launches(run):
            yield from _versions(launch)
            yield from _networks(launch)
            for name in sorted(launch.said):
                if name.startswith("nccl.env.") and not _OWN.fullmatch(name.removeprefix("nccl.env.")):
                    yield from _variable(launch, name.removeprefix("nccl.env."))


def _versions(launch: NcclLaunch) -> Iterator[Diagnostic]:
    setting, versions = "nccl.version", _values(launch, "nccl.version")
    # "2.22.3" and "2.22.3+cuda12.6" are one version, told twice
    if len({version.partition("+")[0].partition("-")[0] for version in versions}) > 1:
        what = "Ranks load different versions of NCCL, which may hang"
        advice = "Give all nodes the same container or environment: LD_LIBRARY_PATH decides which libnccl.so."
        more = {"severity": Severity.CRITICAL, "versions": versions[:_SHOWN]}
        yield _differing(launch, setting, "nccl-versions-differ", what, advice, **more)


def _networks(launch: NcclLaunch) -> Iterator[Diagnostic]:
    setting, networks = "nccl.net", _values(launch, "nccl.net")
    if len(networks) > 1:
        what = "Ranks chose different networks and cannot talk"
        advice = (
            "Look there for what the others have: devices, the plugin on LD_LIBRARY_PATH (NCCL_NET_PLUGIN)."
        )
        more = {"severity": Severity.CRITICAL, "networks": networks[:_SHOWN]}
        yield _differing(launch, setting, "nccl-networks-differ", what, advice, **more)


def _variable(launch: NcclLaunch, name: str) -> Iterator[Diagnostic]:
    setting, values = f"nccl.env.{name}", _values(launch, f"nccl.env.{name}")
    if len(values) > 1:
        what = f"{name} differs between ranks"
        advice = (
            f"Set {name} alike for all ranks: algorithms and connections must be chosen alike everywhere."
        )
        more = {"variable": name, "values": values[:_SHOWN]}
        yield _differing(launch, setting, "nccl-settings-differ", what, advice, **more)


def _differing(
    launch: NcclLaunch, setting: str, code: str, what: str, advice: str, **more: Any
) -> Diagnostic:
    """The remark, with what is said and the hosts that do not say what most do."""
    odd, said = _odd(launch, setting), " and ".join(_values(launch, setting)[:4])
    return launch.remark(code, f"{what}: {said}{on_hosts(odd)}.", advice, hosts=odd, **more)


def _values(launch: NcclLaunch, setting: str) -> list[str]:
    return [str(value) for value in launch.values(setting)]


def _odd(launch: NcclLaunch, name: str) -> list[str]:
    """The hosts where a setting is not what most say."""
    everyone: list[ConfigValue] = list(launch.said[name].values())
    usual = max(dict.fromkeys(everyone), key=everyone.count)
    return [
        host for host, values in launch.by_host(name).items() if host and any(one != usual for one in values)
    ]
