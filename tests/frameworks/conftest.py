"""The Python with the frameworks (`make test-frameworks`), and a real server that trainings log to."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.support.client_server import Server
from tests.support.processes import killed_afterwards
from tests.support.requirements import skip_missing

ROOT = Path(__file__).parents[2]
TRAININGS = ROOT / "tests" / "support" / "framework_trainings"
Train = Callable[..., "subprocess.Popen[str]"]


@pytest.fixture(scope="session")
def server(frameworks: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    server = Server(tmp_path_factory.mktemp("server"))
    server.start()
    yield server
    server.stop()


@pytest.fixture(scope="session")
def frameworks() -> Path:
    """The Python that has the frameworks."""
    stated = os.environ.get("HOLTER_FRAMEWORKS_PYTHON")
    if not stated:
        skip_missing(
            "transformers, lightning, accelerate, keras, trl: make test-frameworks", fails_in_ci=False
        )
    return Path(stated)


@pytest.fixture
def train(frameworks: Path, server: Server, tmp_path: Path) -> Iterator[Train]:
    """Starts a training of tests/support/framework_trainings; what still runs at the end is killed."""

    def start(*command: str, **environ: str) -> subprocess.Popen[str]:
        own = {
            "PYTHONPATH": f"{ROOT / '.editable'}{os.pathsep}{TRAININGS}",
            "HOLTER_SERVER": server.url,
            "HOLTER_PROJECT": "tests",
            "HOLTER_SPOOL_DIR": str(tmp_path / "spool"),
            "HOLTER_ENVIRONMENT": "1",
            "OMP_NUM_THREADS": "1",
        }
        process = subprocess.Popen(
            [str(frameworks), *command],
            cwd=TRAININGS,
            env={**os.environ, **own, **environ},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        started.append(process)
        return process

    with killed_afterwards() as started:
        yield start
