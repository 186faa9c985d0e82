"""What is known of a run: its series in numbers, remembered, and brought up to date from the log."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from holter.server.store.memory import Memory
from holter.server.store.numbers import Numbers, combine, of_block, reaching
from holter.server.store.snapshot import Snapshot
from holter.server.store.summary import load
from holter.types import SeriesKey

_SERIES_BYTES = 400


@dataclass(frozen=True, eq=False, kw_only=True, slots=True)
class Known:
    """A run as of a version of it: its series by id, in the order of their keys, and in numbers.

    `entry` is the last row of the log that is counted in. Of the `doubtful` series, some step may have been
    written twice since the last compaction: their sums and extremes are not those of their points.
    """

    generation: int
    revision: int
    entry: int
    names: Mapping[int, SeriesKey]
    numbers: Numbers
    doubtful: frozenset[int]


def know(snapshot: Snapshot, memory: Memory) -> Known:
    """What is known of a run as of a snapshot. Reads what is new since it was asked for the last time."""
    held: Known | None = memory.get(("known", snapshot.run_id))
    generation, revision = snapshot.version
    if held is not None and (held.generation, held.revision) == snapshot.version:
        return held
    if held is None or held.generation != generation:
        stored = load(snapshot)
        names = held.names if held is not None else {}
        entry, numbers, doubtful = stored.entry, combine([stored.chunks, stored.log]), frozenset[int]()
    else:
        names, entry, numbers, doubtful = held.names, held.entry, held.numbers, held.doubtful
    entry, blocks = snapshot.tail(entry)
    for attempt, block in blocks.items():
        part = of_block(attempt, block)
        doubtful |= set(reaching(numbers, part).tolist())
        numbers = combine([numbers, part])
    names = snapshot.more_series(names)
    found = Known(
        generation=generation,
        revision=revision,
        entry=entry,
        names=names,
        numbers=numbers,
        doubtful=doubtful,
    )
    memory.put(("known", snapshot.run_id), found, _SERIES_BYTES * len(names))
    return found
