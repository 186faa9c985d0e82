"""A job's settings `slurm.*` from the fields of any of SLURM's tools, and SLURM's node lists.

Node lists are parsed by own code: python-hostlist is licensed under the GPL and has no ranges with a step
(`n[1-9:2]`).
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from itertools import product

from holter.types import ConfigValue

MAX_NODES = 16_384
"""Nodes of a list; the largest machine has fewer."""
_MAX_LIST_LENGTH = 100_000
_BRACKETS = re.compile(r"\[([^\[\]]*)\]")
_RANGE = re.compile(r"(\d{1,10})(?:-(\d{1,10}))?(?::(\d{1,6}))?")
_MAX_VALUE_LENGTH = 2000
_FIELDS = {
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
_SETTING_NAMES = {name: setting for setting, names in _FIELDS.items() for name in names}
_ABSENT = frozenset({"", "None", "(null)", "N/A", "Unknown", "None assigned", "NONE"})
STATE_CODES = {
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
"""States by squeue's codes."""
FAILED_STATES = frozenset(
    {"CANCELLED", "FAILED", "BOOT_FAIL", "DEADLINE", "NODE_FAIL", "OUT_OF_MEMORY", "PREEMPTED", "TIMEOUT"}
)
FINAL_STATES = FAILED_STATES | {"COMPLETED"}


def parse_setting(name: str, text: str) -> tuple[str, ConfigValue] | None:
    """The name and value of the setting that a field states; None for an unknown or empty field."""
    setting = _SETTING_NAMES.get(name)
    value = text.strip()
    if setting is None or value in _ABSENT or len(value) > _MAX_VALUE_LENGTH:
        return None
    if setting == "state":
        return "slurm.state", normalize_state(value)
    if setting == "nodes":
        return _nodes(value)
    if setting in ("node_count", "tasks", "restart_count", "requeue", "cpus_per_task"):
        return (f"slurm.{setting}", int(value)) if re.fullmatch(r"\d{1,9}", value) else None
    return f"slurm.{setting}", value


def _nodes(value: str) -> tuple[str, ConfigValue] | None:
    """The expanded node list, or the list as written if the expanded one is too long."""
    if value.startswith("("):  # squeue shows the reason here while a job is pending
        return None
    try:
        names = ",".join(expand_node_list(value))
    except ValueError:
        return None
    return "slurm.nodes", names if len(names) <= _MAX_VALUE_LENGTH else value


def normalize_state(text: str) -> str:
    """SLURM's full name of a state: "CANCELLED by 1000", "CANCELLED+" and "CA" are CANCELLED."""
    word = re.split(r"[ +,(]", text.strip(), maxsplit=1)[0].upper()
    return STATE_CODES.get(word, word)[:40]


def parse_settings(fields: Mapping[str, str]) -> dict[str, ConfigValue]:
    """The settings that a tool's fields state; of several fields for one setting the first counts."""
    settings: dict[str, ConfigValue] = {}
    for name, text in fields.items():
        setting = parse_setting(name, text)
        if setting is not None:
            settings.setdefault(*setting)
    return settings


def expand_node_list(text: str) -> list[str]:
    """The nodes of a list in its order: `n[1-3,7]` is n1, n2, n3 and n7.

    Raises ValueError for text that is no node list, or one of more than `MAX_NODES`.
    """
    if len(text) > _MAX_LIST_LENGTH:
        raise ValueError(f"expected a node list of at most {_MAX_LIST_LENGTH} characters")
    nodes: list[str] = []
    for name in _split_names(text.strip()):
        parts = _BRACKETS.split(name)
        choices = [_expand_ranges(part) if index % 2 else [part] for index, part in enumerate(parts)]
        size = 1
        for choice in choices:
            size *= len(choice)
        if len(nodes) + size > MAX_NODES:
            raise ValueError(f"expected at most {MAX_NODES} nodes, found more in {text[:60]!r}")
        nodes += ["".join(combination) for combination in product(*choices)]
    return nodes


def _split_names(text: str) -> list[str]:
    """The names between commas outside brackets."""
    if not re.fullmatch(r"[\w.,:\[\]-]+", text):
        raise ValueError(f"expected a node list such as n[1-3,7], found {text[:60]!r}")
    names, depth, begin = [], 0, 0
    for index, char in enumerate(text):
        depth += (char == "[") - (char == "]")
        if depth not in (0, 1):
            raise ValueError(f"expected brackets in pairs, found {text[:60]!r}")
        if char == "," and not depth:
            names.append(text[begin:index])
            begin = index + 1
    if depth:
        raise ValueError(f"expected brackets in pairs, found {text[:60]!r}")
    return [name for name in (*names, text[begin:]) if name]


def _expand_ranges(part: str) -> list[str]:
    """The numbers of `1-3,007`, zero-padded to the width of the first; `1-9:2` is a range with a step."""
    expanded: list[str] = []
    for piece in part.split(","):
        numbers = _RANGE.fullmatch(piece)
        if numbers is None:
            raise ValueError(f"expected numbers such as 1-3, found {piece[:40]!r}")
        first, last, step = int(numbers[1]), int(numbers[2] or numbers[1]), int(numbers[3] or 1)
        if last < first or not step or (last - first) // step >= MAX_NODES:
            raise ValueError(f"expected a range of at most {MAX_NODES} numbers, found {piece[:40]!r}")
        expanded += [str(number).zfill(len(numbers[1])) for number in range(first, last + 1, step)]
    return expanded
