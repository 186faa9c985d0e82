"""Formats of printed text: console logs in every dialect, custom formats, NCCL, kernels, schedulers."""

from __future__ import annotations

from collections.abc import Sequence

from holter.custom_format import CustomFormat
from holter.ingest.console.console_log import ConsoleLog
from holter.ingest.console.dialect import ConsoleDialect
from holter.ingest.console.dialects import FRAMEWORKS, GENERIC, PLAIN_LINES
from holter.ingest.format import Format
from holter.ingest.stdout.custom_patterns import custom_dialect
from holter.ingest.stdout.system_text import SYSTEM_DIALECTS, SystemText


def console_dialects(custom: Sequence[CustomFormat] = ()) -> tuple[ConsoleDialect, ...]:
    """The dialects of training in the order in which they are tried; custom ones come before generic ones.

    Lines that match a custom pattern are parsed by it in any text.
    """
    own = tuple(map(custom_dialect, custom))
    frameworks, generic = (
        [dialect.preceded_by(*own) for dialect in dialects] for dialects in (FRAMEWORKS, GENERIC)
    )
    return (*frameworks, *own, *generic)


def text_formats(custom: Sequence[CustomFormat] = ()) -> tuple[Format, ...]:
    """The formats of printed text; a text in several dialects is read by the first of them.

    A program may print lines of its own next to those of its framework: plain lines are read in any text, by
    the last kind that is tried.
    """
    dialects = console_dialects(custom)
    among = (*dialects, *SYSTEM_DIALECTS)
    logs = (
        ConsoleLog(dialect.followed_by(*SYSTEM_DIALECTS, PLAIN_LINES), among=among) for dialect in dialects
    )
    return (*logs, *(SystemText(dialects, index) for index in range(len(SYSTEM_DIALECTS))))
