"""The commands and the Python examples of the documentation run.

Every block in the language `sh` or `python` is run as it is written, except those after a comment
`<!-- not run: REASON -->`. The blocks of a page share a folder with sample logs and a database that
contains the run `llm/104b`. Names that stand for something of the reader's, such as `holter.example.com`, are
replaced by real servers, databases and tokens of this machine.
"""

from __future__ import annotations

import gzip
import os
import re
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from uuid import uuid4

import httpx
import numpy as np
import pytest
from sqlalchemy.orm import Session

from holter.server.database import connect
from holter.server.tokens import TokenScope, create
from holter.settings import Settings
from tests.support.documentation import PAGES, ROOT, Block, blocks_of
from tests.support.postgresql import Postgres
from tests.support.receivers import SlackServer
from tests.support.servers import served
from tests.support.stored_runs import LOSS, NORM, delivery, running_store
from tests.support.waiting import wait_for

SUPPORT, DATA = ROOT / "tests" / "support", ROOT / "tests" / "data"
TESTED_ELSEWHERE = {"docs/library.md"}  # with its output: tests/library/test_library_page.py
COMMAND = re.compile(
    r"^(?:\$ |\w+=\S+ )*(?:holter|make|pip|curl|export|python|psql|docker|kubectl) ", re.MULTILINE
)
POSTGRESQL = re.compile(r"postgresql\+psycopg://(?:holter:PASSWORD@db\.example\.com/holter|\.\.\.)")

LOGS = {
    "runs/a/train.log": "console/nanogpt.out",
    "runs/b/train.log": "console/nanogpt.out",
    "logs/run-1/train.log": "console/nanogpt.out",
    "logs/run-2/train.log": "console/megatron.out",
    "run.out": "collectives/nccl-init.log",
}
"""Files that commands of the documentation read, and the samples that they are."""

NAMES = {
    "docs/client.md": "steps, loss, norm, lr = 3, 2.3, 0.8, 3e-4",
    "docs/tuning.md": "frame = {'step': [1, 2, 3], 'loss': [2.3, 2.2, 2.1]}",
}
"""What the Python examples of a page leave to the reader, defined before they run."""


def runnable(page: Path) -> list[Block]:
    """The blocks of a page that this test runs."""
    if str(page.relative_to(ROOT)) in TESTED_ELSEWHERE:
        return []
    return [block for block in blocks_of(page, "sh", "python") if block.reason is None]


def page_parameters() -> Iterator[object]:
    """The pages with something to run; those with a PostgreSQL database are in its lane of tests."""
    for page in PAGES:
        if blocks := runnable(page):
            needs_postgresql = any(POSTGRESQL.search(block.text) for block in blocks)
            marks = [pytest.mark.postgresql] if needs_postgresql else []
            yield pytest.param(page, id=str(page.relative_to(ROOT)), marks=marks)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_commands_are_in_blocks_that_run_or_state_why_not(page: Path) -> None:
    text = page.read_text()
    comments = re.findall(r"^ *<!-- not run: ", text, re.MULTILINE)
    assert len(comments) == sum(block.reason is not None for block in blocks_of(page, "sh", "python"))
    for block in blocks_of(page, "", "bash", "shell", "console"):
        assert not COMMAND.search(block.text), f"{page}, line {block.line}: use ```sh"
    prose = re.sub(r"^ *```.*?^ *```", "", text, flags=re.MULTILINE | re.DOTALL)
    indented = "".join(re.findall(r"^    .*\n", prose, re.MULTILINE)).replace("    ", "")
    assert not COMMAND.search(indented), f"{page}: use ```sh"


@dataclass(frozen=True)
class Servers:
    """A server without login and one with it, with its tokens for programs and for everything."""

    open: str
    protected: str
    ingest_token: str
    token: str


@pytest.fixture(scope="module")
def servers(tmp_path_factory: pytest.TempPathFactory, sqlite_template: Path) -> Iterator[Servers]:
    """Two servers that already have the run `llm/104b`."""
    folders = [tmp_path_factory.mktemp("server") for _ in range(2)]
    for folder in folders:
        fill_database(folder, sqlite_template)
    engine = connect(f"sqlite:///{folders[1] / 'holter.db'}")
    with Session(engine) as session, session.begin():
        ingest = create(session, "jobs", now=1.7e9)
        everything = create(session, "people", now=1.7e9, scope=TokenScope.ALL)
    engine.dispose()
    with (
        served(Settings(data_dir=folders[0])) as (_, open_address),
        served(Settings(data_dir=folders[1], password="a long one")) as (_, protected_address),
    ):
        yield Servers(open_address, protected_address, ingest, everything)


def fill_database(folder: Path, template: Path) -> None:
    """A database in `folder` that contains the run `llm/104b`."""
    shutil.copy(template, folder / "holter.db")
    steps = np.arange(1000)
    values = 2 + 6 * (steps + 20.0) ** -0.35
    engine = connect(f"sqlite:///{folder / 'holter.db'}")
    with running_store(engine) as store:
        store.accept(delivery(steps, {LOSS: values, NORM: values / 3}, batch_id="0", run="104b"))
    engine.dispose()


