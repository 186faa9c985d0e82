"""Time-outs of PyTorch's ProcessGroupNCCL: how far each rank's collectives had come when one never ended."""

from __future__ import annotations

import re

from holter.ingest.communication.labels import SEQUENCE, series_labels
from holter.ingest.console.dialect import DialectState, LineKind, LineValues
from holter.ingest.step_columns import LARGEST_STEP

_PRINTER = re.compile(r"\[rank(\d{1,7})\]:")
_IN_GROUP = re.compile(
    r"\[(?:PG (?:ID )?(?P<number>\d{1,9}) )?(?:PG GUID (?P<guid>[^\]]{1,150}?) )?Rank (?P<rank>\d{1,7})\]"
)
_WORK = re.compile(
    r"WorkNCCL\(SeqNum=(?P<seq>\d{1,18}), OpType=(?P<op>\w{1,40}).*?\) ran for (?P<ms>\d{1,15}) milliseconds"
)
_AT_WORK = re.compile(
    r"(?:detected by watchdog at work|Timeout at (?:NCCL work|collective)): (?P<seq>\d{1,18})"
)
_LAST = re.compile(r"last (enqueued|started|completed)(?: NCCL)? work: (-?\d{1,18})")


def _timeout(line: str, state: DialectState) -> LineValues | None:
    """The collective that did not end, or how far the rank had come. Their stamps have no year: no time."""
    work = _WORK.search(line)
    if work is not None:
        values = {"nccl_timeouts": 1.0, "collective_waited (ms)": float(work["ms"])}
        return _said(int(work["seq"]), values, line, collective=work["op"])
    match = _AT_WORK.search(line)
    numbers = {which: int(number) for which, number in _LAST.findall(line)}
    if match is None or not numbers:
        return None
    most = numbers.get("enqueued", LARGEST_STEP)
    values = {
        f"last_{which}_collective": float(number) for which, number in numbers.items() if -1 <= number <= most
    }
    return _said(int(match["seq"]), values, line)


def _said(step: int, values: dict[str, float], line: str, **more: str) -> LineValues | None:
    if step > LARGEST_STEP:
        return None
    printers, groups = _PRINTER.findall(line), list(_IN_GROUP.finditer(line))
    group = groups[-1] if groups else None
    # the rank in brackets counts within the group, torch's prefix within the job
    rank = printers[-1] if printers else group["rank"] if group else None
    named = (group["guid"] or group["number"]) if group else None
    return LineValues(step, values, labels=series_labels(SEQUENCE, rank=rank, process_group=named, **more))


KINDS = (LineKind(pattern=re.compile(rb"ProcessGroupNCCL\.cpp:\d"), parse=_timeout),)
