"""How PostgreSQL is spoken to: what nobody waits for goes out together, and rows come in binary.

Waiting for an answer is a way to another machine and back, half a millisecond in many networks, and a flush
is nine of them where every statement is waited for: whether the connection lives, BEGIN, six statements,
COMMIT. Here it is three: BEGIN goes with the first statement, and those with the option
`holter_unanswered`, whose results nobody reads, go with the next one that is waited for, or with COMMIT.
Their errors come with that one.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from time import monotonic
from typing import Any

import psycopg
from psycopg.pq import Format, TransactionStatus
from sqlalchemy import URL
from sqlalchemy.dialects.postgresql.psycopg import PGDialect_psycopg

_LATELY = 1.0  # seconds for which a connection that has answered is taken to live
_AUTOCOMMIT = "AUTOCOMMIT"
_NOTHING = ""  # a statement that only the way there and back costs


class _Cursor(psycopg.Cursor[Any]):
    """Rows in binary: as text, blobs are twice as long, and take longer to make than to read."""

    def __init__(self, *arguments: Any, **named: Any) -> None:
        super().__init__(*arguments, **named)
        self.format = Format.BINARY


class _ServerCursor(psycopg.ServerCursor[Any]):
    def __init__(self, *arguments: Any, **named: Any) -> None:
        super().__init__(*arguments, **named)
        self.format = Format.BINARY

    def close(self) -> None:
        """Close it, here at least: with the connection the server has lost it, too."""
        try:
            super().close()
        except psycopg.OperationalError:
            psycopg.Cursor.close(self)


class Line(psycopg.Connection[Any]):
    """A connection with statements that wait for company. Its transactions begin by a statement of ours."""

    def __init__(self, *arguments: Any, **named: Any) -> None:
        super().__init__(*arguments, **named)
        self.cursor_factory = _Cursor
        self.server_cursor_factory = _ServerCursor
        self.waiting: list[tuple[str, Any, bool]] = []  # statements, parameters, if there are many
        self.isolation = "READ COMMITTED"
        self.only_reads = False
        self.heard = monotonic()

    def send(self, cursor: Any, statement: str, parameters: Any, *, many: bool = False) -> None:
        """Run what waits, and this statement, in one go."""
        unread = self.cursor() if self.waiting else None  # one for all of them: nobody looks at it
        waiting, self.waiting = [(unread, *one) for one in self.waiting], []
        if isinstance(cursor, psycopg.ServerCursor):  # which goes with no others
            self._run(waiting)
            self._run([(cursor, statement, parameters, many)])
        else:
            self._run([*waiting, (cursor, statement, parameters, many)])
        self.heard = monotonic()

    def _run(self, statements: Sequence[tuple[Any, str, Any, bool]]) -> None:
        if len(statements) < 2:
            return _execute(statements)
        trouble = None
        try:
            with self.pipeline():
                try:
                    _execute(statements)
                except psycopg.Error as error:  # out of the pipeline, psycopg would log what follows from it
                    trouble = error
        except psycopg.Error as error:
            raise trouble or error  # noqa: B904 - the second follows from the first
        if trouble is not None:
            raise trouble


def _execute(statements: Iterable[tuple[Any, str, Any, bool]]) -> None:
    for cursor, statement, parameters, many in statements:
        (cursor.executemany if many else cursor.execute)(statement, parameters)


class Dialect(PGDialect_psycopg):
    """SQLAlchemy's psycopg dialect over such connections."""

    driver = "holter"
    supports_statement_cache = True

    def create_connect_args(self, url: URL) -> Any:
        """What the address says, for `connect`. Raises ValueError where that is no number."""
        arguments, named = super().create_connect_args(url)  # type: ignore[no-untyped-call]
        if (said := named.get("prepare_threshold")) is not None:
            named["prepare_threshold"] = _threshold(said)
        return arguments, named

    def connect(self, *arguments: Any, **named: Any) -> Any:
        """A new connection."""
        return Line.connect(*arguments, **named, autocommit=True)

    def set_isolation_level(self, dbapi_connection: Any, level: str) -> None:
        """For the transactions from now on."""
        dbapi_connection.isolation = level

    def set_readonly(self, connection: Any, value: bool) -> None:
        """For the transactions from now on."""
        connection.only_reads = value

    def get_readonly(self, connection: Any) -> bool:
        """Whether transactions from now on only read."""
        return bool(connection.only_reads)

    def do_begin(self, dbapi_connection: Any) -> None:
        """Have the next statement begin a transaction."""
        line: Line = dbapi_connection.driver_connection
        if line.isolation != _AUTOCOMMIT:
            # who has set the database to be read only means it: nobody asks for more than that allows
            access = " READ ONLY" if line.only_reads else ""
            line.waiting.append((f"BEGIN ISOLATION LEVEL {line.isolation}{access}", None, False))

    def do_execute(self, cursor: Any, statement: str, parameters: Any, context: Any = None) -> None:
        """Run a statement, or have it wait for company."""
        _do(cursor, statement, parameters, context, many=False)

    def do_executemany(self, cursor: Any, statement: str, parameters: Any, context: Any = None) -> None:
        """Run a statement for each of the parameters, or have them wait for company."""
        _do(cursor, statement, parameters, context, many=True)

    def do_execute_no_params(self, cursor: Any, statement: str, context: Any = None) -> None:
        """Run a statement, or have it wait for company."""
        _do(cursor, statement, None, context, many=False)

    def do_commit(self, dbapi_connection: Any) -> None:
        """Commit, together with what waits."""
        line: Line = dbapi_connection.driver_connection
        if len(line.waiting) == 1 and line.info.transaction_status == TransactionStatus.IDLE:
            line.waiting.clear()  # begun, and nothing done
        elif line.waiting:
            line.send(line.cursor(), "COMMIT", None)
        else:
            line.commit()

    def do_rollback(self, dbapi_connection: Any) -> None:
        """Forget what waits, and roll back."""
        line: Line = dbapi_connection.driver_connection
        line.waiting.clear()
        if line.only_reads and line.info.transaction_status == TransactionStatus.INTRANS:
            line.commit()  # nothing to take back; after ROLLBACK psycopg has all statements prepared anew
        else:
            line.rollback()

    def do_ping(self, dbapi_connection: Any) -> bool:
        """Ask the server whether it is there, unless it has answered lately."""
        line: Line = dbapi_connection
        if line.closed or monotonic() - line.heard > _LATELY:
            line.execute(_NOTHING)
            line.heard = monotonic()
        return True


def _threshold(said: str) -> int | None:
    """After how many uses the server keeps a statement prepared; None: never, as some poolers need it."""
    if said.isdecimal() or said.lower() == "none":
        return int(said) if said.isdecimal() else None
    raise ValueError(f"prepare_threshold={said}: use a number, or none for no prepared statements")


def _do(cursor: Any, statement: str, parameters: Any, context: Any, *, many: bool) -> None:
    line: Line = cursor.connection
    if "pg_catalog" in statement:
        cursor.format = Format.TEXT  # SQLAlchemy reads vectors of numbers only so
    if context is not None and context.execution_options.get("holter_unanswered"):
        line.waiting.append((statement, parameters, many))
    else:
        line.send(cursor, statement, parameters, many=many)
