"""A sink that sends the follower's deliveries to a server over HTTP, each exactly once.

The files that are followed serve as the spool: while the server is away, the follower waits. Local disk has
the cursors and, until its outcome is known, the one delivery that is being sent. After a kill the same bytes
are sent again under the same batch_id, before anything new is read.
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
from holter.ingest.tailing.sink import SinkError
from holter.private_files import create_private_folder, private_opener
from holter.terminal_text import UNSAFE
from holter.types import Column, Cursor, Delivery, Labels, Unreadable

ZSTD_LEVEL = 1
ZSTD = Compression("zstd", lambda body: zstandard.ZstdCompressor(level=ZSTD_LEVEL).compress(body))
"""The agent's compression: bodies of real logs shrink to a sixth at 740 MB/s; gzip's fastest level reaches
22 % at 220 MB/s."""
MAX_BATCH_ID_LENGTH = 200
MAX_NOTICES_PER_SOURCE = 10


class StoppedError(SinkError):
    """The agent was stopped while the server was away. Nothing is lost: the cursor is before the delivery."""


class HttpSink:
    """Sends deliveries from the follower's thread; `folder` stores what must survive a restart."""

    def __init__(self, client: IngestClient, folder: Path, notices: Notices) -> None:
        create_private_folder(folder, tighten=True)  # it is named after the server: nobody else uses it
        self._client = client
        self._folder = folder
        self._notices = notices
        self._pending = folder / "pending.msgpack"
        self._unreadable: Counter[str] = Counter()
        self.points = 0
        self.last_refusal = ""

    def accept(self, delivery: Delivery, *, timeout: float = 30) -> None:
        """Send and wait for the acknowledgement, however long the server is away; then save the cursor.

        A rejected delivery is stored in `refused/`. Raises StoppedError when the agent is stopped before.
        """
        record = {
            "cursor": delivery.cursor,
            "batch_id": delivery.batch_id,
            "body": encode_delivery(delivery),
        }
        write_atomically(self._pending, msgspec.msgpack.encode(record))
        self.finish_pending()
        self.points += delivery.batch.points

    def finish_pending(self) -> None:
        """Send the stored delivery, if there is one. Raises StoppedError when the agent is stopped before."""
        try:
            record = msgspec.msgpack.decode(self._pending.read_bytes())
        except FileNotFoundError:
            return
        outcome = self._client.send_until_decided(record["body"])
        if isinstance(outcome, RetryLater):
            raise StoppedError(outcome.reason)
        if isinstance(outcome, Rejected):
            name = hashlib.sha256(record["batch_id"].encode()).hexdigest()[:16]
            path = self._folder / "refused" / f"{name}.msgpack"
            create_private_folder(path.parent, tighten=True)
            write_atomically(path, record["body"])
            self.last_refusal = f"a batch was rejected ({outcome.reason}); it is stored in {path}"
            self._notices.note(record["batch_id"], self.last_refusal)
        if record["cursor"] is not None:
            self.save_cursor(msgspec.convert(record["cursor"], Cursor))
        self._pending.unlink()
        self._notices.flush()

    @property
    def unreadable(self) -> int:
        """The number of locations that could not be read so far."""
        return self._unreadable.total()

    def cursor(self, source: str) -> Cursor | None:
        """The position up to which a source has been sent."""
        try:
            return msgspec.json.decode(self._cursor_path(source).read_bytes(), type=Cursor)
        except FileNotFoundError:
            return None

    def save_cursor(self, cursor: Cursor) -> None:
        """Store the position up to which a source has been read."""
        write_atomically(self._cursor_path(cursor.source), msgspec.json.encode(cursor))

    def report_unreadable(self, unreadable: Unreadable, *, cursor: Cursor | None = None) -> None:
        """Log the first few unreadable locations of each source, on the machine that has the file."""
        source = unreadable.source
        self._unreadable[source] += 1
        if self._unreadable[source] <= MAX_NOTICES_PER_SOURCE:
            self._notices.note(
                f"{source} {unreadable.location}", f"{source}, {unreadable.location}: {unreadable.reason}"
            )
        else:
            self._notices.note(source, f"{source}: more locations cannot be read; they are not listed")
        self._notices.flush()
        if cursor is not None:
            self.save_cursor(cursor)

    def _cursor_path(self, source: str) -> Path:
        return self._folder / f"{hashlib.sha256(source.encode()).hexdigest()[:32]}.cursor.json"


def write_atomically(path: Path, content: bytes) -> None:
    """Replace a file so that a crash leaves either the old content or the new."""
    fresh = path.with_suffix(".new")
    fresh.unlink(missing_ok=True)
    with open(fresh, "xb", opener=private_opener) as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())
    fresh.replace(path)


def encode_delivery(delivery: Delivery) -> bytes:
    """A delivery in the binary form of POST /api/v1/ingest."""
    batch, batch_id = delivery.batch, delivery.batch_id
    if len(batch_id) > MAX_BATCH_ID_LENGTH or UNSAFE.search(batch_id):  # of a path: a digest will do
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
        "columns": [encode_column(column, shared) for column in batch.columns],
        "settings": [
            {"name": key.name, "labels": dict(key.labels), "value": value}
            for key, value in batch.config.items()
        ],
    }
    return msgspec.msgpack.encode(body)


def encode_column(column: Column, shared: Labels) -> dict[str, Any]:
    """One series of the binary form; labels that all columns share are in the body once."""
    rows = None if column.rows is None else np.asarray(column.rows).astype("<i8").tobytes()
    own = {} if column.key.labels == shared else {"labels": dict(column.key.labels)}
    values = column.values.astype("<f8").tobytes()
    return {"metric": column.key.metric, "values": values, "rows": rows} | own
