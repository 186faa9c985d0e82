"""Telling what kind of log a file is, by its name and what it holds."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

from holter.ingest.format import Format
from holter.ingest.open_log import HEAD_BYTES, open_log, read_head, uncompressed_name
from holter.ingest.telemetry import kernel_lines

_log = logging.getLogger(__name__)

_FURTHEST = 64 * 1024 * 1024
"""Bytes of a text that are searched for a first record: programs print their source before, or warnings."""
_OVERLAP = 4096


class DetectedFormat(NamedTuple):
    """The format of a file, None where none is found; how far it was looked for; whether that is all.

    `failed`: it could not be read, which says nothing of what is in it.
    """

    format: Format | None
    looked: int = 0
    settled: bool = False
    failed: bool = False


NOT_DETECTED = DetectedFormat(None)


def detect_format(
    path: Path, formats: Mapping[str, Format], *, before: DetectedFormat = NOT_DETECTED
) -> DetectedFormat:
    """The format that claims a file by its name and content, looking on from where `before` ended.

    None where none does, or where the file cannot be read.
    """
    try:
        if before.looked:
            return _among_text(path, formats, before.looked)
        head = read_head(path)
        name = uncompressed_name(path)
        found = next((format_ for format_ in formats.values() if format_.sniff(name, head)), None)
        if found is not None:
            return DetectedFormat(found, settled=True)
        if len(head) < HEAD_BYTES:  # what it is may still be written
            return DetectedFormat(None)
        return DetectedFormat(None, settled=True) if b"\0" in head else _among_text(path, formats, HEAD_BYTES)
    except OSError as error:
        if not before.failed:  # it is tried again and again, and told once
            _log.warning("%s: cannot be read: %s", path, error.strerror or error)
        return DetectedFormat(None, before.looked, failed=True)


def uses_wall_clock(format_: Format) -> bool:
    """Whether a format's points belong to the launch that is under way at their time: they are read last."""
    return format_.role.has_own_steps and (
        not format_.role.in_text or format_.name == kernel_lines.DIALECT.name
    )


def _among_text(path: Path, formats: Mapping[str, Format], looked: int) -> DetectedFormat:
    """Look through a text from byte `looked` on for a first record."""
    name = uncompressed_name(path)
    candidates = [format_ for format_ in formats.values() if format_.role.in_text]
    with open_log(path).stream as stream:
        stream.seek(looked - _OVERLAP)
        while candidates and looked < _FURTHEST:
            piece = stream.read(HEAD_BYTES)
            if len(piece) <= _OVERLAP:
                return DetectedFormat(None, looked)
            for format_ in candidates:
                if format_.sniff(name, piece):
                    return DetectedFormat(format_, settled=True)
            looked = stream.tell()
            stream.seek(looked - _OVERLAP)
    return DetectedFormat(None, settled=True)
