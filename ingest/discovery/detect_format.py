"""Detects the format of a file by its name and content."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

from holter.ingest.format import Format
from holter.ingest.open_log import HEAD_BYTES, open_log, read_head, uncompressed_name
from holter.ingest.telemetry import kernel_lines

_log = logging.getLogger(__name__)

_MAX_SEARCHED_BYTES = 64 * 1024 * 1024
"""Bytes of a text that are searched for a first record: programs print their source or warnings before."""
_OVERLAP_BYTES = 4096


class DetectedFormat(NamedTuple):
    """The format of a file, None if none is found; how many bytes were searched; whether that is final.

    `failed`: the file could not be read, which means nothing for its format.
    """

    format: Format | None
    searched: int = 0
    settled: bool = False
    failed: bool = False


NOT_DETECTED = DetectedFormat(None)


def detect_format(
    path: Path, formats: Mapping[str, Format], *, before: DetectedFormat = NOT_DETECTED
) -> DetectedFormat:
    """The format that claims a file by its name and content; the search resumes where `before` ended.

    The format is None if there is none, or if the file cannot be read.
    """
    try:
        if before.searched:
            return _search_text(path, formats, before.searched)
        head = read_head(path)
        name = uncompressed_name(path)
        claimed_by = next((format_ for format_ in formats.values() if format_.sniff(name, head)), None)
        if claimed_by is not None:
            return DetectedFormat(claimed_by, settled=True)
        if len(head) < HEAD_BYTES:  # more may be written that decides
            return DetectedFormat(None)
        if b"\0" in head:
            return DetectedFormat(None, settled=True)
        return _search_text(path, formats, HEAD_BYTES)
    except OSError as error:
        if not before.failed:  # it is retried again and again, and logged once
            _log.warning("%s: cannot be read: %s", path, error.strerror or error)
        return DetectedFormat(None, before.searched, failed=True)


def uses_wall_clock(format_: Format) -> bool:
    """Whether points of a format belong to the launch that is running at their time: it is read last."""
    role = format_.role
    return role.has_own_steps and (not role.in_text or format_.name == kernel_lines.DIALECT.name)


def _search_text(path: Path, formats: Mapping[str, Format], searched: int) -> DetectedFormat:
    """Search a text from byte `searched` on for a first record."""
    name = uncompressed_name(path)
    candidates = [format_ for format_ in formats.values() if format_.role.in_text]
    with open_log(path).stream as stream:
        stream.seek(searched - _OVERLAP_BYTES)
        while candidates and searched < _MAX_SEARCHED_BYTES:
            part = stream.read(HEAD_BYTES)
            if len(part) <= _OVERLAP_BYTES:
                return DetectedFormat(None, searched)
            for format_ in candidates:
                if format_.sniff(name, part):
                    return DetectedFormat(format_, settled=True)
            searched = stream.tell()
            stream.seek(searched - _OVERLAP_BYTES)
    return DetectedFormat(None, settled=True)
