"""E-mails as HTML pages that need nothing else: as the server composes them, with their pictures inside."""

from __future__ import annotations

import base64
import time
from collections.abc import Sequence
from pathlib import Path

from sqlalchemy.orm import Session

from holter.server.alerting import Incident, read_incident
from holter.server.alerting.composer import MessageComposer
from holter.server.alerting.incident import EventType
from holter.server.alerting.incident_rows import read_incidents_of_run
from holter.server.alerting.outbox import ClaimedMessage
from holter.server.alerting.rate_limit import SendOne
from holter.server.channels import Message
from holter.server.channels.email import EmailSettings, build_email
from holter.server.database import connect
from holter.server.store import Store

SETTINGS = EmailSettings(type="email", host="mail.example.com", to=("oncall@example.com",))


def mail_page(message: Message) -> str:
    """The HTML part of a message as e-mail."""
    parts = list(build_email(message, SETTINGS, None).walk())
    html = next(part for part in parts if part.get_content_type() == "text/html").get_content()
    for part in parts:
        if part.get_content_type() == "image/png":
            content = base64.b64encode(part.get_content()).decode()
            html = html.replace(f"cid:{part['Content-ID'].strip('<>')}", f"data:image/png;base64,{content}")
    return str(html)


def mail_about(data: Path, incident_id: int) -> str:
    """The e-mail about the beginning of an incident that is in the database of a server."""
    return mail_page(stored_message(data, incident_id))


def stored_message(data: Path, incident_id: int) -> Message:
    """The message about the beginning of an incident that is in a server's database, with its picture."""
    engine = connect(f"sqlite:///{next(data.glob('*.db'))}")

    def incidents_of_run(run_id: int) -> Sequence[Incident]:
        with Session(engine) as session:
            return read_incidents_of_run(session, run_id)

    try:
        with Session(engine) as session:
            incident = read_incident(session, incident_id)
        composer = MessageComposer(
            Store(engine), address="https://holter.example.com", incidents=incidents_of_run
        )
        claimed = ClaimedMessage(
            action=SendOne(carrier=1, folded=(), reason=EventType.OPENED),
            key="1.0.mail",
            attempts=1,
            created_at=time.time(),
            incidents=(incident,),
            thread=None,
        )
        return composer.claimed(claimed, wants_picture=True)
    finally:
        engine.dispose()
