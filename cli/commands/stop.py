"""`holter stop`: asks the client of a run to stop, or withdraws the request."""

from __future__ import annotations

import argparse
import getpass
from os import environ
from typing import Any

import httpx

from holter.cli.commands import fail
from holter.client.run import DEFAULT_SERVER

_TIMEOUT_SECONDS = 30.0


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The run, and the server that it logs to."""
    parser.add_argument("run", help="the run's id as in its address, its name, or PROJECT/NAME")
    parser.add_argument("--server", help=f"address of the server (HOLTER_SERVER; default {DEFAULT_SERVER})")
    parser.add_argument("--token", help="token of the scope all (better in HOLTER_TOKEN)")
    parser.add_argument("--by", default=getpass.getuser(), help="who asks (default: the user)")
    parser.add_argument("--reason", help="why, for the run's page")
    parser.add_argument("--withdraw", action="store_true", help="withdraw the request")


def run(arguments: argparse.Namespace) -> int:
    """Exit code 1: no such run, or the server cannot be reached or refuses."""
    server = (arguments.server or environ.get("HOLTER_SERVER") or DEFAULT_SERVER).rstrip("/")
    token = arguments.token or environ.get("HOLTER_TOKEN")
    headers = {"Authorization": f"Bearer {token}"} if token else {}
    try:
        with httpx.Client(base_url=f"{server}/api/v1", headers=headers, timeout=_TIMEOUT_SECONDS) as client:
            return _stop(client, arguments)
    except httpx.HTTPStatusError as error:
        return fail(f"{server}: {_reason(error.response)}")
    except httpx.HTTPError as error:
        return fail(f"{server}: {error}")


def _stop(client: httpx.Client, arguments: argparse.Namespace) -> int:
    matching = _matching_runs(client, arguments.run)
    if len(matching) != 1:
        reason = f"{len(matching)} runs are called {arguments.run}: use PROJECT/NAME or an id"
        return fail(reason if matching else f"there is no run {arguments.run}")
    run = matching[0]
    path = f"/runs/{run['id']}/stop"
    if arguments.withdraw:
        client.delete(path).raise_for_status()
        print(f"{run['project']}/{run['name']}: the request to stop is withdrawn")
        return 0
    body = {"by": arguments.by, "reason": arguments.reason}
    client.post(path, json=body).raise_for_status()
    print(f"{run['project']}/{run['name']} is asked to stop; a wandb client ends within about 30 s")
    return 0


def _matching_runs(client: httpx.Client, name: str) -> list[dict[str, Any]]:
    runs = client.get("/runs").raise_for_status().json()["runs"]
    return [run for run in runs if name in (run["id"], run["name"], f"{run['project']}/{run['name']}")]


def _reason(response: httpx.Response) -> str:
    try:
        return str(response.json()["detail"])
    except (ValueError, KeyError, TypeError):
        return f"status {response.status_code}"
