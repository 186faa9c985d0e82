"""`run.status()`: never waits, costs next to nothing, and survives whatever a server answers."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from typing import Any, ClassVar

import pytest

import holter
from holter.client import status as client_status
from holter.client.status import NO_STATUS, LiveStatus, parse_status
from tests.support.http_servers import serving

Eventually = Callable[..., Any]
EMPTY: dict[str, Any] = {
    "run_id": "r",
    "incidents": [],
    "incident_count": 0,
    "worst": None,
    "stop": None,
    "save": None,
}
INCIDENT = {"id": 1, "kind": "nan", "title": "NaN", "severity": "critical", "metric": "loss", "step": 9}
REQUEST = {"requested_at": 17.0, "by": "ana", "reason": "diverged"}


class StatusServer(BaseHTTPRequestHandler):
    """Answers questions about the status with prepared contents, and accepts points."""

    content: ClassVar[bytes]
    code: ClassVar[int]
    asked: ClassVar[list[dict[str, Any]]]

    def do_POST(self) -> None:
        raw = self.rfile.read(int(self.headers["Content-Length"]))
        is_status = self.path == "/api/v1/status"
        if is_status:
            self.asked.append(json.loads(raw))
        content = self.content if is_status else b'{"accepted": 1}'
        self.send_response(self.code if is_status else 200)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, format: str, *args: Any) -> None:
        pass


@pytest.fixture
def answering(monkeypatch: pytest.MonkeyPatch) -> Iterator[tuple[str, type[StatusServer]]]:
    monkeypatch.setattr(client_status, "POLL_SECONDS", 0.02)
    fields = {"content": json.dumps(EMPTY).encode(), "code": 200, "asked": []}
    handler = type("Prepared", (StatusServer,), fields)
    with serving(handler) as address:
        yield address, handler


def open_run(address: str, spool: Path) -> Any:
    return holter.init("tests", "status", server=address, spool=spool)


def test_a_loop_learns_of_incidents_and_requests(
    answering: tuple[str, type[StatusServer]], tmp_path: Path, eventually: Eventually
) -> None:
    address, handler = answering
    answer = EMPTY | {"incidents": [INCIDENT], "incident_count": 1, "worst": "critical", "stop": REQUEST}
    handler.content = json.dumps(answer).encode()
    run = open_run(address, tmp_path)
    run.status()  # the first call begins to ask
    status: LiveStatus = eventually(lambda: run.status() if run.status().stop else None)
    assert (status.worst, status.incidents[0].kind, status.incidents[0].step) == ("critical", "nan", 9)
    assert status.stop is not None
    assert status.stop.by == "ana"
    assert 0 <= status.age < 60
    run.finish()
    # the end of the training answers the request; the end of the run does not wait for it for long
    eventually(lambda: handler.asked[-1]["stopping"] is True)


def test_a_saved_checkpoint_is_reported_once(
    answering: tuple[str, type[StatusServer]], tmp_path: Path, eventually: Eventually
) -> None:
    address, handler = answering
    handler.content = json.dumps(EMPTY | {"save": REQUEST}).encode()
    run = open_run(address, tmp_path)
    eventually(lambda: run.status().save)
    run.report_saved(step=40, seconds=1.5)
    assert run.status().save is None  # at once, so that the next step does not save again
    saved = {"requested_at": 17.0, "step": 40, "seconds": 1.5}
    eventually(lambda: any(asked["saved"] == saved for asked in handler.asked))
    count = len(handler.asked)
    eventually(lambda: len(handler.asked) > count + 2)
    assert run.status().save is None  # although this server goes on asking for it
    run.finish()
    assert sum(asked["saved"] == saved for asked in handler.asked) == 1


def test_nothing_is_asked_before_the_first_call(
    answering: tuple[str, type[StatusServer]], tmp_path: Path
) -> None:
    address, handler = answering
    run = open_run(address, tmp_path)
    run.log({"loss": 1.0}, step=0)
    run.finish()
    assert handler.asked == []
    assert run.status() == NO_STATUS


@pytest.mark.parametrize(
    ("code", "content"),
    [
        (200, b"<html>"),
        (200, b"[]"),
        (200, b'{"incidents": 7}'),
        (200, b'{"incidents": [{"id": null}], "incident_count": 1}'),
        (401, b'{"detail": "no"}'),
        (404, b"nothing"),
        (422, b"{}"),
        (503, b"{}"),
    ],
)
def test_an_answer_of_any_kind_leaves_the_loop_alone(
    code: int,
    content: bytes,
    answering: tuple[str, type[StatusServer]],
    tmp_path: Path,
    eventually: Eventually,
) -> None:
    address, handler = answering
    handler.code, handler.content = code, content
    run = open_run(address, tmp_path)
    run.status()
    eventually(lambda: handler.asked)
    assert run.status() == NO_STATUS
    run.finish()


def test_an_unreachable_server_makes_the_status_old(tmp_path: Path) -> None:
    run = open_run("http://127.0.0.1:9", tmp_path)
    begin = time.monotonic()
    for _ in range(1000):
        assert run.status().age == float("inf")
    assert time.monotonic() - begin < 30
    run.close(0.0)


def test_long_answers_are_bounded() -> None:
    many = EMPTY | {"incidents": [INCIDENT | {"title": "x" * 100_000}] * 10_000}
    status = parse_status(many, 0.0)
    assert len(status.incidents) == client_status.MAX_INCIDENTS
    assert len(status.incidents[0].title) == client_status.MAX_TEXT
