"""A run's collectives in words: how fast against the hardware, what they cost, who waits for whom."""

from __future__ import annotations

from collections.abc import Iterator

from holter.detectors.communication import (
    CollectiveBandwidth,
    CollectiveComparison,
    RankBehind,
    RankOverlap,
    WaitedForRank,
)
from holter.detectors.formatting import figure
from holter.detectors.ranks.naming import format_bytes
from holter.plurals import counted

_SPEEDS, _OTHERS = 8, 4
"""How many of each are told: those that cost most."""
_SHORT = 14
"""Characters of a communicator's name."""


def told(found: CollectiveComparison) -> Iterator[tuple[str, str]]:
    """What each line is about, and the line."""
    for speed in found.speeds[:_SPEEDS]:
        yield "Speed", _speed(speed)
    if len(found.speeds) > _SPEEDS:
        yield "", f"and {len(found.speeds) - _SPEEDS} more kinds of calls"
    for overlap in sorted(found.overlaps, key=lambda one: -one.exposed_share)[:_OTHERS]:
        yield "Cost", _overlap(overlap)
    for one in found.waited_for[:_OTHERS]:
        yield "Waiting", _waits(one)
    for end in found.behind[:_OTHERS]:
        yield "Ends", _ends(end)


def duration_in_words(seconds: float) -> str:
    """A short time: "12.4 ms", "3.2 s"."""
    for unit, word in ((1.0, "s"), (1e-3, "ms"), (1e-6, "µs")):
        if seconds >= unit:
            return f"{figure(seconds / unit)} {word}"
    return "0 s"


def _speed(one: CollectiveBandwidth) -> str:
    size = format_bytes(one.bytes) if one.bytes else one.size
    calls = f", {counted(one.calls, 'call')}, {duration_in_words(one.seconds)}" if one.calls else ""
    whose = f" in {_short(one.communicator)}" if one.communicator else ""
    speed = f"{one.collective} of {size}{whose}{calls}: {figure(one.busbw)} GB/s"
    if one.is_small:
        return f"{speed}, too small to be compared with a link"
    if one.link is None or one.share is None:
        return f"{speed} bus bandwidth (what the hardware gives is not in the logs)"
    return f"{speed} of {figure(one.link.gbs)} ({one.link.name}), {one.share:.0%}"


def _overlap(one: RankOverlap) -> str:
    rank = f"rank {one.rank}: " if one.rank else ""
    return (
        f"{rank}{duration_in_words(one.communication)} in collectives beside "
        f"{duration_in_words(one.compute)} of computing; computing hides {one.hidden_share:.0%} of them, and "
        f"{one.exposed_share:.0%} of the GPU's time only waits for them"
    )


def _waits(one: WaitedForRank) -> str:
    return (
        f"for {_which(one)} in {_short(one.communicator)}: last in {one.share:.0%} of {one.calls:,} "
        f"calls; the others waited {duration_in_words(one.mean_wait)} each time, "
        f"{duration_in_words(one.waited)} in all"
    )


def _ends(one: RankBehind) -> str:
    return (
        f"{_which(one)} in {_short(one.communicator)} at call {one.last:,}, the others at "
        f"{one.others:,}: if the job hangs, it is the one that has not come"
    )


def _which(one: WaitedForRank | RankBehind) -> str:
    return f"rank {one.rank} ({one.host})" if one.host else f"rank {one.rank}"


def _short(communicator: str) -> str:
    return communicator if len(communicator) <= _SHORT + 4 else f"{communicator[:_SHORT]}..."
