"""Mutes one incident: a silence of its number, for a time or until it recovers."""

from __future__ import annotations

import re
from collections.abc import Callable

from sqlalchemy import Engine
from sqlalchemy.orm import Session

from holter.server.alerting.incident import Incident
from holter.server.alerting.silences import Silence, add_silence, expire_silence, read_silences

UNTIL_RECOVERED = "Muted until it recovers"
"""The comment of silences that end with their incident."""
_LONGEST_SECONDS = 30 * 86_400.0


def mute_incident(
    session: Session, incident_id: int, *, seconds: float | None, by: str, now: float, comment: str = ""
) -> Silence:
    """Mute an incident for so many seconds, or until it recovers (None), for 30 days at most.

    Earlier mutes of the incident end. `comment`: the reason of a mute that ends at a time.
    """
    unmute_incident(session, incident_id, now=now)
    comment = UNTIL_RECOVERED if seconds is None else comment or "Muted on the incident's page"
    ends_at = now + (_LONGEST_SECONDS if seconds is None else seconds)
    return add_silence(session, [matcher_of(incident_id)], comment=comment, by=by, now=now, ends_at=ends_at)


def unmute_incident(session: Session, incident_id: int, *, now: float) -> bool:
    """End the silences of this incident alone; whether there were any."""
    mutes = mutes_of(session, incident_id, now=now)
    for silence in mutes:
        expire_silence(session, silence.id, now=now)
    return bool(mutes)


def mutes_of(session: Session, incident_id: int, *, now: float) -> list[Silence]:
    """The silences of this incident alone that have not ended."""
    matcher = matcher_of(incident_id)
    return [
        each for each in read_silences(session, now=now) if [str(one) for one in each.matchers] == [matcher]
    ]


def muted_incident(silence: Silence) -> int | None:
    """The number of the only incident that a silence mutes, None where it mutes by other labels."""
    match = re.fullmatch(r'incident="([0-9]{1,18})"', " ".join(map(str, silence.matchers)))
    return int(match[1]) if match else None


def matcher_of(incident_id: int) -> str:
    """The matcher of one incident."""
    return f'incident="{incident_id}"'


def end_mutes_of_recovered(engine: Engine, clock: Callable[[], float]) -> Callable[[Incident], None]:
    """A listener that ends the mutes of incidents that have recovered or were closed."""

    def end(incident: Incident) -> None:
        if incident.is_open:
            return
        now = clock()
        with Session(engine) as session, session.begin():
            for silence in mutes_of(session, incident.id, now=now):
                if silence.comment == UNTIL_RECOVERED:
                    expire_silence(session, silence.id, now=now)

    return end
