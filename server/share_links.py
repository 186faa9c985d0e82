"""Share links: one page, read-only, without a login, until a date or until somebody revokes the link.

Only the SHA-256 digests of the links' secrets are stored.
"""

from __future__ import annotations

import re
import secrets
import time
from collections.abc import Callable
from typing import Any, NamedTuple
from urllib.parse import parse_qs, urlsplit

from sqlalchemy import Connection, Engine, insert, select, update

from holter.server.database import writing
from holter.server.models import ShareLinkRow
from holter.server.schemas.run_search import NewShareLink, ShareLink
from holter.server.tokens import digest

COOKIE = "holter_share"
MAX_DAYS = 365
MAX_LINKS = 1000
"""Links in force at the same time."""
MAX_PATH = 8000
_DAY = 86_400.0
_SECRET_BYTES = 32
_RUN_PAGE = re.compile(r"/runs/([0-9A-Za-z]{1,16})")
_RUN_ID = re.compile(r"[0-9A-Za-z]{1,16}")
_RUN_ROUTE = re.compile(r"/api/v1/runs/([0-9A-Za-z]{1,16})(/[a-z/]+)?")
_LIST_PARAMETERS = frozenset({"filter", "sort", "columns", "limit", "cursor", "since"})
_VIEW_PARAMETERS = frozenset({"q", "sort", "columns"})


class UnknownShareLinkError(LookupError):
    """There is no link in force with this id or secret."""


class SharedPageError(ValueError):
    """This page cannot be shared."""


class ActiveShare(NamedTuple):
    """A link in force: the address of its page, and when it ends in Unix seconds."""

    path: str
    expires_at: float

    def allows(self, method: str, path: str, query: str) -> bool:
        """Whether its page needs this request: reading, of the runs that the page shows, and nothing else."""
        if method not in ("GET", "HEAD"):
            return False
        page = urlsplit(self.path)
        runs = shared_runs(self.path)
        if runs:
            if found := _RUN_ROUTE.fullmatch(path):
                return found[1] in runs
            parameters = parse_qs(query)
            asked = _run_ids([*parameters.get("runs", []), *parameters.get("baseline", [])])
            return (
                page.path == "/compare"
                and path.startswith("/api/v1/compare/")
                and bool(asked)
                and asked <= runs
            )
        return path == "/api/v1/runs" and _is_within_view(parse_qs(page.query), query)


def shared_runs(path: str) -> frozenset[str]:
    """The runs that a page shows; none for a list of runs, which a filter chooses."""
    page = urlsplit(path)
    if found := _RUN_PAGE.fullmatch(page.path):
        return frozenset({found[1]})
    return _run_ids(parse_qs(page.query).get("runs", [])) if page.path == "/compare" else frozenset()


def _run_ids(values: list[str]) -> frozenset[str]:
    return frozenset(part for value in values for part in value.split(",") if part)


def _is_within_view(view: dict[str, list[str]], query: str) -> bool:
    """Whether a request for runs has the filter of a view, and shows no further columns or orders."""
    asked = parse_qs(query)
    return (
        asked.keys() <= _LIST_PARAMETERS
        and asked.get("filter", []) == view.get("q", [])
        and set(asked.get("columns", [])) <= set(view.get("columns", []))
        and set(asked.get("sort", []))
        <= {*view.get("sort", []), "attention", "updated", "-updated", "name", "-name"}
    )


def check_page(path: str) -> None:
    """Raise SharedPageError unless this is the address of a page that can be shared."""
    page = urlsplit(path)
    if len(path) > MAX_PATH or page.scheme or page.netloc or page.fragment or not path.isprintable():
        raise SharedPageError(f"expected an address within this server of at most {MAX_PATH} characters")
    is_list = page.path == "/" and parse_qs(page.query).keys() <= _VIEW_PARAMETERS
    runs = shared_runs(path)
    if not is_list and not (runs and all(map(_RUN_ID.fullmatch, runs))):
        expected = "/runs/ID, /compare?runs=ID,ID, or / with the parameters q, sort and columns"
        raise SharedPageError(f"expected {expected}")


class ShareLinks:
    """The share links in the database."""

    def __init__(self, engine: Engine, *, address: str, clock: Callable[[], float] = time.time) -> None:
        self._engine = engine
        self._address = address.rstrip("/")
        self._clock = clock

    def create(self, path: str, days: float, *, by: str | None) -> NewShareLink:
        """A new link to a page. Its address cannot be read again later. Raises SharedPageError."""
        check_page(path)
        now = self._clock()
        with self._engine.connect() as connection:
            if len(active_shares(connection, now)) >= MAX_LINKS:
                raise SharedPageError(f"{MAX_LINKS} links are in force: revoke one first")
        secret = secrets.token_urlsafe(_SECRET_BYTES)
        row = {
            "digest": digest(secret),
            "path": path,
            "created_at": now,
            "created_by": by,
            "expires_at": now + days * _DAY,
        }
        with writing(self._engine) as connection:
            number = connection.scalar(insert(ShareLinkRow).values(row).returning(ShareLinkRow.id))
        link = next(link for link in self.all() if link["id"] == number)
        return {**link, "address": f"{self._address}/share/{secret}"}

    def all(self) -> list[ShareLink]:
        """All links, the newest first."""
        query = select(ShareLinkRow.__table__).order_by(ShareLinkRow.id.desc())
        with self._engine.connect() as connection:
            return [_link(row) for row in connection.execute(query)]

    def revoke(self, link_id: int) -> None:
        """End a link at once. Raises UnknownShareLinkError."""
        in_force = (ShareLinkRow.id == link_id, ShareLinkRow.revoked_at.is_(None))
        statement = update(ShareLinkRow).where(*in_force).values(revoked_at=self._clock())
        with writing(self._engine) as connection:
            if connection.execute(statement).rowcount == 0:
                raise UnknownShareLinkError(f"There is no link {link_id} in force.")

    def open(self, secret: str) -> ActiveShare:
        """The link of a secret, whose use is recorded. Raises UnknownShareLinkError."""
        now = self._clock()
        with writing(self._engine) as connection:
            share = active_shares(connection, now).get(digest(secret))
            if share is None:
                raise UnknownShareLinkError("This link has ended, was revoked, or never existed.")
            used = update(ShareLinkRow).where(ShareLinkRow.digest == digest(secret))
            connection.execute(used.values(last_used_at=now))
        return share


def active_shares(connection: Connection, now: float) -> dict[str, ActiveShare]:
    """The links in force by the digest of their secret."""
    query = select(ShareLinkRow.digest, ShareLinkRow.path, ShareLinkRow.expires_at)
    query = query.where(ShareLinkRow.revoked_at.is_(None), ShareLinkRow.expires_at > now)
    return {row.digest: ActiveShare(row.path, row.expires_at) for row in connection.execute(query)}


def _link(row: Any) -> ShareLink:
    return {
        "id": row.id,
        "path": row.path,
        "created_at": row.created_at,
        "created_by": row.created_by,
        "expires_at": row.expires_at,
        "revoked_at": row.revoked_at,
        "last_used_at": row.last_used_at,
    }
