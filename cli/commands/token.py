"""`holter token`: create, list and revoke access tokens."""

from __future__ import annotations

import argparse
import time
from datetime import UTC, datetime

from sqlalchemy import select
from sqlalchemy.orm import Session

from holter.cli.commands.db import add_database_flags, on_database
from holter.cli.commands.serve import refuse
from holter.server import tokens
from holter.server.models import Token


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """One action each."""
    actions = parser.add_subparsers(dest="action", metavar="ACTION", required=True)
    create = actions.add_parser("create", help="make a token and print it, once")
    create.add_argument("name", help="what it is for, e.g. cluster-agents")
    listing = actions.add_parser("list", help="names, and when they were last used")
    revoke = actions.add_parser("revoke", help="end a token's use")
    revoke.add_argument("name")
    for action in (create, listing, revoke):
        add_database_flags(action)


def run(arguments: argparse.Namespace) -> int:
    """Exit code 1: the token cannot be made or found."""
    make = arguments.action == "create"
    with on_database(arguments, make=make) as (engine, _), Session(engine) as session, session.begin():
        try:
            _act(session, arguments)
        except tokens.TokenError as error:
            return refuse(str(error))
    return 0


def _act(session: Session, arguments: argparse.Namespace) -> None:
    if arguments.action == "create":
        print(tokens.create(session, arguments.name, now=time.time()))
    elif arguments.action == "revoke":
        tokens.revoke(session, arguments.name, now=time.time())
        print(f"{arguments.name} opens nothing any more (running servers notice within 5 s)")
    else:
        _list(session)


def _list(session: Session) -> None:
    found = session.scalars(select(Token).order_by(Token.created_at, Token.id)).all()
    if not found:
        print("no tokens yet: holter token create NAME")
    for token in found:
        state = "revoked" if token.revoked_at else f"last used {_minute(token.last_used_at)}"
        print(f"{token.name}\tmade {_minute(token.created_at)}\t{state}")


def _minute(at: float | None) -> str:
    return "never" if at is None else datetime.fromtimestamp(at, UTC).strftime("%Y-%m-%d %H:%M UTC")
