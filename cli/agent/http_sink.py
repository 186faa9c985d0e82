"""Where a follower's deliveries go when the store is on another machine: over HTTP, each exactly once.

The files that are followed are the spool: while the server is away, the follower simply waits. On local
disk lie the cursors and, while it is under way, the one delivery whose fate is not known yet. After a
kill the same bytes are sent again under the same batch_id, before anything new is read.

How the agent compresses what it sends.
"""

from __future__ import annotations

import hashlib
import os
from collections import Counter
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import zstandard

from holter.client.http import Compression, Rejected, RetryLater
from holter.client.notices import Notices
from holter.client.uploader import IngestClient
from holter.ingest.tailing.follower import SinkError
from holter.types import Column, Cursor, Delivery, Labels, Unreadable

LEVEL = 1
ZSTD = Compression("zstd", lambda body: zstandard.ZstdCompressor(level=LEVEL).compress(body))
"""Bodies of real logs: to a sixth at 740 MB/s, where gzip's quickest level comes to 22 % at 220 MB/s."""


LONGEST_ID = 200
TOLD_PLACES = 10


class StoppedError(SinkError):
    """The agent was told to stop while the server was away; nothing is lost, the cursor stands before it."""


class HttpSink:
    """Takes deliveries from a follower's thread; `folder` keeps what must survive a restart."""

    def __init__(self, courier: IngestClient, folder: Path, notices: Notices) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self._courier = courier
        self._folder = folder
        self._notices = notices
        self._pending = folder / "pending.msgpack"
        self._unreadable: Counter[str] = Counter()
        self.points = 0
        self.last_refusal = ""

    def accept(self, delivery: Delivery, *, timeout: float = 30) -> None:
        """Send and wait for the acknowledgement, however long the server is away; then save the cursor.

        Raises StoppedError when told to stop before. A refused delivery is kept in `refused/`.
        """
        record = {"cursor": delivery.cursor, "batch_id": delivery.batch_id, "body": body_of(delivery)}
        replace(self._pending, msgspec.msgpack.encode(record))
        self.settle()
        self.points += delivery.batch.points

    def settle(self) -> None:
        """Bring what was under way to its end. Raises StoppedError when told to stop before."""
        try:
            record = msgspec.msgpack.decode(self._pending.read_bytes())
        except FileNotFoundError:
            return
        outcome = self._courier.send_until_decided(record["body"])
        if isinstance(outcome, RetryLater):
            raise StoppedError(outcome.reason)
        if isinstance(outcome, Rejected):
            name = hashlib.sha256(record["batch_id"].encode()).hexdigest()[:16]
            kept = self._folder / "refused" / f"{name}.msgpack"
            kept.parent.mkdir(exist_ok=True)
            replace(kept, record["body"])
            self.last_refusal = f"a batch was refused ({outcome.reason}); it is kept in {kept}"
            self._notices.note(record["batch_id"], self.last_refusal)
        if record["cursor"] is not None:
            self.save_cursor(msgspec.convert(record["cursor"], Cursor))
        self._pending.unlink()
        self._notices.flush()

    @property
    def unreadable(self) -> int:
        """How many places could not be read so far."""
        return self._unreadable.total()

    def cursor(self, source: str) -> Cursor | None:
        """How far a source has been sent."""
        try:
            return msgspec.json.decode(self._place(source).read_bytes(), type=Cursor)
        except FileNotFoundError:
            return None

    def save_cursor(self, cursor: Cursor) -> None:
        """Note how far a source has been read."""
        replace(self._place(cursor.source), msgspec.json.encode(cursor))

    def report_unreadable(self, unreadable: Unreadable, *, cursor: Cursor | None = None) -> None:
        """Tell whoever runs the agent, who is closest to the file; of each source the first few places."""
        source = unreadable.source
        self._unreadable[source] += 1
        if self._unreadable[source] <= TOLD_PLACES:
            self._notices.note(
                f"{source} {unreadable.location}", f"{source}, {unreadable.location}: {unreadable.reason}"
            )
        else:
            self._notices.note(source, f"{source}: more places cannot be read; they are not told one by one")
        self._notices.flush()
        if cursor is not None:
            self.save_cursor(cursor)

    def _place(self, source: str) -> Path:
        return self._folder / f"{hashlib.sha256(source.encode()).hexdigest()[:32]}.cursor.json"


def replace(path: Path, content: bytes) -> None:
    """Write a file that is either the old one or the new one, whenever the machine stops."""
    fresh = path.with_suffix(".new")
    with fresh.open("wb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())
    fresh.replace(path)


def body_of(delivery: Delivery) -> bytes:
    """A delivery as the binary form of POST /api/v1/ingest."""
    batch, batch_id = delivery.batch, delivery.batch_id
    if len(batch_id) > LONGEST_ID:  # a long path: the same name for it every time will do
        batch_id = hashlib.sha256(batch_id.encode()).hexdigest()
    labels = {column.key.labels for column in batch.columns}
    shared = labels.pop() if len(labels) == 1 else ()
    body: dict[str, Any] = {
        "project": delivery.project,
        "run": delivery.run,
        "writer": delivery.writer,
        "batch_id": batch_id,
        "attempt": batch.attempt,
        "restarts": batch.restarts,
        "labels": dict(shared),
        "steps": batch.steps.astype("<i8").tobytes(),
        "times": batch.times.astype("<f8").tobytes(),
        "columns": [column_of(column, shared) for column in batch.columns],
        "settings": [
            {"name": key.name, "labels": dict(key.labels), "value": value}
            for key, value in batch.config.items()
        ],
    }
    return msgspec.msgpack.encode(body)


def column_of(column: Column, shared: Labels) -> dict[str, Any]:
    """One series of the binary form; labels that all have stand in the body once."""
    rows = None if column.rows is None else np.asarray(column.rows).astype("<i8").tobytes()
    own = {} if column.key.labels == shared else {"labels": dict(column.key.labels)}
    values = column.values.astype("<f8").tobytes()
    return {"metric": column.key.metric, "values": values, "rows": rows} | own
