"""Access tokens in the database: created, listed, revoked; and sessions ended before they expire.

Only the SHA-256 digests of tokens are stored.
"""

from __future__ import annotations

import hashlib
import secrets
import string
from collections.abc import Mapping
from enum import StrEnum
from typing import NamedTuple

from sqlalchemy import delete, exists, select, update
from sqlalchemy.orm import Session

from holter.server.models import EndedSession, Token

PREFIX = "holter_"
LENGTH = 40
"""Characters of a token: old versions of the wandb client accept this length only, without a hyphen."""
_ALPHABET = string.ascii_letters + string.digits


class TokenScope(StrEnum):
    """What the sender of a token may do; `server/auth.py` lists the routes of each."""

    INGEST = "ingest"
    METRICS = "metrics"
    ALL = "all"


class ActiveToken(NamedTuple):
    """A token that is not revoked."""

    name: str
    scope: TokenScope


class TokenError(ValueError):
    """A token's name cannot be used."""


def digest(token: str) -> str:
    """The SHA-256 digest of a token, in hexadecimal."""
    return hashlib.sha256(token.encode("utf-8", "surrogatepass")).hexdigest()


def create(session: Session, name: str, *, now: float, scope: TokenScope = TokenScope.INGEST) -> str:
    """Create a token and return it; it cannot be read again later. Raises TokenError."""
    if not 0 < len(name.strip()) <= 200 or not name.isprintable():
        raise TokenError("a token's name has 1 to 200 printable characters")
    if session.scalar(select(Token.id).where(Token.name == name)) is not None:
        raise TokenError(f"a token called {name!r} exists already (revoked tokens keep their names)")
    token = PREFIX + "".join(secrets.choice(_ALPHABET) for _ in range(LENGTH - len(PREFIX)))
    session.add(Token(name=name, digest=digest(token), created_at=now, scope=scope.value))
    return token


def revoke(session: Session, name: str, *, now: float) -> None:
    """Revoke a token. Raises TokenError if no active token has this name."""
    token = session.scalar(select(Token).where(Token.name == name, Token.revoked_at.is_(None)))
    if token is None:
        raise TokenError(f"no active token is called {name!r}")
    token.revoked_at = now


def active_tokens(session: Session) -> dict[str, ActiveToken]:
    """The tokens that are not revoked, by digest."""
    rows = session.execute(select(Token.digest, Token.name, Token.scope).where(Token.revoked_at.is_(None)))
    return {row.digest: ActiveToken(row.name, TokenScope(row.scope or TokenScope.ALL)) for row in rows}


def any_active(session: Session) -> bool:
    """Whether a token exists that is not revoked; also answers on tables of earlier versions."""
    return bool(session.scalar(select(exists().where(Token.revoked_at.is_(None)))))


def login_tokens(session: Session) -> list[str]:
    """The names of active tokens with which people can log in."""
    return sorted(token.name for token in active_tokens(session).values() if token.scope is TokenScope.ALL)


def tokens_without_scope(session: Session) -> list[str]:
    """The names of active tokens from before tokens had scopes, which may do everything."""
    query = select(Token.name).where(Token.revoked_at.is_(None), Token.scope.is_(None)).order_by(Token.name)
    return list(session.scalars(query))


def record_use(session: Session, used: Mapping[str, float]) -> None:
    """Store when tokens were last used; `used` maps digests to Unix seconds."""
    for token, time in used.items():
        session.execute(update(Token).where(Token.digest == token).values(last_used_at=time))


def end_session(session: Session, session_id: str, *, expires_at: float, now: float) -> None:
    """Store that a session has ended, and forget those that have expired since."""
    session.execute(delete(EndedSession).where(EndedSession.expires_at <= now))
    session.merge(EndedSession(session_id=session_id, expires_at=expires_at))


def ended_sessions(session: Session) -> frozenset[str]:
    """The sessions that have ended."""
    return frozenset(session.scalars(select(EndedSession.session_id)))
