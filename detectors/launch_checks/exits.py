"""Checks how launches ended, as the scheduler, launchers and kernels report it, with advice for each way."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from holter.detectors.detector import DetectorContext
from holter.detectors.thresholds import Thresholds
from holter.detectors.wall_clock import RunClock, format_wall_time, run_clock
from holter.types import Diagnostic, RunData, Series, Severity

_ADVICE_BY_STATE = {
    "NODE_FAIL": "Exclude the node when you submit again (--exclude=NODE), and have it checked.",
    "OUT_OF_MEMORY": "Ask for more memory (--mem), or use less: fewer data workers, smaller shuffle buffers.",
    "TIMEOUT": "Save a checkpoint before the limit (--signal=B:USR1@300), and submit the next job as a"
    " dependency, or ask for more time (--time).",
    "PREEMPTED": "Save checkpoints often enough, and let the job be requeued (--requeue).",
    "CANCELLED": "A user, or the job itself, cancelled it: the scheduler's log names who.",
    "FAILED": "The first process that failed shows the cause: look for its traceback.",
    "BOOT_FAIL": "Exclude the node when you submit again (--exclude=NODE), and have it checked.",
    "DEADLINE": "Submit it with a later deadline.",
    "REQUEUED": "The job was put back into the queue: it will be launched again.",
}
_WARNING_STATES = frozenset({"NODE_FAIL", "OUT_OF_MEMORY", "TIMEOUT", "FAILED", "BOOT_FAIL", "DEADLINE"})


@dataclass(frozen=True, kw_only=True)
class EndingThresholds(Thresholds):
    """Which reported endings belong to the run."""

    margin_seconds: float = 3600.0
    """Seconds before the first and after the last point. Earlier and later endings are those of other jobs.
    """
    max_rows: int = 1000
    """Rows of a series that are read."""


@dataclass(frozen=True)
class LaunchEndingsCheck:
    """Reports launches that did not complete."""

    name: ClassVar[str] = "endings"
    thresholds: EndingThresholds = EndingThresholds()

    def check(self, run: RunData, context: DetectorContext) -> Iterable[Diagnostic]:
        """One diagnostic per launch and way it ended, per failed process, and per program out of memory."""
        keys = [key for key in run.series if key.metric in _DESCRIBERS]
        clock = run_clock(_clock_series(run)) if keys else None
        reported: set[tuple[str, int, str]] = set()
        for key in sorted(keys):
            series = run.series[key]
            for row in _rows_of_run(series, clock, self.thresholds):
                diagnostic = _diagnostic(series, row, clock)
                identity = (diagnostic.code, diagnostic.attempt, diagnostic.summary)
                if identity not in reported:
                    reported.add(identity)
                    yield diagnostic


def _clock_series(run: RunData) -> RunData:
    """The run with a single training series that has wall times, so that no other needs to be read."""
    keys = sorted(key for key in run.series if key.step_unit is None)
    for key in [key for key in keys if "loss" in key.metric.lower()] + keys:
        series = run.series[key]
        if np.isfinite(series.time).any():
            return RunData(series={key: series})
    return RunData(series={})


def _rows_of_run(series: Series, clock: RunClock | None, limits: EndingThresholds) -> Iterable[int]:
    """The rows that concern the run: kernels and schedulers report other jobs as well."""
    margin = limits.margin_seconds
    for row in range(min(len(series), limits.max_rows)):
        moment = float(series.time[row])
        if (
            clock is None
            or not np.isfinite(moment)
            or clock.time[0] - margin <= moment <= clock.time[-1] + margin
        ):
            yield row


def _diagnostic(series: Series, row: int, clock: RunClock | None) -> Diagnostic:
    moment, attempt = float(series.time[row]), int(series.attempt[row])
    if clock is not None and np.isfinite(moment):
        attempt = clock.at(moment)[0]
    labels = {name: value for name, value in series.key.labels if name != "steps"}
    at = f" at {format_wall_time(moment)}" if np.isfinite(moment) else ""
    on = f" on {labels['host']}" if "host" in labels else ""
    code, severity, summary, advice = _DESCRIBERS[series.key.metric](labels, f"{on}{at}")
    return Diagnostic(
        code=code, attempt=attempt, severity=severity, summary=summary, advice=advice, evidence=labels
    )


_Description = tuple[str, Severity, str, str]
"""Code, severity, summary and advice."""


def _describe_job(labels: Mapping[str, str], where: str) -> _Description:
    state = labels.get("state", "")
    job = f" (job {labels['job']})" if "job" in labels else ""
    if state == "COMPLETED":
        return "launch-ended", Severity.INFO, f"The launch completed{where}{job}.", ""
    severity = Severity.WARNING if state in _WARNING_STATES else Severity.INFO
    advice = _ADVICE_BY_STATE.get(state, "The scheduler's log shows the cause.")
    advice = advice.replace("NODE", labels.get("host", "NODE"))
    return "launch-ended", severity, f"The launch was ended by {state}{where}{job}.", advice


def _describe_process(labels: Mapping[str, str], where: str) -> _Description:
    who = next((f" ({name} {labels[name]})" for name in ("rank", "local_rank", "task") if name in labels), "")
    how = labels.get("how", "unknown")
    summary = f"A process{who}{where} failed: {how}."
    return "process-failed", Severity.WARNING, summary, _advice_on_exit(how)


def _describe_oom_kill(labels: Mapping[str, str], where: str) -> _Description:
    process = labels.get("process", "a process")
    summary = f"The kernel killed {process}{where}: memory ran out."
    return "out-of-memory", Severity.WARNING, summary, _ADVICE_BY_STATE["OUT_OF_MEMORY"]


_DESCRIBERS: Mapping[str, Callable[[Mapping[str, str], str], _Description]] = {
    "job_ends": _describe_job,
    "process_exits": _describe_process,
    "oom_kills": _describe_oom_kill,
}


def _advice_on_exit(how: str) -> str:
    """The most common cause of a way to end, as advice."""
    if how.endswith((" 9", " 137")) or how == "Killed":
        return (
            "It was killed: by the kernel where memory ran out (see its log), by the launcher once another"
            " process had failed, or by the scheduler. Look for the process that ended first."
        )
    if how.endswith((" 11", " 139", " 6", " 134")) or "fault" in how or "Abort" in how:
        return "It crashed: look for a core dump, NCCL's last lines and the kernel's XID errors of that time."
    if how.endswith((" 15", " 143")) or how == "Terminated":
        return "It was asked to end: by the scheduler, or by the launcher once another process had failed."
    return "Look for its traceback: the first process that failed shows the cause."
