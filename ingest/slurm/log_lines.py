"""Lines of slurmstepd, srun and torch's launcher in what a job prints: how it ended, and its environment."""

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
from holter.ingest.slurm.settings import setting_of
from holter.ingest.telemetry.kernel_lines import said

_CANCELLED = re.compile(
    r"slurmstepd(?:-\S+)?: error: \*\*\* (?:JOB|STEP) (\d{1,12})(?:\.\S+)? ON (\S{1,100})"
    r" (?:CANCELLED|FAILED) AT (\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d)(?: DUE TO ([A-Z ]{1,40}?))?(?:,| \*\*\*|$)"
)
_WHY = {
    "TIME LIMIT": "TIMEOUT",
    "PREEMPTION": "PREEMPTED",
    "NODE FAILURE": "NODE_FAIL",
    "JOB REQUEUE": "REQUEUED",
    "TASK FAILURE": "FAILED",
}
_OOM = re.compile(
    r"slurmstepd(?:-\S+)?: error: Detected \d{1,9} oom[_-]kill events? in (?:StepId|step)[= ](\d{1,12})"
)
_TASK = re.compile(
    r"srun: error: (\S{1,100}): tasks? ([\d,\[\]-]{1,200}): "
    r"(Exited with exit code \d{1,4}|[A-Z][A-Za-z ]{2,40})"
)
_NODE = re.compile(r"srun: error: Node failure on (\S{1,200})")
_ELASTIC = re.compile(r"failed \(exitcode: (-?\d{1,5})\) local_rank: (\d{1,5}) \(pid: \d+\)")
_FIELD = re.compile(r"^\s{1,8}(host|rank|exitcode)\s+: (\S{1,100})")
_VARIABLE = re.compile(
    r"^(?:export |declare -x )?SLURM_([A-Z_]{3,40})=(?:\"([^\"]*)\"|'([^']*)'|([^\"'].*)?)$"
)


def _ended(line: str, memory: DialectState) -> LineValues | None:
    found = _CANCELLED.search(line)
    if found is not None:
        job, node, at, why = found.groups()
        state = _WHY.get((why or "").strip(), "CANCELLED")
        return said(line, memory, 0, "job_ends", at=at, state=state, job=job, host=node)
    found = _OOM.search(line)
    if found is None:
        return None
    return said(line, memory, found.start(), "job_ends", state="OUT_OF_MEMORY", job=found[1])


def _task(line: str, memory: DialectState) -> LineValues | None:
    found = _TASK.search(line)
    if found is not None:
        return said(
            line, memory, found.start(), "process_exits", host=found[1], task=found[2], how=found[3].strip()
        )
    found = _NODE.search(line)
    if found is None:
        return None
    return said(line, memory, found.start(), "job_ends", state="NODE_FAIL", host=found[1])


def _elastic(line: str, memory: DialectState) -> LineValues | None:
    found = _ELASTIC.search(line)
    if found is None:
        return None
    return said(line, memory, found.start(), "process_exits", local_rank=found[2], how=_how(found[1]))


def _block(line: str, memory: DialectState) -> LineValues | None:
    """torch's table of failures: `host`, `rank`, then `exitcode`, a line each."""
    found = _FIELD.match(line)
    if found is None:
        return None
    if found[1] != "exitcode":
        memory[f"failure {found[1]}"] = found[2]
        return None
    host, rank = memory.pop("failure host", None), memory.pop("failure rank", None)
    if rank is None:
        return None
    return said(line, memory, 0, "process_exits", host=host, rank=rank, how=_how(found[2]))


def _how(code: str) -> str:
    return f"signal {code[1:]}" if code.startswith("-") else f"exit code {code}"


def _variable(line: str, memory: DialectState) -> LineSettings | None:
    """`SLURM_JOB_ID=123`, from `env`, `export -p` or `declare -p`."""
    found = _VARIABLE.match(line.strip())
    if found is None:
        return None
    setting = setting_of(found[1], found[2] or found[3] or found[4] or "")
    return None if setting is None else LineSettings(dict([setting]))


def _kind(mark: bytes, read: Callable[[str, DialectState], LineResult], *, whole: bool = False) -> LineKind:
    return LineKind(mark=re.compile(re.escape(mark)), read=read, aside=True, whole=whole)


DIALECT = ConsoleDialect(
    name="slurm",
    tell=re.compile(
        rb"slurmstepd\S*: error: (?:\*\*\* (?:JOB|STEP) |Detected \d+ oom)"
        rb"|srun: error: (?:\S+: tasks? \d|Node failure)"
        rb"|^(?:export |declare -x )?SLURM_JOB_?ID=\"?\d",
        re.MULTILINE,
    ),
    kinds=(
        _kind(b"slurmstepd", _ended, whole=True),
        _kind(b"srun: error: ", _task, whole=True),
        _kind(b"failed (exitcode: ", _elastic, whole=True),
        _kind(b"host      : ", _block),
        _kind(b"rank      : ", _block),
        _kind(b"exitcode  : ", _block),
        replace(_kind(b"SLURM_", _variable), states=True),
    ),
)
"""Lines of SLURM and of launchers: in what jobs print, or alone where a job printed nothing else."""
