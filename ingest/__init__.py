"""Formats, and following sources: what turns files into batches."""

from __future__ import annotations

from holter.ingest.collectives.all_reduce_bench import AllReduceBench
from holter.ingest.collectives.flight_recorder import FlightRecorder
from holter.ingest.collectives.inspector import NcclInspector
from holter.ingest.collectives.kineto import KinetoTrace
from holter.ingest.collectives.nccl_tests import NcclTests
from holter.ingest.collectives.nccl_text import SPEECH, NcclText
from holter.ingest.console import DIALECTS
from holter.ingest.console.console_log import ConsoleLog
from holter.ingest.csv_log import CsvLog
from holter.ingest.event_file import EventFile
from holter.ingest.format import Format
from holter.ingest.jsonl_log import JsonLines
from holter.ingest.wandb.wandb_log import WandbLog
from holter.registry import build

# of a text that speaks several dialects the first one reads it
_CONSOLE = tuple(
    ConsoleLog(dialect.beside(SPEECH), DIALECTS[:place]) for place, dialect in enumerate(DIALECTS)
)
_COLLECTIVES = (NcclInspector(), FlightRecorder(), KinetoTrace(), NcclTests(), AllReduceBench())
BUILTIN: tuple[Format, ...] = (
    EventFile(),
    WandbLog(),
    CsvLog(),
    *_COLLECTIVES,
    JsonLines(),
    *_CONSOLE,
    NcclText(DIALECTS),
)


def formats() -> dict[str, Format]:
    """Every format by its name: those built in, and those that installed packages announce."""
    return build(BUILTIN, group="holter.formats")
