"""Access tokens, and sessions that ended before they expired."""

from __future__ import annotations

from sqlalchemy import String
from sqlalchemy.orm import Mapped, mapped_column

from holter.server.models.base import Base


class Token(Base):
    """An access token. Only its SHA-256 is stored; the token itself is shown once.

    `scope` is a value of `TokenScope`; None: created before tokens had scopes, which is `all`.
    """

    __tablename__ = "token"
    id: Mapped[int] = mapped_column(primary_key=True)
    name: Mapped[str] = mapped_column(String(200), unique=True)
    digest: Mapped[str] = mapped_column(String(64), unique=True)
    created_at: Mapped[float]
    last_used_at: Mapped[float | None]
    revoked_at: Mapped[float | None]
    scope: Mapped[str | None] = mapped_column(String(10))


class EndedSession(Base):
    """A browser session that a person ended, until its cookie expires."""

    __tablename__ = "ended_session"
    session_id: Mapped[str] = mapped_column(String(40), primary_key=True)
    expires_at: Mapped[float]
