"""`holter stop`: asks the client of a run to stop, or withdraws the request."""

from __future__ import annotations

import argparse

import httpx

from holter.cli.run_request import add_request_arguments, send_request
from holter.cli.server_client import call_server

_ASKED = "is asked to stop; a wandb client ends within about 30 s"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The run, who asks, and why."""
    add_request_arguments(parser)


def run(arguments: argparse.Namespace) -> int:
    """Exit code 1: no such run, or the server cannot be reached or refuses."""
    return call_server(arguments, lambda client: _stop(client, arguments))


def _stop(client: httpx.Client, arguments: argparse.Namespace) -> int:
    print(send_request(client, arguments, "stop", asked=_ASKED, to="stop"))
    return 0
