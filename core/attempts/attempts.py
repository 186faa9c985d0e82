"""Attempts: which launch of the job each row of a run belongs to, decided as rows arrive.

The log's own word decides first, then the writer's identity and the wall clock, then steps that go
backwards. Rows are judged in the order in which a writer logged them, so it does not matter how they
were cut into batches. Series with steps of their own say nothing about it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from math import isnan, nan
from typing import Any

import numpy as np

from holter.attempts.config import Waiting, spread
from holter.attempts.step_regressions import Row, Rows
from holter.attempts.writers import Track, Writer
from holter.types import Batch, SeriesKey

_NAMED_BELOW = 10_000  # larger numbers are job ids, not launch counters
_UNDECIDED_ROWS = 100  # how long a new writer may log only what nobody else logs before it is settled
_SILENCE = 60.0  # seconds without news that mean a new launch, where the usual interval is not known
_SILENT_INTERVALS = 3.0
_WINDOW = 256


def _known(time: float) -> float | None:
    return None if isnan(time) else time


@dataclass(slots=True)
class Attempts:
    """The attempts of one run. `started` has the wall time of each one's first row, NaN without a clock."""

    names: dict[str, int] = field(default_factory=dict)
    started: dict[int, float] = field(default_factory=dict)
    writers: dict[str, Writer] = field(default_factory=dict)

    def split(self, writer: str, batch: Batch) -> list[tuple[int, Batch]]:
        """Cut a writer's batch into stretches, each with its attempt's number and what was said of it.

        The stretches are in the batch's order and share its arrays. `rows` of each column ascend. What
        waits for a row to say of which launch it is comes with that row.
        """
        if not len(batch.steps):
            return self._state(writer, batch)
        known = self.writers.get(writer)
        stated = batch.config
        if known is not None and known.config:
            stated = known.config | dict(stated)
            known = None if known.silent else known
        if batch.attempt is not None:
            number = self._named(batch.attempt, float(batch.times[0]))
            state = known or Writer(number)
            if state.attempt != number:
                state.enter(number)
        else:
            state = known or Writer(self._current(float(batch.times[0])), _UNDECIDED_ROWS, batch.restarts)
        self.writers[writer] = state
        state.track(batch.columns)
        rows = Rows(batch, state.series)
        telling = rows.first_telling() if stated else None
        if batch.attempt is not None:
            rows.show(state, 0, len(batch.steps))
            stretches, telling = [(state.attempt, batch)], 0
        else:
            marked = batch.restarts and known is not None
            cuts = [(row, number) for row, number in self._walk(state, rows, marked=marked)]
            ends = [row for row, _ in cuts[1:]] + [len(batch.steps)]
            stretches = [(number, batch.cut(row, end)) for (row, number), end in zip(cuts, ends, strict=True)]
        if not stated:
            return stretches
        state.config = dict(stated) if telling is None else {}
        return spread(stretches, stated, -1 if telling is None else telling)

    def waiting(self) -> list[Waiting]:
        """What writers stated of launches that no row has settled, in the order of their names."""
        return [said for _, one in sorted(self.writers.items()) for said in one.waiting()]

    def _state(self, writer: str, batch: Batch) -> list[tuple[int, Batch]]:
        """What is stated without rows waits for the writer's next one, unless the log names the launch."""
        if not batch.config:
            return []
        if batch.attempt is not None:
            return [(self._named(batch.attempt, nan), batch)]
        known = self.writers.setdefault(writer, Writer(max(self.started, default=0), silent=True))
        if known.silent and batch.restarts:
            known.state_anew(batch.config, max(self.started, default=-1))
        else:
            known.config.update(batch.config)
        return []

    def to_json(self) -> dict[str, Any]:
        """The state as JSON-able values."""
        return self.of_run() | {"writers": {name: one.to_json() for name, one in self.writers.items()}}

    def of_run(self) -> dict[str, Any]:
        """The state but for the writers, which a store keeps one by one."""
        started = [[number, _known(time)] for number, time in self.started.items()]
        return {"names": self.names, "started": started}

    @classmethod
    def from_json(cls, state: Mapping[str, Any]) -> Attempts:
        """The attempts that `to_json` described; none for an empty mapping."""
        return cls(
            names=dict(state.get("names", {})),
            started={number: nan if time is None else time for number, time in state.get("started", [])},
            writers={name: Writer.from_json(known) for name, known in state.get("writers", {}).items()},
        )

    def _open(self, number: int, time: float) -> int:
        if isnan(self.started.get(number, nan)):
            self.started[number] = time
        return number

    def _next(self) -> int:
        return max(self.started, default=-1) + 1

    def _named(self, name: str, time: float) -> int:
        counter = name.isascii() and name.isdecimal() and int(name) < _NAMED_BELOW
        number = int(name) if counter else self.names.get(name, self._next())
        self.names[name] = number
        return self._open(number, time)

    def _current(self, time: float) -> int:
        """The attempt that was under way at a wall time; the newest where a clock does not tell."""
        if not self.started:
            return self._open(0, time)
        earlier = [number for number, start in self.started.items() if not start > time]
        return max(earlier, default=min(self.started))

    def _walk(self, writer: Writer, rows: Rows, *, marked: bool) -> Iterator[tuple[int, int]]:
        """The rows at which the writer is in another attempt than before, the first row in any case."""
        position, window, size = 0, _WINDOW, len(rows.steps)
        if marked:
            self._move(writer, self._newer(writer, rows.row(0, restarts=True)), float(rows.times[0]))
        yielded = None
        while position < size:
            stop = min(size, position + window) if not rows.rising else size
            turn = self._turn(writer, rows, position, stop)
            end = stop if turn is None else turn[0]
            if yielded != writer.attempt and end > position:
                yield position, writer.attempt
                yielded = writer.attempt
            rows.show(writer, position, end)
            if turn is not None:
                self._move(writer, turn[1], float(rows.times[end]))
            # windows bound the work where a log goes back again and again
            window = 2 * window if turn is None else _WINDOW
            position = end

    def _move(self, writer: Writer, number: int, time: float) -> None:
        writer.enter(self._open(number, time))

    def _turn(self, writer: Writer, rows: Rows, start: int, stop: int) -> tuple[int, int] | None:
        """The first row in [start, stop) at which the writer changes its attempt, and the new one."""
        while True:
            shared = self._first_shared(writer, rows, start, stop)
            followed = self._first_followed(writer, rows, start, stop)
            back = rows.regress(writer, start, stop)
            row = min((at for at in (shared, followed, back) if at is not None), default=None)
            if row is None:
                return None
            if row == shared:
                number = self._settle(writer, rows.row(row))
            elif row == followed:
                number = self._follow(writer, rows.row(row))
            else:
                number = self._newer(writer, rows.row(row))
            if number != writer.attempt:
                return row, number

    def _first_shared(self, writer: Writer, rows: Rows, start: int, stop: int) -> int | None:
        """Where a new writer first logs what its attempt has from others."""
        if not writer.undecided or start >= stop:
            return None
        stop = min(stop, rows.reach(start, writer.undecided))
        return rows.first(self._clock(writer.attempt, writer), start, stop)

    def _settle(self, writer: Writer, row: Row) -> int:
        """Whether a new writer is part of its attempt, of a newer one, or the beginning of the next."""
        writer.undecided = 0
        return self._place(writer, writer.attempt, row._replace(restarts=writer.restarts))

    def _newer(self, writer: Writer, row: Row) -> int:
        """The attempt of a known writer that begins anew: one that others have begun, or the next."""
        newer = [number for number in self.started if number > writer.attempt]
        under_way = [number for number in newer if not self.started[number] > row.time]
        if not newer:
            return self._next()
        return self._place(writer, max(under_way) if under_way else min(newer), row)

    def _place(self, writer: Writer, number: int, row: Row) -> int:
        """The first attempt from `number` on that a row can belong to, if need be the next one."""
        for candidate in sorted(known for known in self.started if known >= number):
            if not self._conflicts(writer, candidate, row):
                return candidate
        return self._next()

    def _first_followed(self, writer: Writer, rows: Rows, start: int, stop: int) -> int | None:
        """Where the clock says that an attempt has begun with which the writer was not compared yet."""
        seen = max(writer.attempt, writer.followed)
        begun = [time for number, time in self.started.items() if number > seen and not isnan(time)]
        later = rows.times[start:stop] >= min(begun) if begun else ()
        return start + int(np.argmax(later)) if np.any(later) else None

    def _follow(self, writer: Writer, row: Row) -> int:
        """A sibling of the job's writers goes along when the job is launched anew; a rival stays."""
        number = max(number for number, time in self.started.items() if time <= row.time)
        writer.followed = number
        rivals = self._clock(number, writer).keys() & set(row.keys)
        return writer.attempt if rivals else number

    def _clock(self, attempt: int, but: Writer) -> dict[SeriesKey, Track]:
        """The series that tell an attempt's progress: those with half as many points as its longest."""
        merged: dict[SeriesKey, Track] = {}
        for writer in self.writers.values():
            if writer.attempt == attempt and writer is not but:
                for key, track in writer.series.items():
                    if track.count:
                        merged.setdefault(key, Track()).seen(track.count, track.step, track.first, track.last)
        most = max((track.count for track in merged.values()), default=0)
        return {key: track for key, track in merged.items() if 2 * track.count >= most}

    def _conflicts(self, writer: Writer, attempt: int, row: Row) -> bool:
        """Whether a row cannot be part of an attempt, going by what others logged there."""
        clock = self._clock(attempt, writer)
        latest = max((track.last for track in clock.values() if not isnan(track.last)), default=nan)
        return any(_begins_anew(clock[key], latest, row) for key in row.keys if key in clock)


def _begins_anew(track: Track, latest: float, row: Row) -> bool:
    """Whether a row of a new writer must come from another launch than what its attempt holds already."""
    if isnan(row.time) or isnan(track.last):
        return row.restarts or row.step <= track.step
    if row.time <= track.last:
        return False
    interval = (track.last - track.first) / (track.count - 1) if track.count > 1 else 0.0
    silence = _SILENT_INTERVALS * interval if interval else _SILENCE
    return row.restarts or row.step < track.step or row.time - latest > silence
