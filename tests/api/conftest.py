"""A real server over a real database, on a free port, and a client that talks to it."""

from __future__ import annotations

import json
import re
import threading
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Any

import httpx
import jsonschema_rs
import pytest

from holter.cli.main import main
from holter.server.clock import Clock
from holter.server.context import ServerContext
from holter.server.serve import HolterServer, bind
from holter.settings import Settings
from tests.api.running import Printed

Post = Callable[..., dict[str, Any]]
Serve = Callable[..., AbstractContextManager[tuple[ServerContext, str]]]


@pytest.fixture(autouse=True)
def quiet_surroundings(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """No holter.toml and no data directory but the test's own."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "share"))


@contextmanager
def served(settings: Settings, *, clock: Clock | None = None) -> Iterator[tuple[ServerContext, str]]:
    """A server on a free port, with a clock of its own or the test's: its context and its address."""
    with bind("127.0.0.1", 0) as listener:
        context = ServerContext(settings, clock=clock)
        context.start()
        server = HolterServer(context)
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]})
        thread.start()
        try:
            yield context, f"http://127.0.0.1:{listener.getsockname()[1]}"
        finally:
            server.should_exit = True
            thread.join(30)
            context.close()


@pytest.fixture(scope="session")
def serve() -> Serve:
    """Starts servers with settings of a test's own: `with serve(settings) as (context, address):`."""
    return served


@pytest.fixture
def settings(sqlite_url: str) -> Settings:
    """A server for this machine only."""
    return Settings(database_url=sqlite_url)


@pytest.fixture
def server(settings: Settings) -> Iterator[tuple[ServerContext, str]]:
    """The context of a running server, and its address."""
    with served(settings) as running:
        yield running


@pytest.fixture
def context(server: tuple[ServerContext, str]) -> ServerContext:
    """The context of the running server."""
    return server[0]


@pytest.fixture
def client(server: tuple[ServerContext, str]) -> Iterator[httpx.Client]:
    """Talks to the running server; every JSON response is validated against the OpenAPI document."""
    check = ResponseCheck(httpx.get(f"{server[1]}/openapi.json").json())
    with httpx.Client(base_url=server[1], timeout=30, event_hooks={"response": [check]}) as client:
        yield client


class ResponseCheck:
    """Validates JSON responses against the schemas of an OpenAPI document. Raises AssertionError."""

    def __init__(self, openapi: dict[str, Any]) -> None:
        self._components = openapi["components"]
        self._paths = {
            re.compile(re.sub(r"{[^}]+}", "[^/]+", path)): methods
            for path, methods in openapi["paths"].items()
        }

    def __call__(self, response: httpx.Response) -> None:
        """Validate one response, if it is JSON of a documented route and status."""
        if response.headers.get("content-type") != "application/json":
            return
        schema = self._schema(response.request, response.status_code)
        if schema is not None:
            body = json.loads(response.read())
            errors = jsonschema_rs.validator_for(schema).iter_errors(body)
            problems = [f"{error.instance_path}: {error.message}" for error in errors]
            assert not problems, f"{response.request.url}: {problems}"

    def _schema(self, request: httpx.Request, status: int) -> dict[str, Any] | None:
        for pattern, methods in self._paths.items():
            operation = methods.get(request.method.lower())
            if operation is not None and pattern.fullmatch(request.url.path):
                content = operation["responses"].get(str(status), {}).get("content", {})
                schema = content.get("application/json", {}).get("schema")
                return schema and {**schema, "components": self._components}
        return None


@pytest.fixture
def post(client: httpx.Client) -> Post:
    """Sends a batch that must be accepted; returns what was answered."""

    def send(columns: dict[str, list[Any]], **header: Any) -> dict[str, Any]:
        body = {"project": "llm", "run": "a", "columns": columns} | header
        answer = client.post("/api/v1/ingest", json=body)
        assert answer.status_code == 200, answer.text
        reply: dict[str, Any] = answer.json()
        return reply

    return send


@pytest.fixture
def holter(capsys: pytest.CaptureFixture[str]) -> Printed:
    """Runs a command in this process: its exit code, what it printed, what it complained of."""

    def run(*arguments: object) -> tuple[int, str, str]:
        try:
            code = main([str(argument) for argument in arguments])
        except SystemExit as ended:
            code = int(ended.code or 0)
        printed = capsys.readouterr()
        return code, printed.out, printed.err

    return run
