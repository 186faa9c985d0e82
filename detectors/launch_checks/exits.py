"""How launches ended, as the scheduler, launchers and kernels say it, and what to do about each way."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from holter.detectors.detector import DetectorContext
from holter.detectors.wall_clock import RunClock, format_wall_time, run_clock
from holter.types import Diagnostic, RunData, Series, Severity

_ENDS = {
    "NODE_FAIL": "Exclude the node when you submit again (--exclude=NODE), and have it looked at.",
    "OUT_OF_MEMORY": "Ask for more memory (--mem), or use less: fewer data workers, smaller shuffle buffers.",
    "TIMEOUT": "Save a checkpoint before the limit (--signal=B:USR1@300), and submit the next job as a"
    " dependency, or ask for more time (--time).",
    "PREEMPTED": "Save checkpoints often enough, and let the job be requeued (--requeue).",
    "CANCELLED": "Somebody, or the job itself, cancelled it: the scheduler's log says who.",
    "FAILED": "The first process that failed says why: look for its traceback.",
    "BOOT_FAIL": "Exclude the node when you submit again (--exclude=NODE), and have it looked at.",
    "DEADLINE": "Submit it with a later deadline.",
    "REQUEUED": "The job was put back into the queue: it will be launched again.",
}
_WARNING = frozenset({"NODE_FAIL", "OUT_OF_MEMORY", "TIMEOUT", "FAILED", "BOOT_FAIL", "DEADLINE"})


@dataclass(frozen=True)
class LaunchEndingsCheck:
    """Remarks on launches that did not come to their own end."""

    name: ClassVar[str] = "endings"

    def check(self, run: RunData, context: DetectorContext) -> Iterable[Diagnostic]:
        """A remark per launch and way it ended, per process that ended badly, per program out of memory."""
        said = [key for key in run.series if key.metric in _WORDS]
        clock = run_clock(_training(run)) if said else None
        told: set[tuple[str, int, str]] = set()
        for key in sorted(said):
            series = run.series[key]
            for row in _rows(series, clock):
                remark = _remark(series, row, clock)
                checkpoint = (remark.code, remark.attempt, remark.summary)
                if checkpoint not in told:
                    told.add(checkpoint)
                    yield remark


def _training(run: RunData) -> RunData:
    """The run with one series of training, which tells its clock: others need not be read."""
    keys = sorted(key for key in run.series if key.step_unit is None)
    for key in [key for key in keys if "loss" in key.metric.lower()] + keys:
        series = run.series[key]
        if np.isfinite(series.time).any():
            return RunData(series={key: series})
    return RunData(series={})


def _rows(series: Series, clock: RunClock | None) -> Iterable[int]:
    """The rows that concern the run: kernels and schedulers tell of others as well."""
    for row in range(min(len(series), 1000)):
        moment = float(series.time[row])
        if (
            clock is None
            or not np.isfinite(moment)
            or clock.time[0] - 3600 <= moment <= clock.time[-1] + 3600
        ):
            yield row


def _remark(series: Series, row: int, clock: RunClock | None) -> Diagnostic:
    moment, attempt = float(series.time[row]), int(series.attempt[row])
    if clock is not None and np.isfinite(moment):
        attempt = clock.at(moment)[0]
    labels = {name: value for name, value in series.key.labels if name != "steps"}
    at = f" at {format_wall_time(moment)}" if np.isfinite(moment) else ""
    on = f" on {labels['host']}" if "host" in labels else ""
    code, severity, summary, advice = _WORDS[series.key.metric](labels, f"{on}{at}")
    return Diagnostic(
        code=code, attempt=attempt, severity=severity, summary=summary, advice=advice, evidence=labels
    )


_Said = tuple[str, Severity, str, str]
"""Code, severity, summary and advice."""


def _job(labels: Mapping[str, str], place: str) -> _Said:
    state = labels.get("state", "")
    job = f" (job {labels['job']})" if "job" in labels else ""
    if state == "COMPLETED":
        return "launch-ended", Severity.INFO, f"The launch came to its end{place}{job}.", ""
    severity = Severity.WARNING if state in _WARNING else Severity.INFO
    advice = _ENDS.get(state, "The scheduler's log says why.").replace("NODE", labels.get("host", "NODE"))
    return "launch-ended", severity, f"The launch was ended by {state}{place}{job}.", advice


def _process(labels: Mapping[str, str], place: str) -> _Said:
    who = next((f" ({name} {labels[name]})" for name in ("rank", "local_rank", "task") if name in labels), "")
    how = labels.get("how", "unknown")
    return "process-failed", Severity.WARNING, f"A process{who}{place} ended badly: {how}.", _of_exit(how)


def _memory(labels: Mapping[str, str], place: str) -> _Said:
    process = labels.get("process", "a process")
    summary = f"The kernel killed {process}{place}: memory ran out."
    return "out-of-memory", Severity.WARNING, summary, _ENDS["OUT_OF_MEMORY"]


_WORDS: Mapping[str, Callable[[Mapping[str, str], str], _Said]] = {
    "job_ends": _job,
    "process_exits": _process,
    "oom_kills": _memory,
}


def _of_exit(how: str) -> str:
    """What a way to end mostly comes from."""
    if how.endswith((" 9", " 137")) or how == "Killed":
        return (
            "It was killed: by the kernel where memory ran out (see its log), by the launcher once another"
            " process had failed, or by the scheduler. Look for the process that ended first."
        )
    if how.endswith((" 11", " 139", " 6", " 134")) or "fault" in how or "Abort" in how:
        return "It crashed: look for a core dump, NCCL's last lines and the kernel's XID errors of then."
    if how.endswith((" 15", " 143")) or how == "Terminated":
        return "It was told to end: by the scheduler, or by the launcher once another process had failed."
    return "Look for its traceback: the first process that failed says why."
