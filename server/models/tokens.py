"""Access tokens."""

from __future__ import annotations

from sqlalchemy import String
from sqlalchemy.orm import Mapped, mapped_column

from holter.server.models.base import Base


class Token(Base):
    """An access token. Only its SHA-256 is stored; the token itself is shown once."""

    __tablename__ = "token"
    id: Mapped[int] = mapped_column(primary_key=True)
    name: Mapped[str] = mapped_column(String(200), unique=True)
    digest: Mapped[str] = mapped_column(String(64), unique=True)
    created_at: Mapped[float]
    last_used_at: Mapped[float | None]
    revoked_at: Mapped[float | None]
