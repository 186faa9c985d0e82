"""A run's collectives as text: their bandwidth and cost, and which ranks the others wait for."""

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

_MAX_SPEEDS, _MAX_OTHERS = 8, 4
"""Lines of each sort that are shown: those with the highest cost."""
_MAX_COMMUNICATOR_LENGTH = 14


def describe_collectives(comparison: CollectiveComparison) -> Iterator[tuple[str, str]]:
    """The subject of each line, and the line."""
    for speed in comparison.speeds[:_MAX_SPEEDS]:
        yield "Speed", _describe_speed(speed)
    if len(comparison.speeds) > _MAX_SPEEDS:
        yield "", f"and {len(comparison.speeds) - _MAX_SPEEDS} more kinds of calls"
    for overlap in sorted(comparison.overlaps, key=lambda overlap: -overlap.exposed_share)[:_MAX_OTHERS]:
        yield "Cost", _describe_overlap(overlap)
    for rank in comparison.waited_for[:_MAX_OTHERS]:
        yield "Waiting", _describe_waiting(rank)
    for behind in comparison.behind[:_MAX_OTHERS]:
        yield "Behind", _describe_behind(behind)


def format_short_duration(seconds: float) -> str:
    """A short time: "12.4 ms", "3.2 s"."""
    for unit, name in ((1.0, "s"), (1e-3, "ms"), (1e-6, "µs")):
        if seconds >= unit:
            return f"{figure(seconds / unit)} {name}"
    return "0 s"


def _describe_speed(speed: CollectiveBandwidth) -> str:
    size = format_bytes(speed.bytes) if speed.bytes else speed.size
    calls = f", {counted(speed.calls, 'call')}, {format_short_duration(speed.seconds)}" if speed.calls else ""
    communicator = f" in {_shorten(speed.communicator)}" if speed.communicator else ""
    text = f"{speed.collective} of {size}{communicator}{calls}: {figure(speed.busbw)} GB/s"
    if speed.is_small:
        return f"{text}, too small to be compared with a link"
    if speed.link is None or speed.share is None:
        return f"{text} bus bandwidth (the link's bandwidth is not in the logs)"
    return f"{text} of {figure(speed.link.gbs)} ({speed.link.name}), {speed.share:.0%}"


def _describe_overlap(overlap: RankOverlap) -> str:
    rank = f"rank {overlap.rank}: " if overlap.rank else ""
    return (
        f"{rank}{format_short_duration(overlap.communication)} in collectives and "
        f"{format_short_duration(overlap.compute)} in computation; {overlap.hidden_share:.0%} of the "
        f"collectives overlap with computation, and for {overlap.exposed_share:.0%} of the time the GPU only "
        "waits for them"
    )


def _describe_waiting(rank: WaitedForRank) -> str:
    return (
        f"for {_rank_name(rank)} in {_shorten(rank.communicator)}: last in {rank.share:.0%} of "
        f"{rank.calls:,} calls; the others waited {format_short_duration(rank.mean_wait)} on average, "
        f"{format_short_duration(rank.waited)} in total"
    )


def _describe_behind(behind: RankBehind) -> str:
    return (
        f"{_rank_name(behind)} in {_shorten(behind.communicator)} is at call {behind.last:,}, the others at "
        f"{behind.others:,}: if the job hangs, the others wait for this rank"
    )


def _rank_name(rank: WaitedForRank | RankBehind) -> str:
    return f"rank {rank.rank} ({rank.host})" if rank.host else f"rank {rank.rank}"


def _shorten(communicator: str) -> str:
    if len(communicator) <= _MAX_COMMUNICATOR_LENGTH + 4:
        return communicator
    return f"{communicator[:_MAX_COMMUNICATOR_LENGTH]}..."
