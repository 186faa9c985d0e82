"""Device faults by wall time: the faults of one device around one time are one finding."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from holter.detectors.health.events import (
    FaultEvent,
    complete_device_labels,
    device_labels,
    known_devices,
    read_fault_events,
)
from holter.detectors.incremental import IncrementalState
from holter.detectors.positions import Position
from holter.detectors.thresholds import Thresholds
from holter.detectors.wall_clock import RunClock, format_wall_time, run_clock
from holter.roles import Role, role_of
from holter.types import Finding, Kind, Labels, RunData


@dataclass(frozen=True, kw_only=True)
class DeviceFaultThresholds(Thresholds):
    """Which faults of a device belong together, and to the run."""

    episode_seconds: float = 3600.0
    """Seconds. A fault later than this after the previous one is another episode. A fault this long before a
    run's first step or after its last one does not concern it: kernel logs go back for weeks."""


def device_faults(run: RunData, state: IncrementalState, limits: DeviceFaultThresholds) -> Iterable[Finding]:
    """One finding per device and episode of faults, at the step that the run had reached."""
    known = known_devices(run)
    by_device: dict[Labels, list[FaultEvent]] = {}
    for key in sorted(run.series):
        if key.has_clock_steps and role_of(key) is Role.FAULTS:
            series = run.series[key]
            device = complete_device_labels(device_labels(series), known)
            events = read_fault_events(series, state.checkpoints(("device", key), [series]))
            by_device.setdefault(device, []).extend(events)
    if not any(by_device.values()):
        return
    clock = run_clock(run)
    for device, faults in sorted(by_device.items()):
        of_run = sorted(event for event in faults if clock is None or _concerns(event, clock, limits))
        for episode in _episodes(of_run, clock, limits):
            yield _finding(device, episode, clock)


def _concerns(event: FaultEvent, clock: RunClock, limits: DeviceFaultThresholds) -> bool:
    margin = limits.episode_seconds
    return bool(clock.time[0] - margin <= event.time <= clock.time[-1] + margin)


def _position(event: FaultEvent, clock: RunClock | None) -> Position:
    """The position of the run at the time of a fault; without a clock, the fault's own step."""
    return (0, round(event.time * 1000)) if clock is None else clock.at(event.time)


def _episodes(
    events: Sequence[FaultEvent], clock: RunClock | None, limits: DeviceFaultThresholds
) -> Iterator[list[FaultEvent]]:
    """Faults that follow one another within one attempt."""
    episode: list[FaultEvent] = []
    for event in events:
        if episode and (
            event.time - episode[-1].time > limits.episode_seconds
            or _position(event, clock)[0] != _position(episode[0], clock)[0]
        ):
            yield episode
            episode = []
        episode.append(event)
    if episode:
        yield episode


def _finding(device: Labels, episode: Sequence[FaultEvent], clock: RunClock | None) -> Finding:
    first = episode[0]
    most_severe = min(episode, key=lambda event: (-event.severity.rank, event.xid is None, event.time))
    attempt, step = _position(first, clock)
    active = clock is None or int(clock.attempt.max()) <= attempt
    counts: Counter[str] = Counter()
    for event in episode:
        counts[_fault_name(event)] += round(min(event.amount, 1e15))
    return Finding(
        kind=Kind.GPU_FAULT,
        metric=first.metric,
        labels=device,
        attempt=attempt,
        start_step=step,
        peak_step=_position(episode[-1], clock)[1],
        end_step=None if active or clock is None else clock.last_step(attempt),
        detected_step=step,
        classified_step=step,
        severity=most_severe.severity,
        confidence=0.99,
        summary=_summary(device, most_severe, counts, first, None if clock is None else step),
        advice=f"{describe_device(device)}: {most_severe.advice}",
        evidence={"wall_time": first.time, "last_wall_time": episode[-1].time, "faults": dict(counts)},
    )


def _fault_name(event: FaultEvent) -> str:
    return event.metric if event.xid is None else f"XID {event.xid}"


def _summary(
    device: Labels, most_severe: FaultEvent, counts: Counter[str], first: FaultEvent, step: int | None
) -> str:
    name, where = _fault_name(most_severe), describe_device(device)
    subject = f"{name} on {where}" if most_severe.xid is not None else where
    at_step = "" if step is None else f" at step {step:,}"
    others = [f"{other} ({count:,})" for other, count in counts.items() if other != name]
    also = f" Also: {', '.join(others[:6])}." if others else ""
    times = counts[name]
    often = f", {times:,} times" if times > 1 else ""
    return f"{subject}{at_step} ({format_wall_time(first.time)}): {most_severe.meaning}{often}.{also}"


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
