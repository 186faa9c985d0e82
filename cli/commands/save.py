"""`holter save`: asks the training loop of a run to save a checkpoint, or withdraws the request."""

from __future__ import annotations

import argparse

import httpx

from holter.cli.run_request import add_request_arguments, send_request
from holter.cli.server_client import call_server

_ASKED = "is asked to save a checkpoint; loops that ask for their status do so"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The run, who asks, and why."""
    add_request_arguments(parser)


def run(arguments: argparse.Namespace) -> int:
    """Exit code 1: no such run, or the server cannot be reached or refuses."""
    return call_server(arguments, lambda client: _save(client, arguments))


def _save(client: httpx.Client, arguments: argparse.Namespace) -> int:
    print(send_request(client, arguments, "save", asked=_ASKED, to="save a checkpoint"))
    return 0
