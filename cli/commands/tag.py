"""`holter tag`: tags, star, notes and group of a run, and marking it as finished."""

from __future__ import annotations

import argparse
from os import environ
from typing import Any

import httpx

from holter.cli.commands import fail
from holter.client.run import DEFAULT_SERVER

_TIMEOUT_SECONDS = 30.0


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The run, what changes, and the server."""
    parser.add_argument("run", help="the run's id as in its address, its name, or PROJECT/NAME")
    parser.add_argument("tags", nargs="*", metavar="TAG", help="tags to add")
    parser.add_argument("--remove", action="append", default=[], metavar="TAG", help="a tag to remove")
    parser.add_argument("--star", action=argparse.BooleanOptionalAction, help="star the run, or not")
    parser.add_argument("--note", help="notes of the run; an empty text removes them")
    parser.add_argument("--group", help="the group of the run; an empty text removes it")
    parser.add_argument("--finish", action="store_true", help="mark the run as finished")
    parser.add_argument("--server", help=f"address of the server (HOLTER_SERVER; default {DEFAULT_SERVER})")
    parser.add_argument("--token", help="token of the scope all (better in HOLTER_TOKEN)")


def run(arguments: argparse.Namespace) -> int:
    """Exit code 1: no such run, or the server cannot be reached or refuses."""
    server = (arguments.server or environ.get("HOLTER_SERVER") or DEFAULT_SERVER).rstrip("/")
    token = arguments.token or environ.get("HOLTER_TOKEN")
    headers = {"Authorization": f"Bearer {token}"} if token else {}
    try:
        with httpx.Client(base_url=f"{server}/api/v1", headers=headers, timeout=_TIMEOUT_SECONDS) as client:
            return _describe(client, arguments)
    except httpx.HTTPStatusError as error:
        return fail(f"{server}: {_reason(error.response)}")
    except httpx.HTTPError as error:
        return fail(f"{server}: {error}")


def _describe(client: httpx.Client, arguments: argparse.Namespace) -> int:
    matching = _matching_runs(client, arguments.run)
    if len(matching) != 1:
        reason = f"{len(matching)} runs are called {arguments.run}: use PROJECT/NAME or an id"
        return fail(reason if matching else f"there is no run {arguments.run}")
    path = f"/runs/{matching[0]['id']}"
    answer = client.patch(path, json=_changes(arguments)).raise_for_status().json()
    if arguments.finish:
        answer = client.post(f"{path}/finish").raise_for_status().json()
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


def _matching_runs(client: httpx.Client, name: str) -> list[dict[str, Any]]:
    """The runs of this id, name, or PROJECT/NAME; the server looks for the last part of it."""
    part = name.rpartition("/")[2].replace("\\", "\\\\").replace('"', '\\"')
    found: dict[str, dict[str, Any]] = {}
    for key in ("id", "name"):
        query: dict[str, str | int] = {"filter": f'{key}:"{part}"', "limit": 1000}
        for run in client.get("/runs", params=query).raise_for_status().json()["runs"]:
            found[run["id"]] = run
    names = ("id", "name")
    return [
        run
        for run in found.values()
        if name in (*(run[key] for key in names), f"{run['project']}/{run['name']}")
    ]


def _reason(response: httpx.Response) -> str:
    try:
        return str(response.json()["detail"])
    except (ValueError, KeyError, TypeError):
        return f"status {response.status_code}"
