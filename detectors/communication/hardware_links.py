"""Bandwidth of the links between GPUs and between nodes by vendors' figures, in GB/s (1e9), one direction."""

from __future__ import annotations

import re
from dataclasses import dataclass

from holter.types import RunData


@dataclass(frozen=True)
class HardwareLink:
    """A link: its name, its bandwidth in one direction in GB/s, and the source of that figure."""

    name: str
    gbs: float
    source: str = ""


_NVIDIA = "nvidia.com/en-us/data-center/nvlink: links x GB/s a link and direction"
_AMD = "amd.com, data sheets of MI300X and MI355X: Infinity Fabric links, one direction"
_PCIE = "PCI-SIG: lanes x GT/s, less the encoding"

_GPUS: tuple[tuple[str, HardwareLink], ...] = (
    (r"[GH]?B[23]00", HardwareLink("NVLink 5", 18 * 50.0, _NVIDIA)),
    (r"H[12]00 (?:PCIe|NVL)|RTX 5090|RTX PRO 6000", HardwareLink("PCIe 5 x16", 63.0, _PCIE)),
    (r"[AH]800", HardwareLink("NVLink, 8 links", 8 * 25.0, _NVIDIA)),
    (r"G?H[12]00|H20\b", HardwareLink("NVLink 4", 18 * 25.0, _NVIDIA)),
    (
        r"A100[- ]PCIE|A10\b|A30|A40|L4\b|L40|RTX [43]090|RTX A6000|RTX 6000",
        HardwareLink("PCIe 4 x16", 31.5, _PCIE),
    ),
    (r"A100", HardwareLink("NVLink 3", 12 * 25.0, _NVIDIA)),
    (r"V100[- ]PCIE|T4\b|P100[- ]PCIE", HardwareLink("PCIe 3 x16", 15.75, _PCIE)),
    (r"V100", HardwareLink("NVLink 2", 6 * 25.0, _NVIDIA)),
    (r"MI35[05]X", HardwareLink("Infinity Fabric, 7 links", 7 * 76.8, _AMD)),
    (r"MI3(?:00|25)X", HardwareLink("Infinity Fabric, 7 links", 7 * 64.0, _AMD)),
)
_GPU_PATTERNS = tuple((re.compile(pattern), link) for pattern, link in _GPUS)
"""Links between the GPUs of a node by the driver's name of the GPU; the first match counts."""

_GENERATIONS = {
    25_000: "EDR lane",
    56_000: "FDR",
    100_000: "EDR",
    200_000: "HDR",
    400_000: "NDR",
    800_000: "XDR",
}
"""InfiniBand generations by Mb/s of a port. Source: infinibandta.org, roadmap."""
_EFA = {"A100": 400, "H100": 3200, "H200": 3200, "B200": 3200, "B300": 6400}
"""Gb/s of a node by its GPU: p4d, p5, p5en, p6. Source: aws.amazon.com/ec2/instance-types."""
_SLINGSHOT = 200
"""Gb/s of a card, Slingshot 11. Source: hpe.com, Cassini."""
_OMNI_PATH = 100
"""Gb/s of a card hfi1. Source: cornelisnetworks.com, Omni-Path 100."""
_LOGS_OF_HOSTS = ("nccl.", "gpu.")
"""Prefixes of settings whose label `host` counts as a node of the run."""


def within_node(run: RunData) -> HardwareLink | None:
    """The link between two GPUs of a node; None where the logs name no GPU, or an unknown one."""
    for name in _stated(run, "gpu.name"):
        known = next((link for pattern, link in _GPU_PATTERNS if pattern.search(str(name))), None)
        if known is not None:
            return known
    return None


def between_nodes(run: RunData) -> HardwareLink | None:
    """All network cards of a node together; None where the logs do not contain their speed.

    This is the upper limit for NCCL between nodes: its rings leave a node over every card.
    """
    cards = max((len(str(nics).split()) for nics in _stated(run, "nccl.ib.nics")), default=0)
    mbps = _largest(run, "nccl.ib.mbps")
    if cards and mbps:
        generation = _GENERATIONS.get(int(mbps), f"{mbps / 1e3:.0f} Gb/s")
        return HardwareLink(
            f"{cards} x {generation}", cards * mbps / 8e3, "NCCL's log: the speed of its ports"
        )
    if cards and all("hfi1" in str(nics) for nics in _stated(run, "nccl.ib.nics")):
        return HardwareLink(f"{cards} x Omni-Path", cards * _OMNI_PATH / 8, "cornelisnetworks.com")
    providers = [str(provider) for provider in _stated(run, "nccl.ofi.provider")]
    if "cxi" in providers and (number := _largest(run, "nccl.ofi.nics")):
        return HardwareLink(f"{number:.0f} x Slingshot", number * _SLINGSHOT / 8, "hpe.com, Slingshot 11")
    if "efa" in providers:
        names = " ".join(map(str, _stated(run, "gpu.name")))
        gbits = next((gbits for gpu, gbits in _EFA.items() if gpu in names), None)
        if gbits is not None:
            return HardwareLink(f"EFA {gbits} Gb/s", gbits / 8, "aws.amazon.com/ec2/instance-types")
    return None


def count_nodes(run: RunData) -> int:
    """The number of nodes of a run by its logs; 0 where unknown."""
    hosts = {
        value
        for key in run.config
        for name, value in key.labels
        if name == "host" and key.name.startswith(_LOGS_OF_HOSTS)
    }
    hosts |= {value for key in run.series for name, value in key.labels if name == "host"}
    return max(int(_largest(run, "nccl.nodes")), len(hosts))


def _stated(run: RunData, name: str) -> list[object]:
    """The different values of a setting, the newest launch's first."""
    stated = [
        (attempt, value)
        for key, values in run.config.items()
        if key.name == name
        for attempt, value in values.items()
    ]
    return list(dict.fromkeys(value for _, value in sorted(stated, key=lambda pair: -pair[0])))


def _largest(run: RunData, name: str) -> float:
    numbers = [value for value in _stated(run, name) if isinstance(value, int | float) and 0 < value < 1e9]
    return float(max(numbers, default=0))
