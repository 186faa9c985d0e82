"""Lines of a program inside records of a log collector, with the same number of bytes.

`{"log": "step 1 loss 2.5\\n", "stream": "stdout", "time": "..."}` of docker; the JSON exports of journald,
CloudWatch, Loki and others; lines of container runtimes that are split since they are long. What a record has
besides the line is replaced by its time and a colour code, which are removed from lines in any case, so that
positions in the text are those in the file.
"""

from __future__ import annotations

import re
from datetime import UTC, datetime
from typing import Any

import msgspec

from holter.ingest import step_columns

_TEXTS = ("log", "message", "MESSAGE", "line", "textPayload", "msg")
_TIMES = ("time", "timestamp", "@timestamp", "__REALTIME_TIMESTAMP", "ts")
_RECORD = re.compile(rb'(?m)^\{[^\n]{0,4000}?"(?:log|message|MESSAGE|line|textPayload|msg)" ?: ?"')
_STAMP = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d{1,9})?(?:Z|[+-]\d\d:\d\d)")
_FIRST_PART = re.compile(rb"std(?:out|err) P ")
_PART = re.compile(rb"\S{20,40} (std(?:out|err)) ([PF]) ")
_SHORTEST_PADDING = 3
_TRIED_LINES = 50
_decode = msgspec.json.Decoder().decode


def is_wrapped(text: bytes) -> bool:
    """Whether a text begins with records that have lines of a program in them, and none with a step."""
    if not text.startswith(b"{"):
        return False
    lines = text.split(b"\n", _TRIED_LINES)[:_TRIED_LINES]
    complete = [line for line in lines[: max(len(lines) - 1, 1)] if line.startswith(b"{")]
    return all(_unwrapped(line) is not None for line in complete)


def unwrap_lines(text: bytes) -> bytes:
    """Complete lines, of which those in records are as their programs printed them; as many bytes."""
    # a single byte is found much faster than two
    may_have = b"{" in text and (text.startswith(b"{") or b"\n{" in text)
    if may_have and _RECORD.search(text) is not None:
        return _without_records(text)
    if _FIRST_PART.search(text) is not None:
        return _joined(text)
    return text


def _without_records(text: bytes) -> bytes:
    lines = text.split(b"\n")
    found: list[bytes] = []
    continues = False
    records = [_unwrapped(line) if line.startswith(b"{") else None for line in lines]
    for number, (line, unwrapped) in enumerate(zip(lines, records, strict=True)):
        if unwrapped is None:
            content, ends, size = line, True, len(line)
        else:
            stamp, content, ends = unwrapped
            size = len(line)
            if number >= len(lines) - 2 or records[number + 1] is None:  # the rest is not in this text
                ends = True
            size += not ends
            if not continues and len(stamp) + len(content) + _SHORTEST_PADDING <= size:
                content = stamp + content
            content = _padding(size - len(content)) + content
        found.append(content + (b"\n" if ends else b""))
        continues = not ends
    return b"".join(found)[:-1]


def _unwrapped(line: bytes) -> tuple[bytes, bytes, bool] | None:
    """The time and the text in a record, and whether it ends the line; None if it is no such record."""
    try:
        record = _decode(line)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return None
    if not isinstance(record, dict) or step_columns.find_step(list(record)) is not None:
        return None
    name = next((name for name in _TEXTS if isinstance(record.get(name), str)), None)
    if name is None:
        return None
    content = record[name].encode("utf-8", "replace")
    ends = name != "log" or content.endswith(b"\n") or b"\r" in content
    content = content.rstrip(b"\n")
    if len(content) + _SHORTEST_PADDING > len(line):
        return None
    return _stamp(record), content, ends


def _stamp(record: dict[str, Any]) -> bytes:
    """The time of a record in front of its line, empty without one."""
    name = next((name for name in _TIMES if name in record), None)
    value = record.get(name) if name is not None else None
    if isinstance(value, str) and _STAMP.fullmatch(value) is not None:
        return f"{value} ".encode()
    if name is None or isinstance(value, bool) or not isinstance(value, int | float | str):
        return b""
    try:
        seconds = step_columns.read_clock(float(value), name="timestamp")
        return f"{datetime.fromtimestamp(seconds or 0, UTC).isoformat()} ".encode() if seconds else b""
    except (ValueError, OverflowError, OSError):
        return b""


def _joined(text: bytes) -> bytes:
    """Lines of a container runtime, whose parts are one line each."""
    lines = text.split(b"\n")
    found = [lines[0]]
    before = _PART.match(lines[0])
    for line in lines[1:]:
        part = _PART.match(line)
        if before is not None and part is not None and before[2] == b"P" and before[1] == part[1]:
            found.append(_padding(part.end() + 1) + line[part.end() :])
        else:
            found.append(b"\n" + line)
        before = part
    return b"".join(found)


def _padding(size: int) -> bytes:
    """So many bytes that are removed from lines: a colour code."""
    return b"\x1b[%bm" % (b"0" * (size - _SHORTEST_PADDING))
