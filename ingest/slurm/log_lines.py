"""Lines of slurmstepd, srun and torchrun in a job's output: how the job ended, and its environment."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace

from holter.ingest.console.dialect import (
    ConsoleDialect,
    DialectState,
    LineKind,
    LineResult,
    LineSettings,
    LineValues,
)
from holter.ingest.slurm.settings import parse_setting
from holter.ingest.telemetry.kernel_lines import count_event

_CANCELLED = re.compile(
    r"slurmstepd(?:-\S{1,100})?: error: \*\*\* (?:JOB|STEP) (\d{1,12})(?:\.\S{1,100})? ON (\S{1,100})"
    r" (?:CANCELLED|FAILED) AT (\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d)(?: DUE TO ([A-Z ]{1,40}?))?(?:,| \*\*\*|$)"
)
_STATES = {
    "TIME LIMIT": "TIMEOUT",
    "PREEMPTION": "PREEMPTED",
    "NODE FAILURE": "NODE_FAIL",
    "JOB REQUEUE": "REQUEUED",
    "TASK FAILURE": "FAILED",
}
_OUT_OF_MEMORY = re.compile(
    r"slurmstepd(?:-\S{1,100})?: error: Detected \d{1,9} oom[_-]kill events? in (?:StepId|step)[= ](\d{1,12})"
)
_TASK_EXIT = re.compile(
    r"srun: error: (\S{1,100}): tasks? ([\d,\[\]-]{1,200}): "
    r"(Exited with exit code \d{1,4}|[A-Z][A-Za-z ]{2,40})"
)
_NODE_FAILURE = re.compile(r"srun: error: Node failure on (\S{1,200})")
_TORCHRUN_FAILURE = re.compile(r"failed \(exitcode: (-?\d{1,5})\) local_rank: (\d{1,5}) \(pid: \d+\)")
_FAILURE_FIELD = re.compile(r"^\s{1,8}(host|rank|exitcode)\s+: (\S{1,100})")
_VARIABLE = re.compile(
    r"^(?:export |declare -x )?SLURM_([A-Z_]{3,40})=(?:\"([^\"]*)\"|'([^']*)'|([^\"'].*)?)$"
)


def _job_end(line: str, state: DialectState) -> LineValues | None:
    match = _CANCELLED.search(line)
    if match is not None:
        job, node, time, reason = match.groups()
        job_state = _STATES.get((reason or "").strip(), "CANCELLED")
        return count_event(line, state, 0, "job_ends", time_text=time, state=job_state, job=job, host=node)
    match = _OUT_OF_MEMORY.search(line)
    if match is None:
        return None
    return count_event(line, state, match.start(), "job_ends", state="OUT_OF_MEMORY", job=match[1])


def _task_exit(line: str, state: DialectState) -> LineValues | None:
    match = _TASK_EXIT.search(line)
    if match is not None:
        return count_event(
            line, state, match.start(), "process_exits", host=match[1], task=match[2], how=match[3].strip()
        )
    match = _NODE_FAILURE.search(line)
    if match is None:
        return None
    return count_event(line, state, match.start(), "job_ends", state="NODE_FAIL", host=match[1])


def _torchrun_failure(line: str, state: DialectState) -> LineValues | None:
    match = _TORCHRUN_FAILURE.search(line)
    if match is None:
        return None
    return count_event(
        line, state, match.start(), "process_exits", local_rank=match[2], how=_exit_reason(match[1])
    )


def _failure_field(line: str, state: DialectState) -> LineValues | None:
    """A line of torchrun's list of failures: `host`, `rank`, then `exitcode`, which completes an entry."""
    match = _FAILURE_FIELD.match(line)
    if match is None:
        return None
    if match[1] != "exitcode":
        state[f"failure {match[1]}"] = match[2]
        return None
    host, rank = state.pop("failure host", None), state.pop("failure rank", None)
    if rank is None:
        return None
    return count_event(line, state, 0, "process_exits", host=host, rank=rank, how=_exit_reason(match[2]))


def _exit_reason(code: str) -> str:
    return f"signal {code[1:]}" if code.startswith("-") else f"exit code {code}"


def _variable(line: str, state: DialectState) -> LineSettings | None:
    """A variable such as `SLURM_JOB_ID=123`, printed by `env`, `export -p` or `declare -p`."""
    match = _VARIABLE.match(line.strip())
    if match is None:
        return None
    setting = parse_setting(match[1], match[2] or match[3] or match[4] or "")
    return None if setting is None else LineSettings(dict([setting]))


def _kind(
    literal: bytes, parse: Callable[[str, DialectState], LineResult], *, with_prefixes: bool = False
) -> LineKind:
    return LineKind(
        pattern=re.compile(re.escape(literal)), parse=parse, own_steps=True, with_prefixes=with_prefixes
    )


DIALECT = ConsoleDialect(
    name="slurm",
    signature=re.compile(
        rb"slurmstepd\S{0,100}: error: (?:\*\*\* (?:JOB|STEP) |Detected \d+ oom)"
        rb"|srun: error: (?:\S{1,100}: tasks? \d|Node failure)"
        rb"|^(?:export |declare -x )?SLURM_JOB_?ID=\"?\d",
        re.MULTILINE,
    ),
    kinds=(
        _kind(b"slurmstepd", _job_end, with_prefixes=True),
        _kind(b"srun: error: ", _task_exit, with_prefixes=True),
        _kind(b"failed (exitcode: ", _torchrun_failure, with_prefixes=True),
        _kind(b"host      : ", _failure_field),
        _kind(b"rank      : ", _failure_field),
        _kind(b"exitcode  : ", _failure_field),
        replace(_kind(b"SLURM_", _variable), yields_settings=True),
    ),
)
"""Lines of SLURM and of launchers, within a job's output or in a file without other lines."""
