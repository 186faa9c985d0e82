"""Files at which the process that reads them failed: which ones are set aside, until when, and why."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from holter.ingest.tailing.task_table import RunningTask

FIRST_PAUSE, LONGEST_PAUSE = 10.0, 3600.0
"""Seconds for which a file is set aside, doubled each time."""
_SUSPECTED_SECONDS = 600.0
_MAX_DEATHS = 5


@dataclass(frozen=True, slots=True)
class SetAsideFile:
    """A file that is not read until a time (monotonic). `in_detection`: nor is its format looked for."""

    until: float
    pause: float
    in_detection: bool


@dataclass(frozen=True, slots=True)
class SuspectedFile:
    """A file that was being read when the process died: it may be the reason. `position`: how far it was."""

    position: int
    deaths: int
    seen: float


@dataclass(frozen=True)
class FileFailures:
    """The files that are set aside, and those that are suspected, by path. A value: changes are new ones.

    A process may be killed for any reason while it reads a file. A file counts as the reason when the process
    dies again without having read further in it, or dies `_MAX_DEATHS` times; until then it is read while
    nothing else is.
    """

    aside: dict[str, SetAsideFile] = field(default_factory=dict)
    suspected: dict[str, SuspectedFile] = field(default_factory=dict)

    def is_aside(self, path: str, now: float, *, in_detection: bool = False) -> bool:
        """Whether a file is not to be read now, or, `in_detection`, its format not to be looked for."""
        file = self.aside.get(path)
        return file is not None and now < file.until and (file.in_detection or not in_detection)

    def is_suspected(self, path: str) -> bool:
        """Whether a file is to be read while nothing else is."""
        return path in self.suspected or path in self.aside

    def count(self, now: float) -> int:
        """How many files are set aside now."""
        return sum(now < file.until for file in self.aside.values())

    def with_failure(self, running: RunningTask, now: float) -> FileFailures:
        """The failures after one for which a file is known to be the reason."""
        task = running.task
        before = self.aside.get(task.path)
        pause = FIRST_PAUSE if before is None else min(2 * before.pause, LONGEST_PAUSE)
        in_detection = task.phase == "detect"
        aside = {**self.aside, task.path: SetAsideFile(now + pause, pause, in_detection)}
        suspected = {path: file for path, file in self.suspected.items() if path != task.path}
        return replace(self, aside=aside, suspected=suspected)

    def with_death(
        self, running: Sequence[RunningTask], now: float
    ) -> tuple[FileFailures, list[RunningTask]]:
        """The failures after the process died during these tasks, and the tasks that are the reason."""
        failures = replace(
            self,
            suspected={
                path: file for path, file in self.suspected.items() if now - file.seen < _SUSPECTED_SECONDS
            },
        )
        reasons = []
        for task in running:
            path = task.task.path
            before = failures.suspected.get(path)
            again = path in failures.aside or (
                before is not None and (before.position == task.position or before.deaths + 1 >= _MAX_DEATHS)
            )
            if again and len(running) == 1:
                failures = failures.with_failure(task, now)
                reasons.append(task)
            else:
                deaths = 1 if before is None else before.deaths + 1
                seen = SuspectedFile(task.position, deaths, now)
                failures = replace(failures, suspected={**failures.suspected, path: seen})
        return failures, reasons
