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
    match = _CANCELLED.search(line)
    if match is not None:
        job, node, at, why = match.groups()
        state = _WHY.get((why or "").strip(), "CANCELLED")
        return said(line, memory, 0, "job_ends", at=at, state=state, job=job, host=node)
    match = _OOM.search(line)
    if match is None:
        return None
    return said(line, memory, match.start(), "job_ends", state="OUT_OF_MEMORY", job=match[1])


def _task(line: str, memory: DialectState) -> LineValues | None:
    match = _TASK.search(line)
    if match is not None:
        return said(
            line, memory, match.start(), "process_exits", host=match[1], task=match[2], how=match[3].strip()
        )
    match = _NODE.search(line)
    if match is None:
        return None
    return said(line, memory, match.start(), "job_ends", state="NODE_FAIL", host=match[1])


def _elastic(line: str, memory: DialectState) -> LineValues | None:
    match = _ELASTIC.search(line)
    if match is None:
        return None
    return said(line, memory, match.start(), "process_exits", local_rank=match[2], how=_how(match[1]))


def _block(line: str, memory: DialectState) -> LineValues | None:
    """torch's table of failures: `host`, `rank`, then `exitcode`, a line each."""
    match = _FIELD.match(line)
    if match is None:
        return None
    if match[1] != "exitcode":
        memory[f"failure {match[1]}"] = match[2]
        return None
    host, rank = memory.pop("failure host", None), memory.pop("failure rank", None)
    if rank is None:
        return None
    return said(line, memory, 0, "process_exits", host=host, rank=rank, how=_how(match[2]))


def _how(code: str) -> str:
    return f"signal {code[1:]}" if code.startswith("-") else f"exit code {code}"


def _variable(line: str, memory: DialectState) -> LineSettings | None:
    """`SLURM_JOB_ID=123`, from `env`, `export -p` or `declare -p`."""
    match = _VARIABLE.match(line.strip())
    if match is None:
        return None
    setting = setting_of(match[1], match[2] or match[3] or match[4] or "")
    return None if setting is None else LineSettings(dict([setting]))


def _kind(
    mark: bytes, read: Callable[[str, DialectState], LineResult], *, with_prefixes: bool = False
) -> LineKind:
    return LineKind(
        pattern=re.compile(re.escape(mark)), parse=read, own_steps=True, with_prefixes=with_prefixes
    )


DIALECT = ConsoleDialect(
    name="slurm",
    signature=re.compile(
        rb"slurmstepd\S*: error: (?:\*\*\* (?:JOB|STEP) |Detected \d+ oom)"
        rb"|srun: error: (?:\S+: tasks? \d|Node failure)"
        rb"|^(?:export |declare -x )?SLURM_JOB_?ID=\"?\d",
        re.MULTILINE,
    ),
    kinds=(
        _kind(b"slurmstepd", _ended, with_prefixes=True),
        _kind(b"srun: error: ", _task, with_prefixes=True),
        _kind(b"failed (exitcode: ", _elastic, with_prefixes=True),
        _kind(b"host      : ", _block),
        _kind(b"rank      : ", _block),
        _kind(b"exitcode  : ", _block),
        replace(_kind(b"SLURM_", _variable), yields_settings=True),
    ),
)
"""Lines of SLURM and of launchers: in what jobs print, or alone where a job printed nothing else."""
