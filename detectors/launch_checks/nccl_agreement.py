"""Checks for ranks with different versions of NCCL, networks or variables."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, ClassVar

from holter.detectors.detector import DetectorContext
from holter.detectors.launch_checks.nccl_launch import NcclLaunch, nccl_launches, on_hosts
from holter.types import ConfigValue, Diagnostic, RunData, Severity

_HOST_SPECIFIC = re.compile(
    r"NCCL_(?:HOSTID|COMM_ID|DEBUG_FILE|TOPO_DUMP_FILE|GRAPH_DUMP_FILE|TOPO_FILE)|.*_IFNAME|.*_HCA"
)
"""Variables that may differ between hosts."""
_MAX_LISTED = 16


class RankAgreementCheck:
    """Compares the settings of hosts and processes of one launch."""

    name: ClassVar[str] = "agreement"

    def check(self, run: RunData, context: DetectorContext) -> Iterator[Diagnostic]:
        """One diagnostic per launch for versions, one for networks, one for each variable that differs."""
        for launch in nccl_launches(run):
            yield from _versions(launch)
            yield from _networks(launch)
            for name in sorted(launch.settings):
                if name.startswith("nccl.env.") and not _HOST_SPECIFIC.fullmatch(
                    name.removeprefix("nccl.env.")
                ):
                    yield from _variable(launch, name.removeprefix("nccl.env."))


def _versions(launch: NcclLaunch) -> Iterator[Diagnostic]:
    setting, versions = "nccl.version", _values(launch, "nccl.version")
    # "2.22.3" and "2.22.3+cuda12.6" are one version, logged twice
    if len({version.partition("+")[0].partition("-")[0] for version in versions}) > 1:
        problem = "Ranks load different versions of NCCL, which may hang"
        advice = "Give all nodes the same container or environment: LD_LIBRARY_PATH decides which libnccl.so."
        evidence = {"severity": Severity.CRITICAL, "versions": versions[:_MAX_LISTED]}
        yield _differing(launch, setting, "nccl-versions-differ", problem, advice, **evidence)


def _networks(launch: NcclLaunch) -> Iterator[Diagnostic]:
    setting, networks = "nccl.net", _values(launch, "nccl.net")
    if len(networks) > 1:
        problem = "Ranks chose different networks and cannot communicate"
        advice = "Check there what the others have: devices, the plugin on LD_LIBRARY_PATH (NCCL_NET_PLUGIN)."
        evidence = {"severity": Severity.CRITICAL, "networks": networks[:_MAX_LISTED]}
        yield _differing(launch, setting, "nccl-networks-differ", problem, advice, **evidence)


def _variable(launch: NcclLaunch, name: str) -> Iterator[Diagnostic]:
    setting, values = f"nccl.env.{name}", _values(launch, f"nccl.env.{name}")
    if len(values) > 1:
        problem = f"{name} differs between ranks"
        advice = (
            f"Set {name} to the same value on all ranks: all must choose the same algorithms and connections."
        )
        evidence = {"variable": name, "values": values[:_MAX_LISTED]}
        yield _differing(launch, setting, "nccl-settings-differ", problem, advice, **evidence)


def _differing(
    launch: NcclLaunch, setting: str, code: str, problem: str, advice: str, **evidence: Any
) -> Diagnostic:
    """The diagnostic, with the values of the setting and the hosts that differ from the majority."""
    hosts, values = _minority_hosts(launch, setting), " and ".join(_values(launch, setting)[:4])
    return launch.diagnostic(code, f"{problem}: {values}{on_hosts(hosts)}.", advice, hosts=hosts, **evidence)


def _values(launch: NcclLaunch, setting: str) -> list[str]:
    return [str(value) for value in launch.values(setting)]


def _minority_hosts(launch: NcclLaunch, name: str) -> list[str]:
    """The hosts where a setting differs from its most common value."""
    stated: list[ConfigValue] = list(launch.settings[name].values())
    most_common = max(dict.fromkeys(stated), key=stated.count)
    return [
        host
        for host, values in launch.by_host(name).items()
        if host and any(value != most_common for value in values)
    ]
