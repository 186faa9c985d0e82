"""`holter token`: create, list and revoke access tokens."""

from __future__ import annotations

import argparse
import time
from datetime import UTC, datetime

from sqlalchemy import select
from sqlalchemy.orm import Session

from holter.cli.commands import fail
from holter.cli.commands.db import add_database_flags, on_database
from holter.server import tokens
from holter.server.models import Token


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """One subcommand per action."""
    actions = parser.add_subparsers(dest="action", metavar="ACTION", required=True)
    create = actions.add_parser("create", help="create a token and print it; it cannot be shown again")
    create.add_argument("name", help="name of the token, e.g. cluster-agents")
    create.add_argument(
        "--scope",
        choices=list(tokens.TokenScope),
        type=tokens.TokenScope,
        default=tokens.TokenScope.INGEST,
        help="ingest (the default): send points and report agents; metrics: read /metrics; all: everything",
    )
    listing = actions.add_parser("list", help="list the tokens: scopes, and when they were last used")
    revoke = actions.add_parser("revoke", help="revoke a token")
    revoke.add_argument("name")
    for action in (create, listing, revoke):
        add_database_flags(action)


def run(arguments: argparse.Namespace) -> int:
    """Exit code 1: the token cannot be created or found."""
    create = arguments.action == "create"
    with on_database(arguments, create=create) as (engine, _), Session(engine) as session, session.begin():
        try:
            _act(session, arguments)
        except tokens.TokenError as error:
            return fail(str(error))
    return 0


def _act(session: Session, arguments: argparse.Namespace) -> None:
    if arguments.action == "create":
        print(tokens.create(session, arguments.name, now=time.time(), scope=arguments.scope))
    elif arguments.action == "revoke":
        tokens.revoke(session, arguments.name, now=time.time())
        print(f"{arguments.name} is revoked (running servers stop accepting it within 5 s)")
    else:
        _list(session)


def _list(session: Session) -> None:
    stored = session.scalars(select(Token).order_by(Token.created_at, Token.id)).all()
    if not stored:
        print("no tokens yet: holter token create NAME")
    for token in stored:
        state = "revoked" if token.revoked_at else f"last used {_minute(token.last_used_at)}"
        scope = token.scope or "all (created before tokens had scopes)"
        print(f"{token.name}\tscope {scope}\tcreated {_minute(token.created_at)}\t{state}")


def _minute(moment: float | None) -> str:
    return "never" if moment is None else datetime.fromtimestamp(moment, UTC).strftime("%Y-%m-%d %H:%M UTC")
