"""What launchers put before a line: a rank, a task, colours of the terminal."""

from __future__ import annotations

import re
from typing import NamedTuple

from holter.types import Labels

_COLOUR = re.compile(r"\x1b\[[0-9;?]*[ -/]*[@-~]")
# srun --label | torchrun --tee and torch's log prefix | NeMo-Run, torchx | Ray
_PREFIX = re.compile(
    r"\s*(?P<task>\d{1,5}): "
    r"|\s*\[(?P<word>[a-z_]*)(?P<number>\d{1,6})\]:\s?"
    r"|[\w-]+/\d+ \[(?P<role>[a-z_]+)(?P<local>\d{1,6})\]:\s?"
    r"|\(\S{1,100} pid=\d+(?:, ip=\S+)?\) "
)


class Clean(NamedTuple):
    """A line as the program printed it, and the labels that its launcher's prefixes give it."""

    text: str
    labels: Labels


def clean(line: bytes) -> Clean:
    """Take colours and prefixes off a line; of several ranks named, the innermost is the line's."""
    text = line.decode("utf-8", "replace")
    if "\x1b" in text:
        text = _COLOUR.sub("", text)
    at, labels = 0, Labels()
    while (found := _PREFIX.match(text, at)) is not None:
        labels = _labels(found) or labels
        at = found.end()
    return Clean(text[at:], labels)


def _labels(prefix: re.Match[str]) -> Labels:
    if (task := prefix["task"]) is not None:
        return (("rank", str(int(task))),)
    if (number := prefix["number"]) is not None:
        # torchrun numbers the processes of a node, torch's own prefix those of the job
        return (("rank" if prefix["word"] == "rank" else "local_rank", str(int(number))),)
    if (local := prefix["local"]) is not None:
        return (("local_rank", str(int(local))),)
    return ()
