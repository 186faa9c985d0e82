"""Faults of devices that are told by the clock: those of one device around one time are one event."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence

from holter.detectors.health.events import (
    FaultEvent,
    complete_device_labels,
    device_labels,
    known_devices,
    read_fault_events,
)
from holter.detectors.incremental import IncrementalState
from holter.detectors.positions import Position
from holter.detectors.wall_clock import RunClock, format_wall_time, run_clock
from holter.roles import Role, role_of
from holter.types import Finding, Kind, Labels, RunData

_APART = 3600.0
"""Seconds without a fault after which the next one is another event; and how long before a run's first step
and after its last one a fault concerns it: kernel logs go back for weeks."""


def device_faults(run: RunData, state: IncrementalState) -> Iterable[Finding]:
    """One finding per device and time of trouble, at the step that the run had come to."""
    known = known_devices(run)
    by_device: dict[Labels, list[FaultEvent]] = {}
    for key in sorted(run.series):
        if key.has_clock_steps and role_of(key) is Role.FAULTS:
            series = run.series[key]
            checkpoints = state.checkpoints(("device", key), [series])
            by_device.setdefault(complete_device_labels(device_labels(series), known), []).extend(
                read_fault_events(series, checkpoints)
            )
    if not any(by_device.values()):
        return
    clock = run_clock(run)
    for device, events in sorted(by_device.items()):
        of_run = sorted(event for event in events if clock is None or _concerns(event, clock))
        for episode in _episodes(of_run, clock):
            yield _finding(device, episode, clock)


def _concerns(event: FaultEvent, clock: RunClock) -> bool:
    return bool(clock.time[0] - _APART <= event.time <= clock.time[-1] + _APART)


def _place(event: FaultEvent, clock: RunClock | None) -> Position:
    """Where the run was; without a clock of its own, the fault's own step."""
    return (0, round(event.time * 1000)) if clock is None else clock.at(event.time)


def _episodes(events: Sequence[FaultEvent], clock: RunClock | None) -> Iterator[list[FaultEvent]]:
    """Faults that follow one another within one attempt."""
    episode: list[FaultEvent] = []
    for event in events:
        if episode and (
            event.time - episode[-1].time > _APART or _place(event, clock)[0] != _place(episode[0], clock)[0]
        ):
            yield episode
            episode = []
        episode.append(event)
    if episode:
        yield episode


def _finding(device: Labels, episode: Sequence[FaultEvent], clock: RunClock | None) -> Finding:
    first = episode[0]
    gravest = min(episode, key=lambda event: (-event.severity.rank, event.xid is None, event.time))
    attempt, step = _place(first, clock)
    goes_on = clock is None or int(clock.attempt.max()) <= attempt
    counts: Counter[str] = Counter()
    for event in episode:
        counts[_name(event)] += round(min(event.amount, 1e15))
    return Finding(
        kind=Kind.GPU_FAULT,
        metric=first.metric,
        labels=device,
        attempt=attempt,
        start_step=step,
        peak_step=_place(episode[-1], clock)[1],
        end_step=None if goes_on or clock is None else clock.last_step(attempt),
        detected_step=step,
        classified_step=step,
        severity=gravest.severity,
        confidence=0.99,
        summary=_summary(device, gravest, counts, first, None if clock is None else step),
        advice=f"{describe_device(device)}: {gravest.advice}",
        evidence={"wall_time": first.time, "last_wall_time": episode[-1].time, "faults": dict(counts)},
    )


def _name(event: FaultEvent) -> str:
    return event.metric if event.xid is None else f"XID {event.xid}"


def _summary(
    device: Labels, gravest: FaultEvent, counts: Counter[str], first: FaultEvent, step: int | None
) -> str:
    what = (
        f"{_name(gravest)} on {describe_device(device)}"
        if gravest.xid is not None
        else describe_device(device)
    )
    at = "" if step is None else f" at step {step:,}"
    others = [f"{name} ({count:,})" for name, count in counts.items() if name != _name(gravest)]
    beside = f" Beside it: {', '.join(others[:6])}." if others else ""
    times = counts[_name(gravest)]
    often = f", {times:,} times" if times > 1 else ""
    return f"{what}{at} ({format_wall_time(first.time)}): {gravest.meaning}{often}.{beside}"


def describe_device(device: Labels) -> str:
    """A device in words: "GPU 3 (0000:9b:00, rank 11) of host n17"."""
    labels = dict(device)
    gpu = labels.get("gpu")
    inside = [text for text in (labels.get("pci"), _rank(labels), _instance(labels)) if text]
    name = f"GPU {gpu}" if gpu is not None else "a GPU"
    if gpu is None and inside and "pci" in labels:
        name, inside = f"GPU {inside[0]}", inside[1:]
    owner = next((f" of {kind} {labels[kind]}" for kind in ("host", "file", "folder") if kind in labels), "")
    return name + (f" ({', '.join(inside)})" if inside else "") + owner


def _rank(labels: dict[str, str]) -> str | None:
    return f"rank {labels['rank']}" if "rank" in labels else None


def _instance(labels: dict[str, str]) -> str | None:
    return f"instance {labels['mig']}" if "mig" in labels else None
