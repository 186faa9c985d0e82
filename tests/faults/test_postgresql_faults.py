"""PostgreSQL answers, but not as it should: locks, limits, a standby, damaged pages. None of it is a no."""

from __future__ import annotations

import logging
import re
from collections.abc import Iterator
from pathlib import Path

import httpx
import psycopg
import pytest
from sqlalchemy import make_url

from holter.server.database import connect
from holter.server.store import Store
from holter.settings import Settings
from tests.support.batch_senders import BatchSender, assert_all_is_there, sending
from tests.support.postgresql import Postgres, postgres
from tests.support.servers import served
from tests.support.waiting import wait_for

pytestmark = pytest.mark.slow

LOCK_LOG = "BEGIN; LOCK TABLE log IN ACCESS EXCLUSIVE MODE"
HANG_UP = (
    "SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
    "WHERE datname = current_database() AND pid <> pg_backend_pid()"
)


@pytest.mark.parametrize(
    ("setting", "meanwhile", "said"),
    [
        ("lock_timeout = '200ms'", LOCK_LOG, "other clients have locked the database for long"),
        ("statement_timeout = '200ms'", LOCK_LOG, "the database takes longer than its settings allow"),
        ("default_transaction_read_only = on", "", "the database is read-only at the moment"),
    ],
)
def test_busy_server_is_retried(
    postgres_url: str, setting: str, meanwhile: str, said: str, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.CRITICAL)
    name = make_url(postgres_url).database
    address = postgres_url.replace("postgresql+psycopg", "postgresql")
    with served(Settings(database_url=postgres_url)) as (_, url):
        senders = [BatchSender(int(url.rpartition(":")[2]), f"r{n}", pause=0.05) for n in range(3)]
        with sending(senders), httpx.Client(base_url=url, timeout=60) as client:
            wait_for(lambda: all(sender.acknowledged > 3 for sender in senders))
            with psycopg.connect(address, autocommit=True) as admin:
                admin.execute(f"ALTER DATABASE {name} SET {setting}")
                admin.execute(HANG_UP)  # connections that come from now on have the setting
                if meanwhile:
                    wait_for_news(senders)
                    admin.execute(meanwhile)
                wait_for(lambda: all(sender.answers[503] for sender in senders))
                assert client.get("/healthz").status_code == 200
                # a connection that the database ended is told as one that does not answer, once
                wait_for(lambda: said in _refusal(client))
                admin.execute("ROLLBACK")
                admin.execute(f"ALTER DATABASE {name} RESET ALL")
                admin.execute(HANG_UP)
            wait_for_news(senders)
            wait_for(lambda: client.get("/readyz").status_code == 200)
        for sender in senders:
            assert set(sender.answers) == {200, 503}
            assert sender.retry_after <= {"5", "1"}
    engine = connect(postgres_url)
    store = Store(engine)
    store.start()
    assert_all_is_there(store, senders)
    store.close()
    engine.dispose()


def _refusal(client: httpx.Client) -> str:
    """Why a point is refused for now."""
    answer = client.post("/api/v1/ingest", json={"project": "p", "run": "r", "columns": POINT})
    assert answer.status_code == 503
    return str(answer.json()["detail"])


def wait_for_news(senders: list[BatchSender]) -> None:
    """Until each has been acknowledged two batches more."""
    acknowledged = [sender.acknowledged for sender in senders]
    wait_for(lambda: all(f.acknowledged > n + 1 for f, n in zip(senders, acknowledged, strict=True)))


POINT = {"step": [1], "a": [1.0]}


@pytest.fixture
def own() -> Iterator[Postgres]:
    """A server whose files a test may damage."""
    with postgres() as server:
        yield server


def test_torn_page_of_postgresql_is_reported(own: Postgres, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.CRITICAL)
    url = own.url("postgres")
    senders = [BatchSender(0, "well"), BatchSender(0, "hurt")]
    settings = Settings(database_url=url)
    with served(settings) as (context, _):
        for sender in senders:  # one after the other: the last page of the log is the second one's
            for number in range(200):
                context.store.accept(sender.delivery(number))
            if sender.run_name == "well":
                context.store.compact()
    with psycopg.connect(own.address, autocommit=True) as admin:
        row = admin.execute("SELECT pg_relation_filepath('log'), pg_relation_size('log')").fetchone()
        assert row is not None
        admin.execute("CHECKPOINT")
    own.stop()
    tear(own.data / row[0], row[1])
    own.start()
    with (
        served(settings) as (context, address),
        httpx.Client(base_url=f"{address}/api/v1", timeout=60) as client,
    ):
        runs = {run["name"]: run for run in client.get("/runs").json()["runs"]}
        assert (runs["well"]["points"], runs["well"]["damaged"]) == (200 * 150, None)
        assert "page" in runs["hurt"]["damaged"]
        chart = client.get(f"/runs/{runs['well']['id']}/data", params={"metric": "m0"})
        assert chart.status_code == 200
        answer = client.get(f"/runs/{runs['hurt']['id']}/data", params={"metric": "m0"})
        assert answer.status_code == 500
        assert re.search("damaged data: .*page", answer.json()["detail"])
        assert context.store.check()


def tear(file: Path, size: int) -> None:
    """The last page of a file as it is where a power failure has ended its writing in the middle."""
    with file.open("r+b") as pages:
        pages.seek(size - 8192)
        pages.write(b"\x5a" * 4096)
