"""Commands that act on a run of a running server, over REST."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from contextlib import contextmanager
from os import environ
from typing import Any

import httpx

from holter.client.run import DEFAULT_SERVER

_TIMEOUT_SECONDS = 60.0


class ServerError(Exception):
    """The server cannot be reached or refuses, or there is no such run; the message says which."""


def add_run_arguments(parser: argparse.ArgumentParser) -> None:
    """The run, and the server that it logs to."""
    parser.add_argument("run", help="the run's id as in its address, its name, or PROJECT/NAME")
    parser.add_argument("--server", help=f"address of the server (HOLTER_SERVER; default {DEFAULT_SERVER})")
    parser.add_argument("--token", help="token of the scope all (better in HOLTER_TOKEN)")


@contextmanager
def server_client(arguments: argparse.Namespace) -> Iterator[httpx.Client]:
    """A client of the server of the arguments. Raises ServerError for every request that fails."""
    server = (arguments.server or environ.get("HOLTER_SERVER") or DEFAULT_SERVER).rstrip("/")
    token = arguments.token or environ.get("HOLTER_TOKEN")
    headers = {"Authorization": f"Bearer {token}"} if token else {}
    try:
        with httpx.Client(base_url=f"{server}/api/v1", headers=headers, timeout=_TIMEOUT_SECONDS) as client:
            yield client
    except httpx.HTTPStatusError as error:
        raise ServerError(f"{server}: {_reason(error.response)}") from error
    except httpx.HTTPError as error:
        raise ServerError(f"{server}: {error}") from error


def find_run(client: httpx.Client, name: str) -> dict[str, Any]:
    """The run of this id, name, or PROJECT/NAME. Raises ServerError unless there is exactly one."""
    matching = _matching_runs(client, name)
    if len(matching) > 1:
        raise ServerError(f"{len(matching)} runs are called {name}: use PROJECT/NAME or an id")
    if not matching:
        raise ServerError(f"there is no run {name}")
    return matching[0]


def _matching_runs(client: httpx.Client, name: str) -> list[dict[str, Any]]:
    """The runs of this id, name, or PROJECT/NAME; the server looks for the last part of it."""
    part = name.rpartition("/")[2].replace("\\", "\\\\").replace('"', '\\"')
    found: dict[str, dict[str, Any]] = {}
    for key in ("id", "name"):
        query: dict[str, str | int] = {"filter": f'{key}:"{part}"', "limit": 1000}
        for run in client.get("/runs", params=query).raise_for_status().json()["runs"]:
            found[run["id"]] = run
    return [
        run for run in found.values() if name in (run["id"], run["name"], f"{run['project']}/{run['name']}")
    ]


def _reason(response: httpx.Response) -> str:
    try:
        return str(response.json()["detail"])
    except (ValueError, KeyError, TypeError):
        return f"status {response.status_code}"
