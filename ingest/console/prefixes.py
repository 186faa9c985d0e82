"""Removes what launchers put before a line: a rank, a task, a time, colours of the terminal."""

from __future__ import annotations

import re
from datetime import datetime
from functools import lru_cache
from typing import NamedTuple

from holter.ingest.text_encoding import decode_line
from holter.types import Labels

_NO_TIME = float("nan")
COLOUR = re.compile(r"\x1b\[[0-9;?]*[ -/]*[@-~]")
_PREFIX = re.compile(
    r"\s*(?P<task>\d{1,5}): "  # srun --label
    r"|\s*\[(?P<word>[a-z_]*)(?P<number>\d{1,6})\]:\s?"  # torchrun --tee, torch's own
    r"|[\w-]+/\d+ \[(?P<role>[a-z_]+)(?P<local>\d{1,6})\]:\s?"  # NeMo-Run, torchx
    # mpirun, SageMaker, and horovodrun, which may print the time before it
    r"|(?:[A-Z][a-z]{2} [A-Z][a-z]{2} [ \d]\d \d\d:\d\d:\d\d \d{4})?"
    r"\[(?:\d{1,6},)?(?:mpirank:)?(?P<mpi>\d{1,6})(?:,[\w-]{1,60})?\]<std(?:out|err)>: ?"
    r"|\([\w-]{1,100}, rank=(?P<sky>\d{1,6}), pid=\d{1,10}(?:, ip=\S{1,60})?\) "  # SkyPilot
    r"|\(\S{1,100} pid=(?P<pid>\d{1,10})(?:, ip=\S{1,60})?\) "  # Ray
    # docker compose, its first version, SageMaker's local mode, honcho and foreman
    r"|(?P<container>[A-Za-z][\w.-]{0,100}-\d{1,5}) {1,60}\| "
    r"|(?:\d\d:\d\d:\d\d )?(?P<service>[A-Za-z][\w-]{0,100}[_.]\d{1,5}|algo-\d{1,4}-[a-z0-9]{5}) {2,60}\| ?"
    # journalctl and syslog, with the name and the number of the process
    r"|(?:[A-Z][a-z]{2} [ \d]\d \d\d:\d\d:\d\d|\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d{1,9})?[+-]\d\d:?\d\d)"
    r" (?P<machine>[\w.-]{1,100}) [A-Za-z][\w./-]{0,60}\[\d{1,10}\]: "
    # stern: the name of a pod, which ends in a number or a hash, and that of its container
    r"|(?P<stern>[a-z0-9]{1,60}+(?:-[a-z0-9]{1,60}+){1,12}-(?:\d{1,4}|[a-z0-9]{5})) "
    r"(?!(?:train|training|val|valid|validation|test|eval|evaluation|epoch|step|iter|iteration|loss|batch) )"
    r"[a-z][a-z0-9-]{0,60} "
    r"(?=\d{4}-\d\d-\d\d|\W{0,3}(?i:epoch|step|iter|train|val|eval|loss|batch|global)|[\[{(])"
    # pdsh, whose prefix is a host's name: not the name of a number
    r"|(?P<host>(?!(?:top|acc|loss|step|epoch|iter|layer|gpu|rank|it|ep|p|r)[_@]?\d)"
    r"[a-z][a-z0-9.-]{0,60}\d): (?=[^\W\d]|[\[(【]|\d{4}-)"
    # what a program prints itself before what it measures: `[GPU3] Epoch 1`, `Rank 3, step 10`
    r"|\[?(?:GPU|gpu|[Rr]ank|RANK) ?[:=]? ?(?P<own>\d{1,6})\]?(?: ?[:,|-])? "
    r"(?=\W{0,3}(?i:epoch|step|iter|train|val|eval|loss|batch|global))"
    # pdsh with addresses instead of names
    r"|(?P<address>\d{1,3}\.\d{1,3}\.\d{1,3}\.\d{1,3}): (?=[^\W\d]|[\[(【]|\d{4}-)"
    # the job and the step of GitHub Actions
    r"|[^\t\n]{1,100}\t[^\t\n]{1,100}\t(?=\ufeff?\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{1,9}Z )"
    r"|\[pod/(?P<pod>[\w.-]{1,253})/[\w.-]{1,253}\] ?"  # kubectl logs --prefix
    # kubectl and docker logs --timestamps, logs of container runtimes
    r"|(?P<stamp>\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d)(?P<part>\.\d{1,9})?(?P<zone>Z|[+-]\d\d:\d\d)"
    r" (?:std(?:out|err) [FP] )?"
)
_PROCESSES = {
    "host": "host",
    "address": "host",
    "machine": "host",
    "pid": "pid",
    "container": "container",
    "service": "container",
}
"""Labels by the groups of prefixes that name a process."""


class CleanLine(NamedTuple):
    """A line as the program printed it, and the labels in the prefixes of its launcher.

    `time` is when it was printed, in Unix seconds, from a prefix; NaN without one. `prefix` is what was
    removed, without colours, and `stamp` where the time and its zone in it begin, and where that ends.
    """

    text: str
    labels: Labels
    time: float = float("nan")
    prefix: str = ""
    stamp: tuple[int, int, int] | None = None


def strip_prefixes(line: bytes) -> CleanLine:
    """Remove colours and prefixes from a line; of several ranks in them, the innermost counts."""
    text = decode_line(line)
    if "\x1b" in text:
        text = COLOUR.sub("", text)
    position, labels, time, stamp = 0, Labels(), _NO_TIME, None
    while (match := _PREFIX.match(text, position)) is not None:
        labels = _labels(match, labels)
        if match["stamp"] is not None:
            time = parse_stamp(match["stamp"], match["part"] or "", match["zone"])
            stamp = match.start("stamp"), match.start("zone"), match.end("zone")
        position = match.end()
    return CleanLine(text[position:], labels, time, text[:position], stamp)


def parse_stamp(second: str, fraction: str, zone: str) -> float:
    """Unix seconds of a date and time `2026-08-22T10:00:00`, NaN if there is no such time."""
    return _second(second, zone) + float(fraction or 0)


def _labels(prefix: re.Match[str], before: Labels) -> Labels:
    """The labels in a prefix, which replace those of earlier prefixes; pods number their own ranks."""
    pod = [label for label in before if label[0] == "pod"]
    if (name_of_pod := prefix["pod"] or prefix["stern"]) is not None:
        return (("pod", name_of_pod),)
    for name in ("task", "mpi", "sky", "own"):
        if (rank := prefix[name]) is not None:
            return (("rank", str(int(rank))),)
    for group, name in _PROCESSES.items():
        if (process := prefix[group]) is not None:
            return ((name, process),)
    if (number := prefix["number"]) is not None:
        # torchrun numbers the processes of a node, torch's own prefix those of the job
        rank = "rank" if prefix["word"] == "rank" else "local_rank"
        return ((rank, str(int(number))), *(pod if rank == "local_rank" else ()))
    if (local := prefix["local"]) is not None:
        return (("local_rank", str(int(local))), *pod)
    return before


@lru_cache(maxsize=1024)
def _second(stamp: str, zone: str) -> float:
    try:
        return datetime.fromisoformat(stamp + zone).timestamp()
    except (ValueError, OverflowError):
        return _NO_TIME
