"""Imports while a server runs: through it, to the last bit, once, whatever ends before its time."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Iterator
from itertools import count
from pathlib import Path
from uuid import uuid4

import httpx
import numpy as np
import pytest
import zstandard
from hypothesis import HealthCheck, given
from hypothesis import settings as examples
from hypothesis import strategies as st
from sqlalchemy import Engine, func, select, update

from holter.server.context import ServerContext
from holter.server.database import reading, writing
from holter.server.import_export.file_formats import FORMATS
from holter.server.import_export.import_targets import (
    HttpImportTarget,
    ImportRejectedError,
    LocalImportTarget,
    ServerAddress,
    ServerUnavailableError,
)
from holter.server.import_export.importer import ImportContext
from holter.server.models import AnalysisRow, IncidentRow, RunRecord, UnreadableRow
from holter.server.store import Store
from holter.settings import Settings
from tests.support.exported_runs import COMPLETE, odd_run, random_batches, write_export
from tests.support.servers import Printed, Serve, forked
from tests.support.stored_runs import (
    LOSS,
    RANKED,
    add_incident,
    delivery,
    metadata_of,
    points_of,
    run_id_of,
    running_store,
)
from tests.support.waiting import wait_for

pytestmark = pytest.mark.slow

NUMBERS = count()
Running = tuple[ServerContext, str]


@pytest.fixture
def source(sqlite_engine: Engine, tmp_path: Path) -> Path:
    """A folder with an exported run in each form; it has an incident with a history."""
    with running_store(sqlite_engine) as store:
        run_id = odd_run(store)
    add_incident(sqlite_engine, run_id, start=100, end=140)
    for form in FORMATS:
        write_export(sqlite_engine, run_id, form, tmp_path / f"a.{form}")
    return tmp_path


@pytest.fixture
def live(serve: Serve, database_url: str) -> Iterator[Running]:
    """A running server on either kind of database; on SQLite the sources come from another file."""
    with serve(Settings(database_url=database_url)) as running_server:
        yield running_server


@pytest.fixture
def database_url(request: pytest.FixtureRequest, sqlite_template: Path, tmp_path: Path) -> str:
    """A database of the server's own beside that of the sources."""
    if request.param == "postgresql":
        url: str = request.getfixturevalue("postgres_url")
        return url
    (tmp_path / "live").mkdir()
    (tmp_path / "live" / "holter.db").write_bytes(sqlite_template.read_bytes())
    return f"sqlite:///{tmp_path / 'live' / 'holter.db'}"


both = pytest.mark.parametrize("database_url", ["sqlite", "postgresql"], indirect=True)
sqlite = pytest.mark.parametrize("database_url", ["sqlite"], indirect=True)


def notes(engine: Engine) -> list[str]:
    with reading(engine) as connection:
        return list(connection.scalars(select(UnreadableRow.reason)))


@both
@pytest.mark.parametrize("form", FORMATS)
def test_import_through_a_server_is_lossless_and_idempotent(
    sqlite_engine: Engine, live: Running, source: Path, form: str
) -> None:
    context, address = live
    heard: list[int] = []
    with HttpImportTarget(ServerAddress(address), stored=heard.append) as sender:
        done = sender.file(source / f"a.{form}", project="llm")
        again = sender.file(source / f"a.{form}", project="llm")
    assert (done.project, done.run, done.points, done.duplicate) == ("llm", "a", 615, False)
    assert (again.run_id, again.points, again.duplicate) == (done.run_id, 0, True)
    assert heard[0] > 0
    was, now = run_id_of(sqlite_engine, "a"), run_id_of(context.engine, "a")
    assert points_of(context.engine, now) == points_of(sqlite_engine, was)
    if form in COMPLETE:
        assert metadata_of(context.engine, now) == metadata_of(sqlite_engine, was)
    assert context.store.check() == []
    assert notes(context.engine) == []


@both
def test_imported_incidents_are_not_reanalysed(live: Running, source: Path) -> None:
    context, address = live
    with HttpImportTarget(ServerAddress(address)) as sender:
        sender.file(source / "a.parquet")
        sender.file(source / "a.csv", run="plain")
    whole, plain = run_id_of(context.engine, "a"), run_id_of(context.engine, "plain")

    def looked_at() -> set[int]:
        with reading(context.engine) as connection:
            return set(connection.scalars(select(AnalysisRow.run_id)))

    wait_for(lambda: plain in looked_at())  # and the other one came before it
    with reading(context.engine) as connection:
        found = connection.execute(
            select(IncidentRow.run_id, IncidentRow.start_step, IncidentRow.state)
        ).all()
    assert [tuple(row[1:]) for row in found if row.run_id == whole] == [(100, "recovered")]
    new = delivery(np.arange(601, 640), {LOSS: np.full(39, np.nan)}, batch_id="on", attempt="7")
    context.store.accept(new)

    def kinds() -> set[str]:
        with reading(context.engine) as connection:
            return set(connection.scalars(select(IncidentRow.kind).where(IncidentRow.run_id == whole)))

    wait_for(lambda: "nonfinite" in kinds())  # what comes later is looked at as ever


