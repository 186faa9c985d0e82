"""Tables of saved views of the overview, and of links that show one page to somebody without a login."""

from __future__ import annotations

from typing import Any

from sqlalchemy import String, Text
from sqlalchemy.orm import Mapped, mapped_column

from holter.server.models.base import Base


class SavedViewRow(Base):
    """A named filter of the overview with its columns and order (`query`: the parameters of its address).

    `project` is the name of the project that it belongs to, empty for all; `is_default`: the overview of
    that project opens with it.
    """

    __tablename__ = "saved_view"
    id: Mapped[int] = mapped_column(primary_key=True)
    name: Mapped[str] = mapped_column(String(100), unique=True)
    project: Mapped[str] = mapped_column(String(200), default="")
    query: Mapped[dict[str, Any]]
    is_default: Mapped[bool] = mapped_column(default=False)
    created_at: Mapped[float]
    created_by: Mapped[str | None] = mapped_column(String(200))


class ShareLinkRow(Base):
    """A link that shows one page read-only until `expires_at`. Only the SHA-256 of its secret is stored.

    `path` is the address of the page within the server, with its query.
    """

    __tablename__ = "share_link"
    id: Mapped[int] = mapped_column(primary_key=True)
    digest: Mapped[str] = mapped_column(String(64), unique=True)
    path: Mapped[str] = mapped_column(Text)
    created_at: Mapped[float]
    created_by: Mapped[str | None] = mapped_column(String(200))
    expires_at: Mapped[float]
    revoked_at: Mapped[float | None]
    last_used_at: Mapped[float | None]
