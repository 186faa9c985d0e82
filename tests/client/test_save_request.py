"""`holter save` to a training that runs: the request reaches the loop, and its checkpoint answers it."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from typing import Any

import pytest

from tests.support.client_server import Server
from tests.support.forked_commands import run_command
from tests.support.waiting import wait_for

SCRIPT = """
import time
import holter
with holter.init("tests", "asked-to-save", server={url!r}) as run:
    for step in range(2000):
        run.log({{"loss": 1.0}}, step=step)
        status = run.status()
        if status.save:
            began = time.monotonic()
            print("checkpoint", step, flush=True)
            run.report_saved(step, time.monotonic() - began)
        if status.stop:
            break
        time.sleep(0.02)
"""


@pytest.mark.slow
def test_a_request_to_save_reaches_a_real_training(
    server: Server, python: Callable[..., subprocess.Popen[str]]
) -> None:
    python(SCRIPT.format(url=server.url))
    run = wait_for(lambda: server.run("asked-to-save"), 60)
    run_command(["save", "tests/asked-to-save", "--server", server.url, "--by", "ana"], check=True)

    def request() -> dict[str, Any]:
        answer: dict[str, Any] = server.get(f"/runs/{run['id']}")["save"]
        return answer

    assert request()["by"] == "ana"
    wait_for(lambda: request()["saved_at"], 60)
    assert request()["saved_step"] > 0
