"""What lines of a text hold: rows, and the settings of their launch."""

from __future__ import annotations

from dataclasses import dataclass, field

from holter.ingest.rows import LogRow
from holter.types import ConfigKey, ConfigValue


@dataclass(slots=True)
class ParsedLines:
    """Rows of some lines, and the settings of their launch that were stated before them.

    `in_launch`: some of the rows belong to a launch, so that settings stated after them belong to the next.
    `restarts`: this launch begins with them.
    """

    rows: list[LogRow] = field(default_factory=list)
    config: dict[ConfigKey, ConfigValue] = field(default_factory=dict)
    in_launch: bool = False
    restarts: bool = False


def first_launch(rows: list[LogRow]) -> tuple[list[LogRow], list[LogRow]]:
    """The rows up to the first one behind others with which a launch begins, and the rest."""
    end = next((number for number, row in enumerate(rows) if row.begins and number), len(rows))
    return rows[:end], rows[end:]
