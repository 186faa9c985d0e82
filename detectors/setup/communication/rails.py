"""Network cards: fewer than other nodes use, or than NCCL was allowed to."""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar

from holter.counted import counted
from holter.detectors.setup.communication.launch import Launch, launches, names_of, on
from holter.types import Remark, RunData, Severity


class FewerRails:
    """A node that has fewer cards than the others slows all of them: rings and trees are as wide as the
    narrowest."""

    name: ClassVar[str] = "fewer_rails"

    def look(self, run: RunData) -> Iterator[Remark]:
        """One remark a launch for cards that some nodes lack, one for cards that were left out by name."""
        for launch in launches(run):
            if launch.needs_network:
                yield from _uneven(launch)
                yield from _left_out(launch)


def _uneven(launch: Launch) -> Iterator[Remark]:
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
        f"NCCL uses {least:.0f} network cards{on(fewer)}{which}, elsewhere {most:.0f}: all wait for it.",
        "Look at the links there (`ibstat`, `ip link`), at NCCL_IB_HCA, and at what the container is given.",
        hosts=fewer,
        least=least,
        most=most,
        missing=lacking,
    )


def _left_out(launch: Launch) -> Iterator[Remark]:
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


def _cards(launch: Launch) -> dict[str, list[str]]:
    """The cards of each host that data goes through: those of InfiniBand and RoCE, where it does."""
    if not any("IB" in str(net) or "UCX" in str(net) for net in launch.values("nccl.net")):
        return {}
    by_host = launch.by_host("nccl.ib.nics")
    return {
        host: max((names_of(value) for value in values), key=len) for host, values in by_host.items() if host
    }
