"""Removes what stands before the message of a line: a rank, a task, a time, a logger's parts, colours."""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import datetime
from functools import lru_cache
from typing import NamedTuple

from holter.ingest.console.text.logger_prefixes import LOGGER
from holter.ingest.text_encoding import decode_line
from holter.types import Labels

_NO_TIME = float("nan")
_COLOUR = r"\x1b\[[0-9;?]*[ -/]*[@-~]"
COLOUR = re.compile(_COLOUR)
_COLOUR_BYTES = re.compile(_COLOUR.encode())
_LAUNCHER = (
    rb"\s*(?P<task>\d{1,5}): "  # srun --label
    rb"|\s*\[(?P<word>[a-z_]*)(?P<number>\d{1,6})\]:\s?"  # torchrun --tee, torch's own
    rb"|[\w-]+/\d+ \[(?P<role>[a-z_]+)(?P<local>\d{1,6})\]:\s?"  # NeMo-Run, torchx
    # mpirun, SageMaker, and horovodrun, which may print the time before it
    rb"|(?:[A-Z][a-z]{2} [A-Z][a-z]{2} [ \d]\d \d\d:\d\d:\d\d \d{4})?"
    rb"\[(?:\d{1,6},)?(?:mpirank:)?(?P<mpi>\d{1,6})(?:,[\w-]{1,60})?\]<std(?:out|err)>: ?"
    rb"|\([\w-]{1,100}, rank=(?P<sky>\d{1,6}), pid=\d{1,10}(?:, ip=\S{1,60})?\) "  # SkyPilot
    rb"|\(\S{1,100} pid=(?P<pid>\d{1,10})(?:, ip=\S{1,60})?\) "  # Ray
    # docker compose, its first version, SageMaker's local mode, honcho and foreman
    rb"|(?P<container>[A-Za-z][\w.-]{0,100}-\d{1,5}) {1,60}\| "
    rb"|(?:\d\d:\d\d:\d\d )?(?P<service>[A-Za-z][\w-]{0,100}[_.]\d{1,5}|algo-\d{1,4}-[a-z0-9]{5}) {2,60}\| ?"
    # journalctl and syslog, with the name and the number of the process
    rb"|(?:[A-Z][a-z]{2} [ \d]\d \d\d:\d\d:\d\d|\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d{1,9})?[+-]\d\d:?\d\d)"
    rb" (?P<machine>[\w.-]{1,100}) [A-Za-z][\w./-]{0,60}\[\d{1,10}\]: "
    # stern: the name of a pod, which ends in a number or a hash, and that of its container
    rb"|(?P<stern>[a-z0-9]{1,60}+(?:-[a-z0-9]{1,60}+){1,12}-(?:\d{1,4}|[a-z0-9]{5})) "
    rb"(?!(?:train|training|val|valid|validation|test|eval|evaluation|epoch|step|iter|iteration|loss|batch) )"
    rb"[a-z][a-z0-9-]{0,60} "
    rb"(?=\d{4}-\d\d-\d\d|\W{0,9}(?i:epoch|step|iter|train|val|eval|loss|batch|global)|[\[{(])"
    # pdsh, whose prefix is a host's name: not the name of a number, nor one of the trainings of a program
    rb"|(?P<host>(?!(?:top|acc|loss|step|epoch|iter|layer|gpu|rank|it|ep|p|r"
    rb"|fold|trial|seed|split|subject|client|agent|model|task|experiment|exp|run|repetition|repeat)[_@-]?\d)"
    rb"[a-z][a-z0-9.-]{0,60}\d): (?=[A-Za-z_\x80-\xff]|[\[(]|\d{4}-)"
    # what a program prints itself before what it measures: `[GPU3] Epoch 1`, `Rank 3, step 10`, and of one
    # that only closes the bracket `P3] Epoch 1`, `Rank3 10:00:00.5] Epoch 1`
    rb"|\[?(?:(?:GPU|gpu|[Rr]ank|RANK|[Pp]roc(?:ess)?) ?[:=]? ?|(?<!\[)P(?=\d{1,6}\]))(?P<own>\d{1,6})"
    rb"(?: \d\d:\d\d:\d\d(?:[.,]\d{1,9})?(?=\]))?\]?(?: ?[:,|-])? "
    rb"(?=\W{0,9}(?i:epoch|step|iter|train|val|eval|loss|batch|global))"
    # pdsh with addresses instead of names
    rb"|(?P<address>\d{1,3}\.\d{1,3}\.\d{1,3}\.\d{1,3}): (?=[A-Za-z_\x80-\xff]|[\[(]|\d{4}-)"
    # the job and the step of GitHub Actions
    rb"|[^\t\n]{1,100}+\t[^\t\n]{1,100}+\t(?=(?:\xef\xbb\xbf)?\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{1,9}Z )"
    rb"|\[pod/(?P<pod>[\w.-]{1,253})/[\w.-]{1,253}\] ?"  # kubectl logs --prefix
    # kubectl and docker logs --timestamps, logs of container runtimes
    rb"|(?P<stamp>\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d)(?P<part>\.\d{1,9})?(?P<zone>Z|[+-]\d\d:\d\d)"
    rb" (?:std(?:out|err) [FP] )?"
)
"""What a launcher puts before a line."""
_PREFIX = re.compile(_LAUNCHER)
_LOGGERS = re.compile(rb"(?:" + LOGGER + rb"){0,2}+")
"""What one or two loggers print: one may get the lines of another program."""
_WITHOUT_GROUPS = re.sub(rb"\(\?P<\w+>", b"(?:", _LAUNCHER)
_ALL_PREFIXES = re.compile(rb"((?:" + _WITHOUT_GROUPS + rb")*+)(?:" + LOGGER + rb"){0,2}+")
DIGITS_AS_ZEROS = bytes.maketrans(b"123456789", b"000000000")
"""Makes lines the same that differ in their digits alone."""
_LONGEST_KNOWN = 400
_MOST_KNOWN = 4096
_known_ends: dict[bytes, tuple[int, int]] = {}
"""Where prefixes end in lines that were looked at, by these lines with zeros for their digits."""
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
    `logged` is the part of the text that its logger printed before the message.
    """

    text: str
    labels: Labels
    time: float = float("nan")
    prefix: str = ""
    stamp: tuple[int, int, int] | None = None
    logged: str = ""

    @property
    def message(self) -> str:
        """The line without what its logger printed before it."""
        return self.text[len(self.logged) :]


def strip_prefixes(line: bytes) -> CleanLine:
    """Remove colours and prefixes from a line; of several ranks in them, the innermost counts."""
    if b"\x1b" in line:
        line = without_colours(line)
    position, labels, time, stamp = 0, Labels(), _NO_TIME, None
    while (match := _PREFIX.match(line, position)) is not None:
        labels = _labels(match, labels)
        if match["stamp"] is not None:
            second, fraction, zone = (match[part] or b"" for part in ("stamp", "part", "zone"))
            time = parse_stamp(second.decode(), fraction.decode(), zone.decode())
            stamp = match.start("stamp"), match.start("zone"), match.end("zone")
        position = match.end()
    logged = decode_line(logger[0]) if (logger := _LOGGERS.match(line, position)) is not None else ""
    text = decode_line(line[position:] if position else line)
    return CleanLine(text, labels, time, decode_line(line[:position]), stamp, logged)


def without_colours(text: bytes) -> bytes:
    """A text without the colours of a terminal."""
    return _COLOUR_BYTES.sub(b"", text)


def ends_of_prefixes(text: bytes, lines: Sequence[bytes]) -> list[tuple[int, int]]:
    """Where what launchers put before each line of a text ends, and what loggers did; there are no colours.

    Which digits are in a line does not matter for that.
    """
    known = _known_ends.get
    alike = text.translate(DIGITS_AS_ZEROS).split(b"\n")
    return [known(zeros) or _find_ends(line, zeros) for line, zeros in zip(lines, alike, strict=True)]


def _find_ends(line: bytes, alike: bytes) -> tuple[int, int]:
    match = _ALL_PREFIXES.match(line)
    ends = (0, 0) if match is None else (match.end(1), match.end())
    if len(line) <= _LONGEST_KNOWN:
        if len(_known_ends) >= _MOST_KNOWN:
            _known_ends.clear()
        _known_ends[alike] = ends
    return ends


def message_of(line: bytes) -> bytes:
    """The message of a line, without colours and all that stands before it."""
    plain = without_colours(line)
    _, end = _find_ends(plain, plain.translate(DIGITS_AS_ZEROS))
    return plain[end:]


def parse_stamp(second: str, fraction: str, zone: str) -> float:
    """Unix seconds of a date and time `2026-08-22T10:00:00`, NaN if there is no such time."""
    seconds = int(second[17:])
    return (_minute(second[:16], zone) + seconds if seconds < 60 else _NO_TIME) + float(fraction or 0)


def _labels(prefix: re.Match[bytes], before: Labels) -> Labels:
    """The labels in a prefix, which replace those of earlier prefixes; pods number their own ranks."""
    pod = [label for label in before if label[0] == "pod"]
    if (name_of_pod := prefix["pod"] or prefix["stern"]) is not None:
        return (("pod", name_of_pod.decode()),)
    for name in ("task", "mpi", "sky", "own"):
        if (rank := prefix[name]) is not None:
            return (("rank", str(int(rank))),)
    for group, name in _PROCESSES.items():
        if (process := prefix[group]) is not None:
            return ((name, process.decode("utf-8", "replace")),)
    if (number := prefix["number"]) is not None:
        # torchrun numbers the processes of a node, torch's own prefix those of the job
        rank = "rank" if prefix["word"] == b"rank" else "local_rank"
        return ((rank, str(int(number))), *(pod if rank == "local_rank" else ()))
    if (local := prefix["local"]) is not None:
        return (("local_rank", str(int(local))), *pod)
    return before


@lru_cache(maxsize=1024)
def _minute(minute: str, zone: str) -> float:
    try:
        return datetime.fromisoformat(minute + zone).timestamp()
    except (ValueError, OverflowError):
        return _NO_TIME
