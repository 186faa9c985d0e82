"""Detects the format of a file by its name and content."""

from __future__ import annotations

import logging
import math
import time
from collections.abc import Mapping
from pathlib import Path, PurePath
from typing import NamedTuple

from holter.ingest.errors import describe_error
from holter.ingest.file_tasks import file_task
from holter.ingest.format import Format
from holter.ingest.open_log import HEAD_BYTES, open_beginning, read_head, uncompressed_name, without_holes
from holter.ingest.telemetry import kernel_lines

_log = logging.getLogger(__name__)

_MAX_SEARCHED_BYTES = 64 * 1024 * 1024
"""Bytes of a text that are searched for a first record: programs print their source or warnings before."""
_OVERLAP_BYTES = 4096


class DetectedFormat(NamedTuple):
    """The format of a file, None if none is found; how many bytes were searched; whether that is final.

    `failed`: the file could not be read, which means nothing for its format. `problem`: why no format is
    found, if that is because a format failed; such a file is tried again when it changes. `searching`: the
    search has been interrupted, and goes on although the file may not change.
    """

    format: Format | None
    searched: int = 0
    settled: bool = False
    failed: bool = False
    problem: str = ""
    searching: bool = False


NOT_DETECTED = DetectedFormat(None)


def detect_format(
    path: Path,
    formats: Mapping[str, Format],
    *,
    before: DetectedFormat = NOT_DETECTED,
    search_seconds: float = math.inf,
) -> DetectedFormat:
    """The format that claims a file by its name and content; the search resumes where `before` ended.

    A text is searched for a first record for `search_seconds` of processor time at most.

    The format is None if there is none, or if the file cannot be read. Whatever a format raises concerns this
    file alone: it counts as not claimed by that format.
    """
    try:
        sniffing = _Sniffing(path)
        with file_task(path, "detect"):
            detected = _detect(sniffing, formats, before, search_seconds)
    except OSError as error:
        if not before.failed:  # it is retried again and again, and logged once
            _log.warning("%s: cannot be read: %s", path, error.strerror or error)
        return DetectedFormat(None, before.searched, failed=True)
    except Exception as error:
        detected = DetectedFormat(None, before.searched)
        sniffing.problem = f"expected to detect its format: {describe_error(error)}"
        _log.debug("%s: its format cannot be detected", path, exc_info=error)
    if detected.format is not None or not sniffing.problem:
        return detected
    if sniffing.problem != before.problem:
        _log.warning("%s: not read, tried again when it changes: %s", path, sniffing.problem)
    return detected._replace(problem=sniffing.problem)


class _Sniffing:
    """Asks formats whether they claim a file; `problem` is what the last one raised."""

    def __init__(self, path: Path) -> None:
        self.path, self.name = path, uncompressed_name(path)
        self.problem = ""

    def claims(self, format_: Format, head: bytes) -> bool:
        """Whether a format claims the file; False if it fails."""
        try:
            return claims_file(format_, self.name, head)
        except SniffError as error:
            self.problem = str(error)
            return False


class SniffError(Exception):
    """A format failed to tell whether a file is of its kind; the message says how."""


def claims_file(format_: Format, name: PurePath, head: bytes) -> bool:
    """Whether a format claims a file. Raises SniffError if the format fails."""
    try:
        return format_.sniff(name, head)
    except Exception as error:
        _log.debug("%s: the format %s fails", name, format_.name, exc_info=error)
        problem = f"expected to know whether it is of the format {format_.name}: {describe_error(error)}"
        raise SniffError(problem) from error


def _detect(
    sniffing: _Sniffing, formats: Mapping[str, Format], before: DetectedFormat, seconds: float
) -> DetectedFormat:
    if before.searched:
        return _search_text(sniffing, formats, before.searched, seconds)
    head = read_head(sniffing.path)
    claimed_by = next((format_ for format_ in formats.values() if sniffing.claims(format_, head)), None)
    if claimed_by is not None:
        return DetectedFormat(claimed_by, settled=True)
    if len(head) < HEAD_BYTES:  # more may be written that decides
        return DetectedFormat(None)
    if b"\0" in head:
        return DetectedFormat(None, settled=True)
    return _search_text(sniffing, formats, HEAD_BYTES, seconds)


def uses_wall_clock(format_: Format) -> bool:
    """Whether points of a format belong to the launch that is running at their time: it is read last."""
    role = format_.role
    return role.has_own_steps and (not role.in_text or format_.name == kernel_lines.DIALECT.name)


def _search_text(
    sniffing: _Sniffing, formats: Mapping[str, Format], searched: int, seconds: float
) -> DetectedFormat:
    """Search a text from byte `searched` on for a first record, for so much processor time."""
    candidates = [format_ for format_ in formats.values() if format_.role.in_text]
    with open_beginning(sniffing.path, _MAX_SEARCHED_BYTES)[0].stream as stream:
        began = time.thread_time()
        stream.seek(searched - _OVERLAP_BYTES)
        while candidates and searched < _MAX_SEARCHED_BYTES:
            part = without_holes(stream.read(HEAD_BYTES))
            if len(part) <= _OVERLAP_BYTES:
                return DetectedFormat(None, searched)
            for format_ in candidates:
                if sniffing.claims(format_, part):
                    return DetectedFormat(format_, settled=True)
            searched = stream.tell()
            if time.thread_time() - began >= seconds:
                return DetectedFormat(None, searched, searching=True)
            stream.seek(searched - _OVERLAP_BYTES)
    return DetectedFormat(None, settled=True)
