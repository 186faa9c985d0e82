"""What SLURM says of a job as settings, `slurm.*`, whichever of its tools says it."""

from __future__ import annotations

import re
from collections.abc import Mapping

from holter.ingest.slurm.hostlist import expand
from holter.types import ConfigValue

_LONGEST = 2000
_NAMES = {
    "job_id": ("JOB_ID", "JOBID", "JobId", "JobID", "jobid", "job_id"),
    "job_name": ("JOB_NAME", "JobName", "NAME", "name"),
    "nodes": ("JOB_NODELIST", "NODELIST", "NodeList", "NODELIST(REASON)", "nodes"),
    "node_count": (
        "JOB_NUM_NODES",
        "NNODES",
        "NumNodes",
        "NODES",
        "NNodes",
        "allocation_nodes",
        "node_count",
    ),
    "tasks": ("NTASKS", "NPROCS", "NumTasks", "NTasks", "tasks"),
    "tasks_per_node": ("NTASKS_PER_NODE", "TASKS_PER_NODE"),
    "gpus_per_node": ("GPUS_PER_NODE", "GPUS_ON_NODE"),
    "cpus_per_task": ("CPUS_PER_TASK", "CPUs/Task", "cpus_per_task"),
    "restart_count": ("RESTART_COUNT", "Restarts", "restart_cnt"),
    "partition": ("JOB_PARTITION", "Partition", "PARTITION", "partition"),
    "cluster": ("CLUSTER_NAME", "Cluster", "cluster"),
    "array_job_id": ("ARRAY_JOB_ID", "ArrayJobId"),
    "array_task_id": ("ARRAY_TASK_ID", "ArrayTaskId"),
    "state": ("JobState", "State", "STATE", "ST", "job_state"),
    "reason": ("Reason", "state_reason"),
    "exit_code": ("ExitCode", "EXIT_CODE"),
    "time_limit": ("TimeLimit", "Timelimit", "TIME_LIMIT"),
    "requeue": ("Requeue",),
}
_SETTING = {name: setting for setting, names in _NAMES.items() for name in names}
_ABSENT = frozenset({"", "None", "(null)", "N/A", "Unknown", "None assigned", "NONE"})
STATES = {
    "CA": "CANCELLED",
    "CD": "COMPLETED",
    "CG": "COMPLETING",
    "F": "FAILED",
    "BF": "BOOT_FAIL",
    "DL": "DEADLINE",
    "NF": "NODE_FAIL",
    "OOM": "OUT_OF_MEMORY",
    "PD": "PENDING",
    "PR": "PREEMPTED",
    "R": "RUNNING",
    "RQ": "REQUEUED",
    "S": "SUSPENDED",
    "TO": "TIMEOUT",
}
"""States by squeue's short words."""
ENDED_BADLY = frozenset(
    {"CANCELLED", "FAILED", "BOOT_FAIL", "DEADLINE", "NODE_FAIL", "OUT_OF_MEMORY", "PREEMPTED", "TIMEOUT"}
)
ENDED = ENDED_BADLY | {"COMPLETED"}


def setting_of(name: str, text: str) -> tuple[str, ConfigValue] | None:
    """The setting that a field of SLURM's gives; None for what is none, or says nothing."""
    setting = _SETTING.get(name)
    value = text.strip()
    if setting is None or value in _ABSENT or len(value) > _LONGEST:
        return None
    if setting == "state":
        return "slurm.state", state_of(value)
    if setting == "nodes":
        return _nodes(value)
    if setting in ("node_count", "tasks", "restart_count", "requeue", "cpus_per_task"):
        return (f"slurm.{setting}", int(value)) if re.fullmatch(r"\d{1,9}", value) else None
    return f"slurm.{setting}", value


def _nodes(value: str) -> tuple[str, ConfigValue] | None:
    """A node list written out; as it is where that is too long to read."""
    if value.startswith("("):  # squeue gives the reason here while a job waits
        return None
    try:
        names = ",".join(expand(value))
    except ValueError:
        return None
    return "slurm.nodes", names if len(names) <= _LONGEST else value


def state_of(text: str) -> str:
    """A state in SLURM's long word: "CANCELLED by 1000", "CANCELLED+" and "CA" are CANCELLED."""
    word = re.split(r"[ +,(]", text.strip(), maxsplit=1)[0].upper()
    return STATES.get(word, word)[:40]


def settings_of(fields: Mapping[str, str]) -> dict[str, ConfigValue]:
    """The settings that fields of SLURM's give."""
    found: dict[str, ConfigValue] = {}
    for name, text in fields.items():
        said = setting_of(name, text)
        if said is not None:
            found.setdefault(*said)
    return found
