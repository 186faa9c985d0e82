"""The formats of what programs print: each dialect as a format, a house's own among them."""

from __future__ import annotations

from collections.abc import Sequence

from holter.custom_format import HouseFormat
from holter.ingest.console.console_log import ConsoleLog
from holter.ingest.console.dialect import ConsoleDialect
from holter.ingest.console.dialects import FRAMEWORKS, GENERIC
from holter.ingest.format import Format
from holter.ingest.stdout.custom_patterns import custom_dialect
from holter.ingest.stdout.nccl_text import SYSTEM_DIALECTS, SystemText


def console_dialects(house: Sequence[HouseFormat] = ()) -> tuple[ConsoleDialect, ...]:
    """The dialects in the order in which they are tried, a house's before the one that fits any text.

    Lines that fit a house's pattern are read by it in any text.
    """
    own = tuple(map(custom_dialect, house))
    frameworks, generic = ([one.preceded_by(*own) for one in some] for some in (FRAMEWORKS, GENERIC))
    return (*frameworks, *own, *generic)


def text_formats(house: Sequence[HouseFormat] = ()) -> tuple[Format, ...]:
    """The formats of texts: of one that speaks several dialects the first one reads it."""
    spoken = console_dialects(house)
    logs = (
        ConsoleLog(dialect.followed_by(*SYSTEM_DIALECTS), spoken[:place])
        for place, dialect in enumerate(spoken)
    )
    return (*logs, *(SystemText(spoken, place) for place in range(len(SYSTEM_DIALECTS))))
