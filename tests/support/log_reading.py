"""Reads logs in every way that a format must support, and stores records in memory."""

from __future__ import annotations

import io
import json
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import islice
from pathlib import PurePath
from typing import BinaryIO

from holter.ingest import formats
from holter.ingest.format import Format, Reader
from holter.types import Batch, ConfigKey, ConfigValue, Cursor, Delivery, SeriesKey, Unreadable
from tests.support.format_samples import SAMPLES


@dataclass
class ReadResult:
    """The content of records, independent of how they are cut into batches."""

    points: dict[SeriesKey, list[tuple[str | None, int, str, str]]] = field(
        default_factory=lambda: defaultdict(list)
    )
    config: dict[tuple[ConfigKey, int], ConfigValue] = field(
        default_factory=dict
    )  # by the number of rows before it
    rows: int = 0  # of the training, which belong to launches
    restarts: list[int] = field(default_factory=list)
    unreadable: list[tuple[str, str]] = field(default_factory=list)

    def add(self, record: Batch | Unreadable) -> None:
        if isinstance(record, Unreadable):
            self.unreadable.append((record.location, record.reason))
            return
        if record.restarts and len(record.steps):
            self.restarts.append(int(record.steps[0]))
        self.config |= {(key, self.rows): value for key, value in record.config.items()}
        launch_rows: set[int] = set()
        for column in record.columns:
            rows = range(len(record.steps)) if column.rows is None else column.rows.tolist()
            if column.key.step_unit is None:
                launch_rows.update(rows)
            for row, value in zip(rows, column.values.tolist(), strict=True):
                # as text, since a NaN is not equal to itself
                point = (record.attempt, int(record.steps[row]), repr(float(record.times[row])), repr(value))
                self.points[column.key].append(point)
        self.rows += len(launch_rows)

    def values(self, metric: str, **labels: str) -> list[tuple[int, float]]:
        key = SeriesKey(metric, tuple(sorted(labels.items())))
        return [(step, float(value)) for _, step, _, value in self.points[key]]

    @property
    def count(self) -> int:
        return sum(len(points) for points in self.points.values())


class Reading:
    """Reads logs in the ways that formats must support."""

    samples = SAMPLES

    def collect(self, records: Iterable[Batch | Unreadable]) -> ReadResult:
        """The content of these records."""
        found = ReadResult()
        for record in records:
            found.add(record)
        return found

    def format_of(self, name: str, content: bytes) -> Format:
        """The only format that claims a file."""
        claims = [format_ for format_ in formats().values() if format_.sniff(PurePath(name), content[:65536])]
        assert len(claims) == 1, f"{name} is claimed by {[format_.name for format_ in claims]}"
        return claims[0]

    def read_complete(self, name: str, content: bytes, *, chosen: Format | None = None) -> ReadResult:
        """The content of a complete file, read at once."""
        reader = (chosen or self.format_of(name, content)).reader(PurePath(name), {})
        return self.collect(reader.read(io.BytesIO(content)))

    def read_sample(self, name: str, content: bytes) -> ReadResult:
        """The same of a sample, read once for several tests, which leave it as it is."""
        return _read_sample(name, content)

    def read_growing(
        self, name: str, content: bytes, sizes: Iterable[int], *, chosen: Format | None = None
    ) -> ReadResult:
        """The content read from a file that grows to one of these sizes after the other.

        Each read has a new reader with the state of the last one, which was written as JSON in between.
        """
        format_, found, state, position = chosen or self.format_of(name, content), ReadResult(), "{}", 0
        for size in sizes:
            stream = io.BytesIO(content[:size])
            stream.seek(position)
            reader = format_.reader(PurePath(name), json.loads(state))
            for record in reader.read(stream):
                found.add(record)
            state, position = json.dumps(reader.state()), stream.tell()
        return found

    def read_restarted(
        self, name: str, content: bytes, *, every: int, chosen: Format | None = None
    ) -> ReadResult:
        """The content of a file when reading stops after every so many records and a new reader resumes."""
        format_, found, state, position = chosen or self.format_of(name, content), ReadResult(), "{}", 0
        while True:
            stream = io.BytesIO(content)
            stream.seek(position)
            reader = format_.reader(PurePath(name), json.loads(state))
            records = list(islice(self._noting(reader, stream), every))
            for record, _, _ in records:
                found.add(record)
            if len(records) < every:
                return found
            _, position, state = records[-1]

    def _noting(self, reader: Reader, stream: BinaryIO) -> Iterator[tuple[Batch | Unreadable, int, str]]:
        for record in reader.read(stream):
            yield record, stream.tell(), json.dumps(reader.state())


@lru_cache(maxsize=2)  # the tests of a sample follow one another, and each compares with this
def _read_sample(name: str, content: bytes) -> ReadResult:
    return Reading().read_complete(name, content)


class MemorySink:
    """A sink that stores everything in memory, and can be made to fail."""

    def __init__(self) -> None:
        self.cursors: dict[str, Cursor] = {}
        self.deliveries: list[Delivery] = []
        self.unreadable: list[Unreadable] = []
        self.fails: Callable[[Delivery], bool] = lambda delivery: False

    def accept(self, delivery: Delivery, *, timeout: float = 30) -> object:
        if self.fails(delivery):
            raise TimeoutError("the database is busy")
        assert delivery.batch_id not in {known.batch_id for known in self.deliveries[-1000:]}
        self.deliveries.append(delivery)
        assert delivery.cursor is not None
        self.cursors[delivery.cursor.source] = delivery.cursor
        return None

    def cursor(self, source: str) -> Cursor | None:
        return self.cursors.get(source)

    def save_cursor(self, cursor: Cursor) -> None:
        self.cursors[cursor.source] = cursor

    def report_unreadable(self, unreadable: Unreadable, *, cursor: Cursor | None = None) -> None:
        self.unreadable.append(unreadable)
        if cursor is not None:
            self.cursors[cursor.source] = cursor

    def collect(self, run: str) -> ReadResult:
        found = ReadResult()
        for delivery in self.deliveries:
            if delivery.run == run:
                found.add(delivery.batch)
        return found

    @property
    def runs(self) -> set[str]:
        return {delivery.run for delivery in self.deliveries}
