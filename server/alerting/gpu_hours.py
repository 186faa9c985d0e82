"""How many GPU-hours an incident has cost, where the logs state how many GPUs the run has."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from holter.attempts.config import ConfigByAttempt
from holter.flops.hardware import devices_of
from holter.flops.launch_settings import settings_of_attempt
from holter.plurals import counted
from holter.server.alerting.incident import Incident
from holter.types import Kind

_NO_PROGRESS = frozenset(
    {
        Kind.STALL,
        Kind.DESYNC,
        Kind.DIVERGENCE,
        Kind.NONFINITE,
        Kind.HIDDEN_NONFINITE,
        Kind.SPIKE_UNRECOVERED,
        Kind.LOSS_SCALE_COLLAPSE,
    }
)
"""Kinds during which a run makes no progress that lasts: it waits, or has to go back to before the onset."""
_SHARES = ("lost", "share_of_step_lost")
"""Keys of evidence: the share of the throughput, or of each step, that is lost."""
_LIVE_SECONDS = 900.0
"""An incident that was opened this long after its onset comes from old logs: its end has no wall time."""


class LaunchConfigs(Protocol):
    """The part of the store that states how many GPUs a run has."""

    def config(self, run_id: int) -> ConfigByAttempt:
        """The settings of a run's launches."""
        ...

    def environment(self, run_id: int) -> ConfigByAttempt:
        """The environment of a run's launches."""
        ...


def gpu_count(store: LaunchConfigs, run_id: int, attempt: int) -> int | None:
    """The GPUs of an attempt by its settings, or else by the world size of its launch; None without both."""
    counts = (
        devices_of(settings_of_attempt(stated, attempt))
        for stated in (store.config(run_id), store.environment(run_id))
    )
    return next((count for count in counts if count is not None), None)


@dataclass(frozen=True, slots=True)
class GpuHours:
    """`seconds` on `devices` GPUs, of which the `share` was lost; `ongoing`: more are being lost."""

    devices: int
    seconds: float
    share: float
    ongoing: bool

    @property
    def hours(self) -> float:
        """The GPU-hours that were lost."""
        return self.devices * self.seconds * self.share / 3600

    def describe(self) -> str:
        """In words: "53 so far (64 GPUs for 50 minutes)"."""
        so_far = " so far" if self.ongoing else ""
        share = f"{100 * self.share:.3g}% of " if self.share < 1 else ""
        used = f"{share}{counted(self.devices, 'GPU')} for {_duration(self.seconds)}"
        return f"{_rounded(self.hours)}{so_far} ({used})"


def gpu_hours_lost(incident: Incident, devices: int | None, now: float) -> GpuHours | None:
    """The GPU-hours lost from the onset to the end or `now` (Unix seconds).

    None where devices or wall times are unknown, and for kinds that cost no time.
    """
    share = _lost_share(incident)
    if devices is None or incident.start_time is None or share is None:
        return None
    end = now
    if not incident.is_open:
        if incident.opened_at - incident.start_time > _LIVE_SECONDS:
            return None
        end = incident.recovered_at or incident.closed_at or now
    return GpuHours(devices, max(0.0, end - incident.start_time), share, incident.is_open)


def _lost_share(incident: Incident) -> float | None:
    finding = incident.finding
    if finding.kind in _NO_PROGRESS:
        return 1.0
    shares = [finding.evidence.get(key) for key in _SHARES]
    return next((float(share) for share in shares if isinstance(share, int | float) and 0 < share <= 1), None)


def _rounded(hours: float) -> str:
    return f"{hours:,.0f}" if hours >= 10 else f"{hours:.1f}" if hours >= 0.1 else f"{hours:.2f}"


def _duration(seconds: float) -> str:
    for size, noun in ((86_400, "day"), (3_600, "hour"), (60, "minute")):
        if seconds >= 2 * size:
            return counted(int(seconds // size), noun)
    return counted(round(seconds), "second")
