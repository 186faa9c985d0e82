"""Formats, and following sources: what turns files into batches."""

from __future__ import annotations

from holter.ingest.console import DIALECTS
from holter.ingest.console.console_log import ConsoleLog
from holter.ingest.csv_log import CsvLog
from holter.ingest.event_file import EventFile
from holter.ingest.format import Format
from holter.ingest.jsonl_log import JsonLines
from holter.ingest.wandb.wandb_log import WandbLog
from holter.registry import build

# of a text that speaks several dialects the first one reads it
_CONSOLE = tuple(ConsoleLog(dialect, DIALECTS[:place]) for place, dialect in enumerate(DIALECTS))
BUILTIN: tuple[Format, ...] = (EventFile(), WandbLog(), CsvLog(), JsonLines(), *_CONSOLE)


def formats() -> dict[str, Format]:
    """Every format by its name: those built in, and those that installed packages announce."""
    return build(BUILTIN, group="holter.formats")
