"""What a check promises: a pure function from what a run's logs say of it to remarks."""

from __future__ import annotations

from collections.abc import Iterable
from typing import ClassVar, Protocol

from holter.types import Remark, RunData


class Check(Protocol):
    """Looks at how launches are set up: `run.config`, and where it needs them the series.

    Pure: no clock, no files. Total: any values in, of any type; never raises on data. What a log does not
    say is not remarked on.
    """

    name: ClassVar[str]

    def look(self, run: RunData) -> Iterable[Remark]:
        """Every remark on the run."""
        ...
