"""A process that follows logs until it is killed: into a plain SQLite table, or into the real store.

python tailing_program.py table|store DATABASE ROOT
"""

from __future__ import annotations

import json
import sqlite3
import sys
import threading
from pathlib import Path

from holter.ingest.tailing.follower import Follower
from holter.server.database import connect
from holter.server.store import Store
from holter.types import Cursor, Delivery, Unreadable


class Table:
    """A sink that keeps every point as a row, so that a repeated one is seen."""

    def __init__(self, path: Path) -> None:
        self._db = sqlite3.connect(path, isolation_level=None, check_same_thread=False)
        self._db.execute("CREATE TABLE IF NOT EXISTS point (run, metric, step, value)")
        self._db.execute("CREATE TABLE IF NOT EXISTS unreadable (source, place, reason)")
        self._db.execute(
            "CREATE TABLE IF NOT EXISTS cursor (source PRIMARY KEY, format, offset, identity, state)"
        )

    def accept(self, delivery: Delivery, *, timeout: float = 30) -> object:
        rows = [
            (delivery.run, str(column.key), int(delivery.batch.steps[row]), float(value))
            for column in delivery.batch.columns
            for row, value in zip(
                range(len(delivery.batch.steps)) if column.rows is None else column.rows,
                column.values,
                strict=True,
            )
        ]
        self._db.execute("BEGIN IMMEDIATE")
        self._db.executemany("INSERT INTO point VALUES (?, ?, ?, ?)", rows)
        if delivery.cursor is not None:
            self._save(delivery.cursor)
        self._db.execute("COMMIT")
        return len(rows)

    def cursor(self, source: str) -> Cursor | None:
        row = self._db.execute("SELECT * FROM cursor WHERE source = ?", (source,)).fetchone()
        if row is None:
            return None
        return Cursor(source=row[0], format=row[1], offset=row[2], identity=row[3], state=json.loads(row[4]))

    def save_cursor(self, cursor: Cursor) -> None:
        self._save(cursor)

    def report_unreadable(self, unreadable: Unreadable, *, cursor: Cursor | None = None) -> None:
        self._db.execute("BEGIN IMMEDIATE")
        self._db.execute(
            "INSERT INTO unreadable VALUES (?, ?, ?)",
            (unreadable.source, unreadable.location, unreadable.reason),
        )
        if cursor is not None:
            self._save(cursor)
        self._db.execute("COMMIT")

    def _save(self, cursor: Cursor) -> None:
        row = (cursor.source, cursor.format, cursor.offset, cursor.identity, json.dumps(dict(cursor.state)))
        self._db.execute("INSERT OR REPLACE INTO cursor VALUES (?, ?, ?, ?, ?)", row)


def main() -> None:
    """Follow until killed; a line on standard output says that it has begun."""
    kind, database, root = sys.argv[1:]
    sink: Store | Table
    if kind == "table":
        sink = Table(Path(database))
    else:
        sink = Store(connect(f"sqlite:///{database}"))
        sink.start()
    print("following", flush=True)  # noqa: T201
    Follower([Path(root)], sink, stop=threading.Event()).run()


if __name__ == "__main__":
    main()
