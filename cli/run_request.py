"""Commands that ask the client of a run for something, or withdraw the request."""

from __future__ import annotations

import argparse
import getpass

import httpx

from holter.cli.server_client import add_run_arguments, find_run


def add_request_arguments(parser: argparse.ArgumentParser) -> None:
    """The run, who asks, and why."""
    add_run_arguments(parser)
    parser.add_argument("--by", default=getpass.getuser(), help="who asks (default: the user)")
    parser.add_argument("--reason", help="why, for the run's page")
    parser.add_argument("--withdraw", action="store_true", help="withdraw the request")


def send_request(
    client: httpx.Client, arguments: argparse.Namespace, what: str, *, asked: str, to: str
) -> str:
    """Post or delete the run's resource `what`. Returns what happened: `asked` follows the run's name."""
    run = find_run(client, arguments.run)
    path, name = f"/runs/{run['id']}/{what}", f"{run['project']}/{run['name']}"
    if arguments.withdraw:
        client.delete(path).raise_for_status()
        return f"{name}: the request to {to} is withdrawn"
    client.post(path, json={"by": arguments.by, "reason": arguments.reason}).raise_for_status()
    return f"{name} {asked}"
