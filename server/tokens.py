"""Access tokens in the database: made, listed, revoked. Only their SHA-256 is kept."""

from __future__ import annotations

import hashlib
import secrets
from collections.abc import Mapping

from sqlalchemy import select, update
from sqlalchemy.orm import Session

from holter.server.models import Token

PREFIX = "holter_"


class TokenError(ValueError):
    """A token's name cannot be used."""


def digest(token: str) -> str:
    """What is kept of a token."""
    return hashlib.sha256(token.encode("utf-8", "surrogatepass")).hexdigest()


def create(session: Session, name: str, *, now: float) -> str:
    """Make a token called `name` and return it; it cannot be read again. Raises TokenError."""
    if not 0 < len(name.strip()) <= 200 or not name.isprintable():
        raise TokenError("a token's name has 1 to 200 printable characters")
    if session.scalar(select(Token.id).where(Token.name == name)) is not None:
        raise TokenError(f"there is a token called {name!r} already (revoked ones keep their names)")
    token = PREFIX + secrets.token_urlsafe(32)
    session.add(Token(name=name, digest=digest(token), created_at=now))
    return token


def revoke(session: Session, name: str, *, now: float) -> None:
    """End a token's use. Raises TokenError when there is none of that name in use."""
    token = session.scalar(select(Token).where(Token.name == name, Token.revoked_at.is_(None)))
    if token is None:
        raise TokenError(f"there is no token called {name!r} in use")
    token.revoked_at = now


def active_tokens(session: Session) -> dict[str, str]:
    """The names of the tokens that open something, by digest."""
    rows = session.execute(select(Token.digest, Token.name).where(Token.revoked_at.is_(None)))
    return {row.digest: row.name for row in rows}


def record_use(session: Session, used: Mapping[str, float]) -> None:
    """Write down when tokens were last used: `used` maps digests to Unix seconds."""
    for token, at in used.items():
        session.execute(update(Token).where(Token.digest == token).values(last_used_at=at))
