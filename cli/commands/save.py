"""`holter save`: asks the training loop of a run to save a checkpoint, or withdraws the request."""

from __future__ import annotations

import argparse
import getpass

import httpx

from holter.cli.commands.stop import add_run_arguments, call_server, find_run


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The run, and the server that it logs to."""
    add_run_arguments(parser)
    parser.add_argument("--by", default=getpass.getuser(), help="who asks (default: the user)")
    parser.add_argument("--reason", help="why, for the run's page")
    parser.add_argument("--withdraw", action="store_true", help="withdraw the request")


def run(arguments: argparse.Namespace) -> int:
    """Exit code 1: no such run, or the server cannot be reached or refuses."""
    return call_server(arguments, lambda client: _save(client, arguments))


def _save(client: httpx.Client, arguments: argparse.Namespace) -> int:
    run = find_run(client, arguments.run)
    path = f"/runs/{run['id']}/save"
    if arguments.withdraw:
        client.delete(path).raise_for_status()
        print(f"{run['project']}/{run['name']}: the request to save a checkpoint is withdrawn")
        return 0
    client.post(path, json={"by": arguments.by, "reason": arguments.reason}).raise_for_status()
    print(
        f"{run['project']}/{run['name']} is asked to save a checkpoint; loops that ask for their status do so"
    )
    return 0
