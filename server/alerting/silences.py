"""Silences: people mute incidents by matchers, with a reason and an end."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal

from sqlalchemy import select
from sqlalchemy.orm import Session

from holter.server.alerting.routing import LabelSet, Matcher, MatcherError, all_match, parse_matchers
from holter.server.models.alerting import SilenceRow

LONGEST = 366 * 86_400.0
"""Seconds that a silence may last."""
MAX_MATCHERS, MAX_COMMENT = 20, 2000


class SilenceError(ValueError):
    """A silence is not valid; the message states what was expected."""


class UnknownSilenceError(LookupError):
    """There is no silence with this number."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Silence:
    """A silence. Times are Unix seconds; it is active from `starts_at` until `ends_at`."""

    id: int
    matchers: tuple[Matcher, ...]
    comment: str
    created_by: str
    created_at: float
    starts_at: float
    ends_at: float

    def state(self, now: float) -> Literal["pending", "active", "expired"]:
        """`pending`, `active` or `expired`."""
        if now >= self.ends_at:
            return "expired"
        return "active" if now >= self.starts_at else "pending"

    def mutes(self, labels: LabelSet, now: float) -> bool:
        """Whether it mutes an incident with these labels now."""
        return self.starts_at <= now < self.ends_at and all_match(self.matchers, labels)


def add_silence(
    session: Session,
    matchers: Sequence[str],
    *,
    comment: str,
    by: str,
    now: float,
    ends_at: float,
    starts_at: float | None = None,
) -> Silence:
    """Store a silence. Raises SilenceError."""
    starts_at = now if starts_at is None else starts_at
    if not comment.strip() or len(comment) > MAX_COMMENT:
        raise SilenceError(f"comment: expected the reason in 1 to {MAX_COMMENT:,} characters")
    if not 1 <= len(matchers) <= MAX_MATCHERS:
        raise SilenceError(f"matchers: expected 1 to {MAX_MATCHERS}")
    try:
        parsed = parse_matchers(matchers)
    except MatcherError as error:
        raise SilenceError(f"matchers: {error}") from None
    if all(matcher.matches({}) for matcher in parsed):
        raise SilenceError("matchers: expected at least one that does not match an empty label")
    if not max(starts_at, now) < ends_at <= now + LONGEST:
        raise SilenceError("ends_at: expected a time after now and starts_at, within a year")
    row = SilenceRow(
        matchers=[str(matcher) for matcher in parsed],
        comment=comment.strip(),
        created_by=by,
        created_at=now,
        starts_at=starts_at,
        ends_at=ends_at,
    )
    session.add(row)
    session.flush()
    return _silence(row)


def expire_silence(session: Session, silence_id: int, *, now: float) -> Silence:
    """End a silence now; one that has ended stays as it is. Raises UnknownSilenceError."""
    row = session.get(SilenceRow, silence_id)
    if row is None:
        raise UnknownSilenceError(f"There is no silence {silence_id}.")
    row.ends_at = min(row.ends_at, now)
    row.starts_at = min(row.starts_at, row.ends_at)
    return _silence(row)


def read_silence(session: Session, silence_id: int) -> Silence:
    """One silence by its number. Raises UnknownSilenceError."""
    row = session.get(SilenceRow, silence_id)
    if row is None:
        raise UnknownSilenceError(f"There is no silence {silence_id}.")
    return _silence(row)


def read_silences(session: Session, *, now: float, expired: bool = False, limit: int = 1000) -> list[Silence]:
    """The silences that have not ended, the newest first; `expired`: the ended ones, too."""
    query = select(SilenceRow).order_by(SilenceRow.id.desc()).limit(limit)
    if not expired:
        query = query.where(SilenceRow.ends_at > now)
    return [_silence(row) for row in session.scalars(query)]


def _silence(row: SilenceRow) -> Silence:
    return Silence(
        id=row.id,
        matchers=_parse(tuple(row.matchers)),
        comment=row.comment,
        created_by=row.created_by,
        created_at=row.created_at,
        starts_at=row.starts_at,
        ends_at=row.ends_at,
    )


@lru_cache(1000)
def _parse(texts: tuple[str, ...]) -> tuple[Matcher, ...]:
    return parse_matchers(texts)