@both
def test_interrupted_import_is_marked_and_continued(
    sqlite_engine: Engine, live: Running, source: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    context, address = live
    with monkeypatch.context() as patch:
        accept, taken = context.store.accept, count()

        def fails(one: object) -> object:
            if next(taken):
                raise MemoryError("the server is out of it")
            return accept(one)  # type: ignore[arg-type]

        patch.setattr(context.store, "accept", fails)
        with (
            HttpImportTarget(ServerAddress(address)) as sender,
            pytest.raises(ServerUnavailableError, match="repeat the same command to continue"),
        ):
            sender.file(source / "a.parquet")
    assert notes(context.engine) == [
        "the run was not imported completely: repeat the same import to continue"
    ]
    page = httpx.get(f"{address}/api/v1/runs", timeout=60).json()["runs"][0]["id"]
    detail = httpx.get(f"{address}/api/v1/runs/{page}", timeout=60).json()
    assert detail["unreadable"][0]["source"] == "holter import"
    with HttpImportTarget(ServerAddress(address)) as sender:
        done = sender.file(source / "a.parquet")
    assert (done.duplicate, done.whole) == (False, True)
    assert notes(context.engine) == []
    was, now = run_id_of(sqlite_engine, "a"), run_id_of(context.engine, "a")
    assert points_of(context.engine, now) == points_of(sqlite_engine, was)
    assert metadata_of(context.engine, now) == metadata_of(sqlite_engine, was)


@sqlite
def test_interrupted_upload_leaves_nothing(live: Running, source: Path) -> None:
    context, address = live

    def cut() -> Iterator[bytes]:
        yield (source / "a.csv").read_bytes()[:5000]
        raise KeyboardInterrupt

    with httpx.Client(base_url=address, timeout=60) as client, pytest.raises(KeyboardInterrupt):
        client.post("/api/v1/import", content=cut(), params={"run": "cut"})
    folder = Path(str(context.engine.url.database)).parent
    wait_for(lambda: context.uploads.active == 0)
    assert {path.name.partition(".db")[0] for path in folder.iterdir()} == {"holter"}
    with reading(context.engine) as connection:
        assert connection.scalar(select(func.count()).select_from(RunRecord)) == 0


@sqlite
@pytest.mark.parametrize(
    ("content", "params", "status", "reason"),
    [
        (b"metric,step,value\nloss,1,0.5\nloss,two,0.5\n", {}, 422, "line 3: step: expected a whole number"),
        (b'{"metric": "loss", "step": 1, "value": 1}\n', {}, 422, "JSON lines are not imported"),
        (b"ARROW1 and no more", {}, 422, "Arrow files are not imported"),
        (b"", {}, 422, "no column metric, step, value"),
        (b"PAR1 and no more", {}, 422, "not a readable Parquet file"),
        (b"metric,step,value\nloss,1,1\n", {"run": "x" * 501}, 422, "at most 500 characters"),
        (b"metric,step,value\nloss,1,1\n", {"project": "a\0b"}, 422, "cannot be stored"),
        (b"metric,step,value\nloss,1,1\n", {"job": "x"}, 422, "expected project, run, file"),
        (b'{"holter_export": 1, "run": 7, "series": [\n]}\n', {}, 422, "expected an object 'run'"),
        (b'{"holter_export": 1, "kept": {}, "series": [\n{"metric":"a","labels":{},"attempt":[0],"step":[0],'
         b'"time":[null],"value":[1]}\n]}\n', {}, 422, "missing required field `identity`"),
    ],
)  # fmt: skip
def test_refused_import_gives_the_reason_and_leaves_nothing(
    live: Running, content: bytes, params: dict[str, str], status: int, reason: str
) -> None:
    context, address = live
    answer = httpx.post(
        f"{address}/api/v1/import", content=content, params={"file": "odd"} | params, timeout=60
    )
    assert (answer.status_code, reason in answer.text) == (status, True), answer.text
    with reading(context.engine) as connection:
        assert connection.scalar(select(func.count()).select_from(RunRecord)) == 0


@sqlite
def test_invalid_end_of_a_file_leaves_nothing(live: Running) -> None:
    context, address = live
    lines = [f"loss,{step},1\n" for step in range(40_000)]
    content = "metric,step,value\n" + "".join(lines) + "loss,end,1\n"
    answer = httpx.post(f"{address}/api/v1/import", content=content, params={"run": "long"}, timeout=60)
    assert answer.status_code == 200  # it began well
    first, last = (json.loads(line) for line in answer.text.splitlines())
    assert first["points"] == 32_768
    assert "line 40002: step: expected a whole number" in last["detail"]
    with reading(context.engine) as connection:
        assert connection.scalar(select(func.count()).select_from(RunRecord)) == 0
    fixed = content.replace("loss,end,1\n", "")
    answer = httpx.post(f"{address}/api/v1/import", content=fixed, params={"run": "long"}, timeout=60)
    assert json.loads(answer.text.splitlines()[-1])["whole"]


def test_bounds_and_headers(serve: Serve, sqlite_url: str) -> None:
    with serve(Settings(database_url=sqlite_url, max_import_mb=1)) as (_, address):
        url = f"{address}/api/v1/import"
        bomb = zstandard.ZstdCompressor().compress(bytes(4_000_000))
        assert httpx.post(url, content=bytes(1_100_000), timeout=60).status_code == 413
        packed = httpx.post(url, content=bomb, headers={"Content-Encoding": "zstd"}, timeout=60)
        assert (packed.status_code, "max_import_mb" in packed.text) == (413, True)
        damaged = httpx.post(url, content=bomb[20:], headers={"Content-Encoding": "zstd"}, timeout=60)
        assert (damaged.status_code, "not zstd" in damaged.text) == (400, True)
        other = httpx.post(url, content=b"", headers={"Content-Encoding": "br"}, timeout=60)
        assert (other.status_code, "expected zstd or none" in other.text) == (415, True)
        foreign = httpx.post(url, content=b"", headers={"Origin": "https://elsewhere.example"}, timeout=60)
        assert foreign.status_code == 403


def test_imports_are_processed_one_at_a_time(live_sqlite: Running, source: Path) -> None:
    _, address = live_sqlite
    done: list[str] = []

    def send(name: str) -> None:
        with HttpImportTarget(ServerAddress(address)) as sender:
            done.append(sender.file(source / "a.csv", run=name).run)

    threads = [threading.Thread(target=send, args=(f"copy {number}",)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(done) == [f"copy {number}" for number in range(4)]


@pytest.fixture
def live_sqlite(serve: Serve, sqlite_template: Path, tmp_path: Path) -> Iterator[Running]:
    """A running server on SQLite, with a small quota for the projects named for it."""
    path = tmp_path / "quota.db"
    path.write_bytes(sqlite_template.read_bytes())
    projects = {
        "few": {"quota": {"max_series_per_run": 2}},
        "slow": {"quota": {"max_points_per_second": 200, "burst_seconds": 1}},
    }
    with serve(Settings(database_url=f"sqlite:///{path}", projects=projects)) as running_server:  # type: ignore[arg-type]
        yield running_server


def test_quota_slows_an_import_or_rejects_it_completely(live_sqlite: Running, source: Path) -> None:
    context, address = live_sqlite
    with HttpImportTarget(ServerAddress(address)) as sender:
        with pytest.raises(ImportRejectedError, match="max_series_per_run"):
            sender.file(source / "a.csv", project="few")
        with reading(context.engine) as connection:
            assert connection.scalar(select(func.count()).select_from(RunRecord)) == 0
        assert sender.file(source / "a.csv", project="slow").points == 615


@pytest.mark.slow
def test_the_command_finds_the_server_that_has_the_file(
    holter: Printed, sqlite_engine: Engine, source: Path, tmp_path: Path
) -> None:
    folder = tmp_path / "held"
    with forked("serve", "--data-dir", folder) as (_, address):
        code, printed, complaint = holter("import", source / "a.parquet", "--data-dir", folder)
        assert (code, "615 points" in printed) == (0, True), complaint
        assert complaint == f"holter: a server is using the database: importing through it, at {address}\n"
        assert "was imported before" in holter("import", source / "a.parquet", "--data-dir", folder)[1]
        code, _, complaint = holter("import", source / "a.json", "--data-dir", folder)
        assert (code, "give it another name with --run" in complaint) == (1, True)
        page = httpx.get(f"{address}/api/v1/runs", timeout=60).json()["runs"][0]
        assert (page["name"], page["points"]) == ("a", 615)
    code, printed, complaint = holter("import", source / "a.json", "--run", "b", "--data-dir", folder)
    assert (code, complaint) == (0, "")  # and without one it goes on by itself


def test_lock_owner_without_address_is_named(
    holter: Printed, source: Path, sqlite_url: str, sqlite_engine: Engine
) -> None:
    with running_store(sqlite_engine):
        code, _, complaint = holter("import", source / "a.csv", "--database-url", sqlite_url)
    assert (code, "in use by another Holter server (process" in complaint) == (1, True)


def test_import_through_a_server_with_login_needs_a_token(
    holter: Printed, serve: Serve, source: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    where = ("--data-dir", tmp_path / "guarded")
    assert holter("db", "upgrade", *where)[0] == 0
    token = holter("token", "create", "me", "--scope", "all", *where)[1].split()[-1]
    url = f"sqlite:///{tmp_path / 'guarded' / 'holter.db'}"
    with serve(Settings(database_url=url, password="correct horse")) as (_, address):  # type: ignore[arg-type]
        code, _, complaint = holter("import", source / "a.csv", "--server", address)
        assert (code, "send a token (HOLTER_TOKEN" in complaint) == (1, True)
        code, _, complaint = holter("import", source / "a.csv", "--server", address, "--token", "wrong")
        assert (code, "not known, or has been revoked" in complaint) == (1, True)
        monkeypatch.setenv("HOLTER_TOKEN", token)
        assert holter("import", source / "a.csv", "--server", address)[0] == 0


def test_non_holter_server_is_reported(holter: Printed, source: Path) -> None:
    for server, reason in (
        ("http://127.0.0.1:1", "http://127.0.0.1:1: [Errno"),
        ("127.0.0.1:8765", "expected http://HOST[:PORT]"),
    ):
        code, _, complaint = holter("import", source / "a.csv", "--server", server)
        assert (code, reason in complaint) == (1, True), complaint
    code, _, complaint = holter("import", source / "a.csv", "--server", "http://h", "--data-dir", "x")
    assert (code, "cannot be combined" in complaint) == (1, True)


@pytest.mark.slow
@examples(
    max_examples=15,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(random_batches(), st.sampled_from(FORMATS), st.booleans())
@both
def test_random_runs_survive_import_and_export_through_a_server(
    live: Running, sqlite_engine: Engine, tmp_path: Path, batches: list, form: str, ended: bool
) -> None:
    context, address = live
    name = f"run-{next(NUMBERS)}"
    with running_store(sqlite_engine) as store:
        for at, (attempt, steps, values, times) in enumerate(batches):
            one = delivery(steps, values, batch_id=str(at), times=times, run=name, attempt=attempt)
            run_id = store.accept(one).run_id
        store.accept(
            delivery(np.arange(3), {RANKED: np.array([-0.0, 5e-324, np.inf])}, batch_id="r", run=name)
        )
        store.compact(run_id)
    if ended:
        with writing(sqlite_engine) as connection:
            connection.execute(update(RunRecord).where(RunRecord.id == run_id).values(finished_at=1.8e9))
    file = write_export(sqlite_engine, run_id, form, tmp_path / f"{name}.{form}")
    with HttpImportTarget(ServerAddress(address)) as sender:
        done = sender.file(file, project="llm")
    there = run_id_of(context.engine, name)
    assert points_of(context.engine, there) == points_of(sqlite_engine, run_id)
    back = httpx.get(f"{address}/api/v1/runs/{done.run_id}/export", params={"format": form}, timeout=60)
    (tmp_path / f"back.{form}").write_bytes(back.content)
    with running_store(sqlite_engine) as store:
        here = LocalImportTarget(ImportContext(engine=sqlite_engine, store=store))
        again = here.file(tmp_path / f"back.{form}", project=f"back {uuid4().hex}", run=f"{name} again")
    assert points_of(sqlite_engine, run_id_of(sqlite_engine, again.run)) == points_of(sqlite_engine, run_id)
    if form in COMPLETE:
        stored = metadata_of(sqlite_engine, run_id_of(sqlite_engine, again.run))
        # the other server may have analysed the run before it exported it
        ours = {"project": again.project, "analyzed": stored["analyzed"]}
        assert stored == metadata_of(sqlite_engine, run_id) | ours


def test_imported_run_is_updated_at_its_arrival(live_sqlite: Running, source: Path) -> None:
    context, address = live_sqlite
    before = time.time()
    with HttpImportTarget(ServerAddress(address)) as sender:
        sender.file(source / "a.json")
    with reading(context.engine) as connection:
        assert connection.execute(select(RunRecord.updated_at)).scalar_one() >= before
    assert Store(context.engine).check() == []
