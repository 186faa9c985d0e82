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
from tests.api.conftest import served
from tests.faults.feeding import Feeder, assert_all_is_there, feeding
from tests.postgres import Postgres, postgres
from tests.waiting import wait_for

LOCK_LOG = "BEGIN; LOCK TABLE log IN ACCESS EXCLUSIVE MODE"
HANG_UP = (
    "SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
    "WHERE datname = current_database() AND pid <> pg_backend_pid()"
)


@pytest.mark.parametrize(
    ("setting", "meanwhile", "said"),
    [
        ("lock_timeout = '200ms'", LOCK_LOG, "others have locked the database for long"),
        ("statement_timeout = '200ms'", LOCK_LOG, "the database takes longer than its settings allow"),
        ("default_transaction_read_only = on", "", "the database may not be written just now"),
    ],
)
def test_what_it_refuses_for_now_is_sent_again(
    postgres_url: str, setting: str, meanwhile: str, said: str, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.CRITICAL)
    name = make_url(postgres_url).database
    address = postgres_url.replace("postgresql+psycopg", "postgresql")
    with served(Settings(database_url=postgres_url)) as (_, url):
        feeders = [Feeder(int(url.rpartition(":")[2]), f"r{n}", pause=0.05) for n in range(3)]
        with feeding(feeders), httpx.Client(base_url=url, timeout=30) as client:
            wait_for(lambda: all(feeder.acknowledged > 3 for feeder in feeders))
            with psycopg.connect(address, autocommit=True) as admin:
                admin.execute(f"ALTER DATABASE {name} SET {setting}")
                admin.execute(HANG_UP)  # connections that come from now on have the setting
                if meanwhile:
                    wait_for_news(feeders)
                    admin.execute(meanwhile)
                wait_for(lambda: all(feeder.answers[503] for feeder in feeders))
                assert client.get("/healthz").status_code == 200
                refused = client.post("/api/v1/ingest", json={"project": "p", "run": "r", "columns": POINT})
                assert refused.status_code == 503
                assert said in refused.json()["detail"]
                admin.execute("ROLLBACK")
                admin.execute(f"ALTER DATABASE {name} RESET ALL")
                admin.execute(HANG_UP)
            wait_for_news(feeders)
            wait_for(lambda: client.get("/readyz").status_code == 200)
        for feeder in feeders:
            assert set(feeder.answers) == {200, 503}
            assert feeder.retry_after <= {"5", "1"}
    engine = connect(postgres_url)
    store = Store(engine)
    store.start()
    assert_all_is_there(store, feeders)
    store.close()
    engine.dispose()


def wait_for_news(feeders: list[Feeder]) -> None:
    """Until each has been acknowledged two batches more."""
    acknowledged = [feeder.acknowledged for feeder in feeders]
    wait_for(lambda: all(f.acknowledged > n + 1 for f, n in zip(feeders, acknowledged, strict=True)))


POINT = {"step": [1], "a": [1.0]}


@pytest.fixture
def own() -> Iterator[Postgres]:
    """A server whose files a test may damage."""
    with postgres() as server:
        yield server


def test_a_torn_page_of_its_files_is_said_and_the_others_are_read(
    own: Postgres, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.CRITICAL)
    url = own.url("postgres")
    feeders = [Feeder(0, "well"), Feeder(0, "hurt")]
    settings = Settings(database_url=url)
    with served(settings) as (context, _):
        for feeder in feeders:  # one after the other: the last page of the log is the second one's
            for number in range(200):
                context.store.accept(feeder.delivery(number))
            if feeder.run_name == "well":
                context.store.compact()
    with psycopg.connect(own.address, autocommit=True) as admin:
        row = admin.execute("SELECT pg_relation_filepath('log'), pg_relation_size('log')").fetchone()
        assert row is not None
        admin.execute("CHECKPOINT")
    own.stop()
    tear(own.data / row[0], row[1])
    own.start()
    with served(settings) as (context, address), httpx.Client(base_url=f"{address}/api/v1") as client:
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