@pytest.fixture(scope="module")
def command(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A folder with the programs `holter` and `python`."""
    folder = tmp_path_factory.mktemp("bin")
    socket = folder / "socket"
    client = f"{sys.executable} -IS {SUPPORT / 'command_client.py'} {socket}"
    for name, program in {"holter": client, "python": sys.executable}.items():
        (folder / name).write_text(f'#!/bin/sh\nexec {program} "$@"\n')
        (folder / name).chmod(0o755)
    host = subprocess.Popen([sys.executable, SUPPORT / "command_host.py", socket], start_new_session=True)
    try:
        wait_for(socket.exists)
        yield folder
    finally:
        os.killpg(host.pid, signal.SIGKILL)
        host.wait()


@pytest.fixture
def folder(tmp_path: Path, sqlite_template: Path) -> Path:
    """The folder in which the commands of a page run: with logs, a script, and the files of a tracker."""
    for name, sample in LOGS.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(DATA / sample, tmp_path / name)
    (tmp_path / "train.py").write_text(
        "for step in range(5): print(f'step {step}: loss {3 - step / 9:.4f}')\n"
    )
    database = (ROOT / "tests/import_export/data/mlflow.db.gz").read_bytes()
    (tmp_path / "mlflow.db").write_bytes(gzip.decompress(database))
    (tmp_path / ".curlrc").write_text("fail-with-body\n")
    (tmp_path / "share").mkdir()
    fill_database(tmp_path / "share", sqlite_template)
    for name in ("scratch/spool", "path/to", "etc/holter"):
        (tmp_path / name).mkdir(parents=True)
    (tmp_path / "etc/holter/new-database").write_text(f"sqlite:///{tmp_path / 'new.db'}\n")
    return tmp_path


@pytest.fixture
def fresh_postgresql(request: pytest.FixtureRequest) -> Callable[[], str]:
    """Creates an empty PostgreSQL database; its address. The server starts with the first one."""

    def create_database() -> str:
        cluster: Postgres = request.getfixturevalue("postgres_cluster")
        name = f"documented_{uuid4().hex}"
        with cluster.connection() as connection:
            connection.execute(f"CREATE DATABASE {name}")
        return cluster.url(name)

    return create_database


class Runner:
    """Runs the blocks of a page."""

    def __init__(
        self,
        folder: Path,
        command: Path,
        servers: Servers,
        slack: SlackServer,
        fresh_postgresql: Callable[[], str],
    ) -> None:
        self._folder, self._servers, self._fresh_postgresql = folder, servers, fresh_postgresql
        self._placeholders = {
            "http://127.0.0.1:8765": servers.open,
            "https://holter.example.com": servers.protected,
            "http://holter.example.com:8765": servers.protected,
            "HOLTER_TOKEN=...": f"HOLTER_TOKEN={servers.ingest_token}",
            "Bearer TOKEN": f"Bearer {servers.token}",
            "HOLTER_SLACK_WEBHOOK_URL=https://hooks.slack.com/services/...": (
                """HOLTER_CHANNELS='{"slack": {"allow_private": true}}' """
                f"HOLTER_SLACK_WEBHOOK_URL={slack.url}/services/T0/B0/secret"
            ),
            "RUN_ID": httpx.get(f"{servers.open}/api/v1/runs?q=104b", timeout=60).json()["runs"][0]["id"],
            **{f" {name}": f" {folder}{name}" for name in ("/logs/", "/scratch/", "/etc/holter/")},
            ":////path/to/": f":///{folder}/path/to/",
        }
        inherited = {name: value for name, value in os.environ.items() if not name.startswith("HOLTER_")}
        self._environment = inherited | {
            "HOME": str(folder),
            "PATH": f"{command}:{os.environ['PATH']}",
            "HOLTER_DATA_DIR": str(folder / "share"),
            "HOLTER_PORT": "0",
            "HOLTER_SPOOL_DIR": str(folder / "spool"),
            "HOLTER_SERVER": servers.protected,
            "HOLTER_TOKEN": servers.token,
            "MPLBACKEND": "Agg",
            "PYTHONPATH": "",
        }

    def run(self, page: str, block: Block) -> None:
        """Run one block; it must succeed."""
        if block.language == "python":
            program = ["python", "-c", f"{NAMES.get(page, '')}\n{block.text}"]
        else:
            program = ["bash", "-eu", "-o", "pipefail", "-c", block.text]
        program = [self._filled(word) for word in program]
        done = subprocess.run(
            program,
            cwd=self._folder,
            env=self._environment,
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )
        place = f"{page}, line {block.line}"
        assert done.returncode == 0, f"{place}: exit code {done.returncode}\n{done.stdout}{done.stderr}"
        unsent = list(self._folder.glob("spool/*"))
        assert not unsent, f"{place}: points were not sent\n{done.stderr}"

    def _filled(self, text: str) -> str:
        for name, value in self._placeholders.items():
            text = text.replace(name, value)
        return POSTGRESQL.sub(lambda _: self._fresh_postgresql(), text)


@pytest.fixture
def runner(
    folder: Path, command: Path, servers: Servers, slack: SlackServer, fresh_postgresql: Callable[[], str]
) -> Runner:
    """Runs blocks in the folder."""
    return Runner(folder, command, servers, slack, fresh_postgresql)


@pytest.mark.slow
@pytest.mark.parametrize("page", list(page_parameters()))
def test_the_blocks_of_a_page_run(page: Path, runner: Runner) -> None:
    for block in runnable(page):
        runner.run(str(page.relative_to(ROOT)), block)
