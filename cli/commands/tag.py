"""`holter tag`: tags, star, notes and group of a run, and marking it as finished."""

from __future__ import annotations

import argparse
from typing import Any

from holter.cli.commands import fail
from holter.cli.server_client import ServerError, add_run_arguments, find_run, server_client


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The run, what changes, and the server."""
    add_run_arguments(parser)
    parser.add_argument("tags", nargs="*", metavar="TAG", help="tags to add")
    parser.add_argument("--remove", action="append", default=[], metavar="TAG", help="a tag to remove")
    parser.add_argument("--star", action=argparse.BooleanOptionalAction, help="star the run, or not")
    parser.add_argument("--note", help="notes of the run; an empty text removes them")
    parser.add_argument("--group", help="the group of the run; an empty text removes it")
    parser.add_argument("--finish", action="store_true", help="mark the run as finished")


def run(arguments: argparse.Namespace) -> int:
    """Exit code 1: no such run, or the server cannot be reached or refuses."""
    try:
        with server_client(arguments) as client:
            path = f"/runs/{find_run(client, arguments.run)['id']}"
            answer = client.patch(path, json=_changes(arguments)).raise_for_status().json()
            if arguments.finish:
                answer = client.post(f"{path}/finish").raise_for_status().json()
    except ServerError as error:
        return fail(str(error))
    print(_sentence(answer))
    return 0


def _changes(arguments: argparse.Namespace) -> dict[str, Any]:
    given = {"starred": arguments.star, "notes": arguments.note, "group": arguments.group}
    changes = {name: value for name, value in given.items() if value is not None}
    return {"add_tags": arguments.tags, "remove_tags": arguments.remove, **changes}


def _sentence(run: dict[str, Any]) -> str:
    tags = ", ".join(run["tags"]) or "no tags"
    parts = [f"{run['project']}/{run['name']}: {tags}", run["state"]]
    parts += ["starred"] if run["starred"] else []
    parts += [f"group {run['group']}"] if run["group"] else []
    return "; ".join(parts)
