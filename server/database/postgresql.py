"""A psycopg dialect that pipelines statements whose results are unused, and reads rows in binary.

Each awaited statement costs a network round trip, half a millisecond in many networks, and a flush would take
nine: a ping, BEGIN, six statements, COMMIT. Pipelining reduces them to three: BEGIN is sent with the first
statement, and statements with the option `holter_pipelined` are sent with the next awaited statement or
COMMIT, which also raises their errors.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from time import monotonic
from typing import Any

import psycopg
from psycopg.pq import Format, TransactionStatus
from sqlalchemy import URL
from sqlalchemy.dialects.postgresql.psycopg import PGDialect_psycopg

_PING_INTERVAL = 1.0  # seconds for which a connection that answered is assumed to be alive
_AUTOCOMMIT = "AUTOCOMMIT"
_EMPTY_STATEMENT = ""  # costs a round trip only


class _BinaryCursor(psycopg.Cursor[Any]):
    """A cursor with binary rows: as text, blobs are twice as long and take longer to encode than to read."""

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self.format = Format.BINARY


class _BinaryServerCursor(psycopg.ServerCursor[Any]):
    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self.format = Format.BINARY

    def close(self) -> None:
        """Close the cursor, locally at least: if the connection is lost, the server has closed it already."""
        try:
            super().close()
        except psycopg.Error:  # a connection that ends now may answer with an error of no class
            psycopg.Cursor.close(self)
            if not self.connection.closed:
                raise


class PipelinedConnection(psycopg.Connection[Any]):
    """A connection with a queue of pipelined statements; it begins its transactions itself."""

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self.cursor_factory = _BinaryCursor
        self.server_cursor_factory = _BinaryServerCursor
        self.queued: list[tuple[str, Any, bool]] = []  # statement, parameters, whether executemany
        self.isolation = "READ COMMITTED"
        self.read_only = False
        self.last_answer = monotonic()

    def send(self, cursor: Any, statement: str, parameters: Any, *, many: bool = False) -> None:
        """Run the queued statements and this one in one round trip."""
        unused_cursor = (
            self.cursor() if self.queued else None
        )  # one for all queued statements, since their results are unused
        queued, self.queued = [(unused_cursor, *statement_call) for statement_call in self.queued], []
        if isinstance(cursor, psycopg.ServerCursor):  # server-side cursors cannot be pipelined
            self._run(queued)
            self._run([(cursor, statement, parameters, many)])
        else:
            self._run([*queued, (cursor, statement, parameters, many)])
        self.last_answer = monotonic()

    def _run(self, statements: Sequence[tuple[Any, str, Any, bool]]) -> None:
        if len(statements) < 2:
            return _execute(statements)
        first_error = None
        try:
            with self.pipeline():
                try:
                    _execute(statements)
                except psycopg.Error as error:
                    # caught here: leaving the pipeline, psycopg would log the errors that follow from it
                    first_error = error
        except psycopg.Error as error:
            raise first_error or error  # noqa: B904 - the second follows from the first
        if first_error is not None:
            raise first_error


def _execute(statements: Iterable[tuple[Any, str, Any, bool]]) -> None:
    for cursor, statement, parameters, many in statements:
        (cursor.executemany if many else cursor.execute)(statement, parameters)


class PipelinedDialect(PGDialect_psycopg):
    """SQLAlchemy's psycopg dialect over pipelined connections."""

    driver = "holter"
    supports_statement_cache = True

    def create_connect_args(self, url: URL) -> Any:
        """Parse the address for `connect`. Raises ValueError for an invalid prepare_threshold."""
        arguments, options = super().create_connect_args(url)  # type: ignore[no-untyped-call]
        if (threshold := options.get("prepare_threshold")) is not None:
            options["prepare_threshold"] = _threshold(threshold)
        return arguments, options

    def connect(self, *arguments: Any, **options: Any) -> Any:
        """Open a connection."""
        return PipelinedConnection.connect(*arguments, **options, autocommit=True)

    def set_isolation_level(self, dbapi_connection: Any, level: str) -> None:
        """Set the isolation level of later transactions."""
        dbapi_connection.isolation = level

    def set_readonly(self, connection: Any, value: bool) -> None:
        """Set whether later transactions are read-only."""
        connection.read_only = value

    def get_readonly(self, connection: Any) -> bool:
        """Return whether later transactions are read-only."""
        return bool(connection.read_only)

    def do_begin(self, dbapi_connection: Any) -> None:
        """Queue BEGIN, to be sent with the next statement."""
        connection: PipelinedConnection = dbapi_connection.driver_connection
        if connection.isolation != _AUTOCOMMIT:
            # never READ WRITE: a database configured read-only stays so
            access = " READ ONLY" if connection.read_only else ""
            connection.queued.append((f"BEGIN ISOLATION LEVEL {connection.isolation}{access}", None, False))

    def do_execute(self, cursor: Any, statement: str, parameters: Any, context: Any = None) -> None:
        """Run a statement, or queue it."""
        _execute_or_queue(cursor, statement, parameters, context, many=False)

    def do_executemany(self, cursor: Any, statement: str, parameters: Any, context: Any = None) -> None:
        """Run a statement for each parameter set, or queue it."""
        _execute_or_queue(cursor, statement, parameters, context, many=True)

    def do_execute_no_params(self, cursor: Any, statement: str, context: Any = None) -> None:
        """Run a statement, or queue it."""
        _execute_or_queue(cursor, statement, None, context, many=False)

    def do_commit(self, dbapi_connection: Any) -> None:
        """Commit, together with the queued statements."""
        connection: PipelinedConnection = dbapi_connection.driver_connection
        if len(connection.queued) == 1 and connection.info.transaction_status == TransactionStatus.IDLE:
            connection.queued.clear()  # only BEGIN is queued: nothing was done
        elif connection.queued:
            connection.send(connection.cursor(), "COMMIT", None)
        else:
            connection.commit()

    def do_rollback(self, dbapi_connection: Any) -> None:
        """Drop the queued statements, and roll back."""
        connection: PipelinedConnection = dbapi_connection.driver_connection
        connection.queued.clear()
        if connection.read_only and connection.info.transaction_status == TransactionStatus.INTRANS:
            connection.commit()  # nothing to undo; after ROLLBACK psycopg would prepare all statements again
        else:
            connection.rollback()

    def do_ping(self, dbapi_connection: Any) -> bool:
        """Ping the server, unless it answered within the last second."""
        connection: PipelinedConnection = dbapi_connection
        if connection.closed or monotonic() - connection.last_answer > _PING_INTERVAL:
            connection.execute(_EMPTY_STATEMENT)
            connection.last_answer = monotonic()
        return True


def _threshold(value: str) -> int | None:
    """Parse after how many uses a statement is prepared; None: never, as some poolers require."""
    if value.isdecimal() or value.lower() == "none":
        return int(value) if value.isdecimal() else None
    raise ValueError(f"prepare_threshold={value}: use a number, or none for no prepared statements")


def _execute_or_queue(cursor: Any, statement: str, parameters: Any, context: Any, *, many: bool) -> None:
    connection: PipelinedConnection = cursor.connection
    if "pg_catalog" in statement:
        cursor.format = Format.TEXT  # SQLAlchemy parses int2vector in text format only
    if context is not None and context.execution_options.get("holter_pipelined"):
        connection.queued.append((statement, parameters, many))
    else:
        connection.send(cursor, statement, parameters, many=many)
