"""Formats, and following sources: what turns files into batches."""

from __future__ import annotations

from holter.ingest.csv_log import CsvLog
from holter.ingest.event_file import EventFile
from holter.ingest.format import Format
from holter.ingest.jsonl_log import JsonLines
from holter.registry import build

BUILTIN: tuple[Format, ...] = (EventFile(), CsvLog(), JsonLines())


def formats() -> dict[str, Format]:
    """Every format by its name: those built in, and those that installed packages announce."""
    return build(BUILTIN, group="holter.formats")
