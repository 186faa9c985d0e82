"""`holter stop`: asks the client of a run to stop, or withdraws the request."""

from __future__ import annotations

import argparse
import getpass
from collections.abc import Callable
from os import environ
from typing import Any

import httpx

from holter.cli.commands import fail
from holter.client.run import DEFAULT_SERVER

_TIMEOUT_SECONDS = 30.0


class _NoSuchRunError(LookupError):
    """No run has this name, or several have."""


def add_run_arguments(parser: argparse.ArgumentParser) -> None:
    """The run, and the server that it logs to."""
    parser.add_argument("run", help="the run's id as in its address, its name, or PROJECT/NAME")
    parser.add_argument("--server", help=f"address of the server (HOLTER_SERVER; default {DEFAULT_SERVER})")
    parser.add_argument("--token", help="token of the scope all (better in HOLTER_TOKEN)")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The run, who asks, and why."""
    add_run_arguments(parser)
    parser.add_argument("--by", default=getpass.getuser(), help="who asks (default: the user)")
    parser.add_argument("--reason", help="why, for the run's page")
    parser.add_argument("--withdraw", action="store_true", help="withdraw the request")


def run(arguments: argparse.Namespace) -> int:
    """Exit code 1: no such run, or the server cannot be reached or refuses."""
    return call_server(arguments, lambda client: _stop(client, arguments))


def call_server(arguments: argparse.Namespace, command: Callable[[httpx.Client], int]) -> int:
    """Run a command with a client of the server, and print why it failed if it did."""
    server = (arguments.server or environ.get("HOLTER_SERVER") or DEFAULT_SERVER).rstrip("/")
    token = arguments.token or environ.get("HOLTER_TOKEN")
    headers = {"Authorization": f"Bearer {token}"} if token else {}
    try:
        with httpx.Client(base_url=f"{server}/api/v1", headers=headers, timeout=_TIMEOUT_SECONDS) as client:
            return command(client)
    except _NoSuchRunError as error:
        return fail(str(error))
    except httpx.HTTPStatusError as error:
        return fail(f"{server}: {_reason(error.response)}")
    except httpx.HTTPError as error:
        return fail(f"{server}: {error}")


def find_run(client: httpx.Client, name: str) -> dict[str, Any]:
    """The run with this id or name. Raises an error that `call_server` prints where there is not one."""
    runs = client.get("/runs").raise_for_status().json()["runs"]
    matching = [run for run in runs if name in (run["id"], run["name"], f"{run['project']}/{run['name']}")]
    if len(matching) > 1:
        raise _NoSuchRunError(f"{len(matching)} runs are called {name}: use PROJECT/NAME or an id")
    if not matching:
        raise _NoSuchRunError(f"there is no run {name}")
    found: dict[str, Any] = matching[0]
    return found


def _stop(client: httpx.Client, arguments: argparse.Namespace) -> int:
    run = find_run(client, arguments.run)
    path = f"/runs/{run['id']}/stop"
    if arguments.withdraw:
        client.delete(path).raise_for_status()
        print(f"{run['project']}/{run['name']}: the request to stop is withdrawn")
        return 0
    body = {"by": arguments.by, "reason": arguments.reason}
    client.post(path, json=body).raise_for_status()
    print(f"{run['project']}/{run['name']} is asked to stop; a wandb client ends within about 30 s")
    return 0


def _reason(response: httpx.Response) -> str:
    try:
        return str(response.json()["detail"])
    except (ValueError, KeyError, TypeError):
        return f"status {response.status_code}"
