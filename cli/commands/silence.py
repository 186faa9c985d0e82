"""`holter silence`: mutes incidents by matchers, with a reason and an end."""

from __future__ import annotations

import argparse
import getpass
import time
from datetime import UTC, datetime

from sqlalchemy.orm import Session

from holter.cli.commands import fail
from holter.cli.commands.db import add_database_flags, on_database
from holter.server.alerting.silences import (
    Silence,
    SilenceError,
    UnknownSilenceError,
    add_silence,
    expire_silence,
    read_silences,
)
from holter.settings.alerting import parse_duration
from holter.terminal_text import printable


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """One subcommand per action."""
    actions = parser.add_subparsers(dest="action", metavar="ACTION", required=True)
    add = actions.add_parser("add", help="mute incidents that all matchers match")
    add.add_argument("matchers", nargs="+", metavar="MATCHER", help="such as project=llm or 'kind=~spike_.*'")
    add.add_argument("--comment", required=True, help="the reason")
    add.add_argument("--duration", default="2h", help="how long, such as 30m, 2h or 1d (default: 2h)")
    add.add_argument("--author", default="", help="who silences (default: the login name)")
    listing = actions.add_parser("list", help="list the silences that have not ended")
    listing.add_argument("--expired", action="store_true", help="the ended ones, too")
    expire = actions.add_parser("expire", help="end a silence now")
    expire.add_argument("number", type=int, metavar="NUMBER")
    for action in (add, listing, expire):
        add_database_flags(action)


def run(arguments: argparse.Namespace) -> int:
    """Exit code 1: there is no such silence; 2: a matcher, duration or comment is not valid."""
    with on_database(arguments) as (engine, _), Session(engine) as session, session.begin():
        try:
            return _act(session, arguments)
        except UnknownSilenceError as error:
            return fail(str(error))
        except (SilenceError, ValueError) as error:
            return fail(str(error), 2)


def _act(session: Session, arguments: argparse.Namespace) -> int:
    now = time.time()
    if arguments.action == "list":
        silences = read_silences(session, now=now, expired=arguments.expired)
        print("\n".join(_line(silence, now) for silence in silences) or "no silences")
        return 0
    if arguments.action == "expire":
        silence = expire_silence(session, arguments.number, now=now)
        print(f"silence {silence.id} has ended")
        return 0
    seconds = float(parse_duration(arguments.duration))
    silence = add_silence(
        session,
        arguments.matchers,
        comment=arguments.comment,
        by=arguments.author or _login(),
        now=now,
        ends_at=now + seconds,
    )
    print(_line(silence, now))
    return 0


def _login() -> str:
    try:
        return getpass.getuser()
    except (OSError, KeyError):  # a container whose user has no name
        return "someone"


def _line(silence: Silence, now: float) -> str:
    until = datetime.fromtimestamp(silence.ends_at, UTC).strftime("%Y-%m-%d %H:%M UTC")
    matchers = " ".join(str(matcher) for matcher in silence.matchers)
    reason = f"{silence.created_by}: {silence.comment}"
    return f"{silence.id}\t{silence.state(now)}\tuntil {until}\t{printable(matchers)}\t{printable(reason)}"
