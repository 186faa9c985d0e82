"""The formats of what programs print: each dialect as a format, a house's own among them."""

from __future__ import annotations

from collections.abc import Sequence

from holter.custom_format import HouseFormat
from holter.ingest.console.console_log import ConsoleLog
from holter.ingest.console.dialect import Dialect
from holter.ingest.console.dialects import FRAMEWORKS, GENERIC
from holter.ingest.format import Format
from holter.ingest.stdout.custom_patterns import dialect_of
from holter.ingest.stdout.nccl_text import OTHERS, NcclText


def dialects(house: Sequence[HouseFormat] = ()) -> tuple[Dialect, ...]:
    """The dialects in the order in which they are tried, a house's before the one that fits any text.

    Lines that fit a house's pattern are read by it in any text.
    """
    own = tuple(map(dialect_of, house))
    frameworks, generic = ([one.behind(*own) for one in some] for some in (FRAMEWORKS, GENERIC))
    return (*frameworks, *own, *generic)


def texts(house: Sequence[HouseFormat] = ()) -> tuple[Format, ...]:
    """The formats of texts: of one that speaks several dialects the first one reads it."""
    spoken = dialects(house)
    logs = (ConsoleLog(dialect.beside(*OTHERS), spoken[:place]) for place, dialect in enumerate(spoken))
    return (*logs, *(NcclText(spoken, place) for place in range(len(OTHERS))))
