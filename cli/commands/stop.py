"""`holter stop`: asks the client of a run to stop, or withdraws the request."""

from __future__ import annotations

import argparse

from holter.cli.commands import fail
from holter.cli.run_request import add_request_arguments, send_request
from holter.cli.server_client import ServerError, server_client

_ASKED = "is asked to stop; a wandb client ends within about 30 s"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The run, who asks, and why."""
    add_request_arguments(parser)


def run(arguments: argparse.Namespace) -> int:
    """Exit code 1: no such run, or the server cannot be reached or refuses."""
    try:
        with server_client(arguments) as client:
            print(send_request(client, arguments, "stop", asked=_ASKED, to="stop"))
    except ServerError as error:
        return fail(str(error))
    return 0
