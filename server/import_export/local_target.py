"""Brings runs into a store of this process, as `sending` brings them to a server."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from holter.server.import_export.import_file import import_file
from holter.server.import_export.importer import Imported, Into
from holter.server.import_export.tracker_run import Kept, take_kept
from holter.server.import_export.trackers import portions
from holter.types import Series


class Here:
    """Takes runs one after the other; `stored` hears of points, of each run anew."""

    def __init__(self, into: Into, *, stored: Callable[[int], object] = lambda _: None) -> None:
        self._into, self._stored = into, stored

    def file(self, path: Path, *, project: str | None = None, run: str | None = None) -> Imported:
        """Take a file of `holter export`. Raises ImportRefusedError, OSError where it cannot be read."""
        with path.open("rb") as file:
            return self._last(import_file(self._into, file, path.name, project=project, run=run))

    def run(self, kept: Kept, series: Sequence[Series]) -> Imported:
        """Take a run of another tracker. Raises ValueError, StoreError."""
        return self._last(take_kept(self._into, kept, portions(series)))

    def _last(self, steps: Iterator[Imported]) -> Imported:
        for step in steps:
            self._stored(step.points + step.known)
        return step
