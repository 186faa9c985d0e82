"""What some lines of a text hold, before it is made a batch."""

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
