"""How PostgreSQL is spoken to: few ways there and back, late errors, connections that end."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import suppress
from statistics import median
from uuid import uuid4

import numpy as np
import psycopg
import pytest
from sqlalchemy import Engine, insert, make_url, select, text
from sqlalchemy.exc import DBAPIError, IntegrityError, OperationalError

from holter.server.database import connect, reading, unavailable_reason, writing
from holter.server.database.postgresql import PipelinedConnection
from holter.server.migrate import upgrade
from holter.server.models import Project
from holter.server.store import Store
from holter.types import Batch, Column, Delivery, SeriesKey
from tests.support.postgresql import Postgres
from tests.support.postgresql_relay import Relay

UNHEARD = insert(Project).inline().execution_options(holter_pipelined=True)
KEYS = [SeriesKey(f"m{number}") for number in range(5)]


@pytest.fixture
def engine(postgres_url: str) -> Iterator[Engine]:
    engine = connect(postgres_url)
    yield engine
    engine.dispose()


def delivery(step: int, rows: int = 1) -> Delivery:
    steps = np.arange(step, step + rows)
    columns = tuple(Column(key=key, values=np.cos(steps * 0.1)) for key in KEYS)
    batch = Batch(steps=steps, times=1.7e9 + steps * 1.0, columns=columns)
    return Delivery(project="p", run="run", writer="w", batch_id=str(step), batch=batch)


def cut(server: str, number: int) -> None:
    """End a connection from the other side."""
    with psycopg.connect(server, autocommit=True) as connection:
        connection.execute("SELECT pg_terminate_backend(%s, 5000)", (number,))


@pytest.fixture
def watched(relay: Relay) -> Iterator[Engine]:
    engine = connect(relay.url)
    yield engine
    engine.dispose()


def test_a_flush_waits_three_times_for_the_server(watched: Engine, relay: Relay) -> None:
    store = Store(watched)
    store.start()
    for step in range(10):  # so many that their statements are prepared
        store.accept(delivery(step))
    turns = []
    for step in range(10, 20):
        before = relay.turns
        store.accept(delivery(step))
        turns.append(relay.turns - before)
    # a question that passes in two parts may count twice, or its second part for the next flush
    assert median(turns) == 3
    store.close()


def test_a_read_waits_once_for_each_statement_and_once_to_end(watched: Engine, relay: Relay) -> None:
    with reading(watched) as connection:
        connection.scalar(select(1))
    before = relay.turns
    with reading(watched) as connection:
        assert connection.scalar(select(2)) == 2
        assert connection.scalar(select(3)) == 3
    assert relay.turns - before == 3


def test_empty_transaction_sends_nothing(watched: Engine, relay: Relay) -> None:
    with writing(watched) as connection:
        connection.scalar(select(1))
    before = relay.turns
    with writing(watched):
        pass
    assert relay.turns == before


def test_pipelined_error_is_raised_by_commit(engine: Engine) -> None:
    def write() -> None:
        with writing(engine) as connection:
            connection.execute(insert(Project), {"name": "kept?", "created_at": 1.0})
            connection.execute(UNHEARD, [{"name": "twice", "created_at": 1.0}] * 2)
            connection.execute(UNHEARD, {"name": "after", "created_at": 1.0})

    with pytest.raises(IntegrityError):
        write()
    with reading(engine) as connection:
        assert connection.scalars(select(Project.name)).all() == []
    with writing(engine) as connection:
        connection.execute(UNHEARD, {"name": "next", "created_at": 1.0})
    with reading(engine) as connection:
        assert connection.scalars(select(Project.name)).all() == ["next"]


def test_pipelined_error_is_raised_by_the_next_statement(engine: Engine) -> None:
    with writing(engine) as connection:
        connection.execute(UNHEARD, [{"name": "twice", "created_at": 1.0}] * 2)
        with pytest.raises(IntegrityError):
            connection.scalar(select(1))
        connection.rollback()


def test_rollback_drops_pipelined_statements(engine: Engine) -> None:
    with writing(engine) as connection:
        connection.execute(insert(Project), {"name": "p", "created_at": 1.0})
        connection.execute(UNHEARD, {"name": "q", "created_at": 1.0})
        connection.rollback()
    with writing(engine) as connection:
        assert connection.scalars(select(Project.name)).all() == []


def test_read_transactions_see_a_snapshot_and_cannot_write(engine: Engine) -> None:
    with reading(engine) as connection:
        assert connection.scalars(select(Project.name)).all() == []
        with writing(engine) as other:
            other.execute(insert(Project), {"name": "p", "created_at": 1.0})
        assert connection.scalars(select(Project.name)).all() == []
        assert connection.scalar(text("SHOW transaction_isolation")) == "repeatable read"
        assert connection.scalar(text("SHOW transaction_read_only")) == "on"
    with writing(engine) as connection:  # over the same connection
        assert connection.scalar(text("SHOW transaction_isolation")) == "read committed"
        assert connection.scalar(text("SHOW transaction_read_only")) == "off"


def test_rows_come_in_binary_with_their_types(engine: Engine) -> None:
    query = text(
        "SELECT 1::bigint, 1.5::float8, true, 'ä'::text, '\\x00ff'::bytea, '{\"a\": [1]}'::json, NULL"
    )
    with reading(engine) as connection:
        result = connection.execute(query)
        line = connection.connection.driver_connection
        assert isinstance(line, PipelinedConnection)
        assert line.cursor().format == psycopg.pq.Format.BINARY
        assert tuple(result.one()) == (1, 1.5, True, "ä", b"\x00\xff", {"a": [1]}, None)


def test_rows_that_are_fetched_bit_by_bit(engine: Engine) -> None:
    with reading(engine) as connection:
        rows = connection.execution_options(yield_per=10).execute(
            select(text("n")).select_from(text("generate_series(1, :most) AS n")).params(most=25)
        )
        assert [row[0] for row in rows] == list(range(1, 26))


def test_idle_connection_that_was_cut_is_replaced(
    engine: Engine, postgres_server: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(
        "holter.server.database.postgresql._PING_INTERVAL", -1.0
    )  # as after more than a second
    for _ in range(2):
        with reading(engine) as connection:
            number = connection.scalar(text("SELECT pg_backend_pid()"))
        cut(postgres_server, number)


def test_recently_cut_connection_fails_one_statement(
    engine: Engine, postgres_server: str, caplog: pytest.LogCaptureFixture
) -> None:
    with writing(engine) as connection:
        number = connection.scalar(text("SELECT pg_backend_pid()"))
    cut(postgres_server, number)
    with pytest.raises(OperationalError), writing(engine) as connection:
        connection.scalar(select(1))
    with writing(engine) as connection:
        assert connection.scalar(select(1)) == 1
    assert not caplog.records


@pytest.mark.parametrize(
    "setting", ["idle_in_transaction_session_timeout", "transaction_timeout", "statement_timeout"]
)
def test_administrator_timeouts_count_as_unavailable(postgres_url: str, setting: str) -> None:
    limited = connect(make_url(postgres_url).update_query_dict({"options": f"-c {setting}=100"}))

    def linger() -> None:
        with reading(limited) as connection:
            connection.execute(select(1))
            if setting != "statement_timeout":
                connection.execute(select(2))  # alone: what goes with others does not always start the clock
                time.sleep(0.5)
            connection.execute(text("SELECT pg_sleep(0.5)"))

    def works() -> bool:
        with suppress(DBAPIError), reading(limited) as connection:
            return connection.scalar(select(1)) == 1
        return False

    with pytest.raises(DBAPIError) as caught:
        linger()
    assert unavailable_reason(caught.value) == "the database takes longer than its settings allow"
    assert any(works() for _ in range(20))  # on a busy machine a short transaction may take as long, too
    limited.dispose()


def test_prepared_statements_can_be_disabled_for_poolers(postgres_url: str) -> None:
    engine = connect(make_url(postgres_url).update_query_dict({"prepare_threshold": "none"}))
    for _ in range(10):
        with reading(engine) as connection:
            connection.execute(select(1))
    with writing(engine) as connection:
        connection.execute(
            insert(Project), [{"name": "a", "created_at": 1.0}, {"name": "b", "created_at": 1.0}]
        )
        assert connection.scalar(text("SELECT count(*) FROM pg_prepared_statements")) == 0
    engine.dispose()


def test_a_pooler_that_loses_prepared_statements_is_named(engine: Engine) -> None:
    with reading(engine) as connection:
        for _ in range(10):
            connection.execute(select(1))
        # as if the connection were another one now; psycopg would hear of it if it were told
        connection.connection.driver_connection.pgconn.exec_(b"DEALLOCATE ALL")
        with pytest.raises(DBAPIError) as caught:
            connection.execute(select(1))
    assert "prepare_threshold=none" in (unavailable_reason(caught.value) or "")
    with reading(engine) as connection:
        assert connection.scalar(select(1)) == 1


def test_a_connection_in_use_at_the_disposal_is_closed_when_returned(
    postgres_url: str,
) -> None:
    engine = connect(postgres_url)
    with engine.connect() as line:
        used = line.connection.driver_connection
        assert used is not None
        engine.dispose()
        assert line.scalar(text("SELECT 1")) == 1
    assert used.closed


def test_invalid_prepare_threshold_is_rejected() -> None:
    with pytest.raises(ValueError, match="prepare_threshold=often: use a number, or none"):
        connect("postgresql://host/holter?prepare_threshold=often").connect()


def test_the_parts_of_an_address_reach_the_driver() -> None:
    engine = connect("postgresql://holter:p%40ss%3A%2F%3F%23%25@db/h?sslmode=require&options=-c%20jit%3Doff")
    _, named = engine.dialect.create_connect_args(engine.url)
    assert named["password"] == "p@ss:/?#%"
    assert (named["user"], named["host"], named["dbname"]) == ("holter", "db", "h")
    assert (named["sslmode"], named["options"]) == ("require", "-c jit=off")
    assert "p@ss" not in str(engine.url)


def test_a_role_that_may_only_read_and_write_rows(postgres_cluster: Postgres, engine: Engine) -> None:
    role = f"role_{uuid4().hex[:8]}"
    with writing(engine) as connection:
        for statement in (
            f"CREATE ROLE {role} LOGIN",
            f"GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA public TO {role}",
            f"GRANT USAGE ON ALL SEQUENCES IN SCHEMA public TO {role}",
        ):
            connection.execute(text(statement))
    limited = connect(make_url(postgres_cluster.url(str(engine.url.database))).set(username=role))
    upgrade(limited)  # which is done already
    store = Store(limited)
    store.start()
    for step in range(0, 3000, 100):
        store.accept(delivery(step, 100))
    assert store.compact() == len(KEYS)
    assert store.check() == []
    store.close()
    limited.dispose()
    with writing(engine) as connection:
        connection.execute(text(f"DROP OWNED BY {role}"))
        connection.execute(text(f"DROP ROLE {role}"))
