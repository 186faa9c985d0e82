"""Buttons of Slack messages: they do what pages and REST do, and answer in words where they cannot."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from sqlalchemy import Engine, select
from sqlalchemy.orm import Session

from holter.plurals import counted
from holter.server.alerting import Incident, IncidentStore, UnknownIncidentError, read_incident
from holter.server.alerting.composer import MessageComposer
from holter.server.alerting.incident import EventType, IncidentState
from holter.server.alerting.incident_mutes import mutes_of
from holter.server.alerting.messages import clock_time, status_sentences
from holter.server.alerting.outbox import MessageThread
from holter.server.channels import ConfiguredChannel, Delivered
from holter.server.channels.channel import UpdatingChannel
from holter.server.channels.slack import SlackSettings, respond
from holter.server.channels.slack_blocks import SlackAction, build_payload, escape
from holter.server.channels.slack_requests import PressedButton, parse_press, signers
from holter.server.incident_actions import IncidentActions
from holter.server.models.alerting import NotificationRow

SILENCE_SECONDS = 7200.0
"""Seconds for which the button silences an incident."""
_SAME_PRESS_SECONDS = 1.0
_SHOWN_PROBLEMS = 10
_logger = logging.getLogger(__name__)


class SlackInteractions:
    """Acts on pressed buttons for the channels that have a signing secret. Thread-safe."""

    def __init__(
        self,
        engine: Engine,
        channels: Mapping[str, ConfiguredChannel],
        *,
        incidents: IncidentStore,
        actions: IncidentActions,
        composer: MessageComposer,
        clock: Callable[[], float],
    ) -> None:
        self._engine = engine
        self._channels = {
            name: channel
            for name, channel in channels.items()
            if isinstance(channel.settings, SlackSettings) and channel.settings.has_buttons
        }
        self._incidents = incidents
        self._actions = actions
        self._composer = composer
        self._clock = clock
        self._lock = threading.Lock()

    @property
    def is_enabled(self) -> bool:
        """Whether any channel has a signing secret."""
        return bool(self._channels)

    def signers(self, body: bytes, timestamp: str, signature: str) -> tuple[str, ...]:
        """The channels whose secret signed a request; none: it is not from Slack, or too old."""
        secrets = {name: _secret(channel) for name, channel in self._channels.items()}
        return signers(secrets, body, timestamp, signature, now=self._clock())

    def parse(self, body: bytes) -> PressedButton | None:
        """The button of a signed request, None for another interaction. Raises SlackRequestError."""
        return parse_press(body, now=self._clock())

    def handle(self, press: PressedButton, channels: Sequence[str]) -> None:
        """Do what a button asks for, and answer the person; `channels` signed the request. Never raises."""
        try:
            with self._lock:  # the same press twice is done once
                answer = self._perform(press, channels)
        except Exception:
            _logger.exception("a button of Slack (%s) failed", press.action)
            answer = {"text": "This could not be saved. Try again, or open the incident in Holter."}
        if answer is None:
            return
        settings = self._channels[channels[0]].settings
        assert isinstance(settings, SlackSettings)
        outcome = respond(settings, press.response_url, {"response_type": "ephemeral"} | answer)
        if not isinstance(outcome, Delivered):
            _logger.warning("the person who pressed a button got no answer: %s", outcome.reason)

    def _perform(self, press: PressedButton, channels: Sequence[str]) -> dict[str, Any] | None:
        """Act on each incident; returns the answer, None where the updated message is the answer."""
        problems, done = [], []
        for incident_id in press.incident_ids:
            try:
                incident = self._read(incident_id, channels)
                refusal = self._act(press, incident)
            except UnknownIncidentError:
                refusal = f"Incident {incident_id} is not known here any more: it may have been deleted."
            if refusal:
                problems.append(refusal)
            else:
                done.append(incident_id)
        if problems:
            rest = [f"Done for {counted(len(done), 'other incident')}."] if done else []
            text = "\n".join(map(escape, [*problems[:_SHOWN_PROBLEMS], *rest]))
            return {"text": text, "replace_original": False}
        if any(isinstance(self._channels[name].channel, UpdatingChannel) for name in channels):
            return None
        if press.group:
            return {"text": f"Done for {counted(len(done), 'incident')}.", "replace_original": False}
        return self._present(done[0], press)

    def _read(self, incident_id: int, channels: Sequence[str]) -> Incident:
        """An incident that was sent to one of these channels. Raises UnknownIncidentError."""
        query = select(NotificationRow.id).where(
            NotificationRow.incident_id == incident_id, NotificationRow.channel.in_(channels)
        )
        with Session(self._engine) as session:
            incident = read_incident(session, incident_id)
            if session.scalar(query.limit(1)) is None:
                raise UnknownIncidentError(f"Incident {incident_id} was not sent to this channel.")
        return incident

    def _act(self, press: PressedButton, incident: Incident) -> str:
        """Do it; returns why not in words, empty where it was done."""
        if incident.state is not IncidentState.OPEN:
            if press.action is SlackAction.NOT_AN_INCIDENT and incident.state is IncidentState.RECOVERED:
                self._actions.close_as_no_incident(incident.id, by=press.user)
                return ""
            return self._describe_end(incident)
        if press.action is SlackAction.ACKNOWLEDGE:
            return self._acknowledge(press, incident)
        if press.action is SlackAction.SILENCE:
            return self._silence(press, incident)
        self._actions.close_as_no_incident(incident.id, by=press.user)
        return ""

    def _acknowledge(self, press: PressedButton, incident: Incident) -> str:
        if incident.acknowledged_by is not None:
            at = clock_time(incident.acknowledged_at or incident.updated_at, self._clock())
            return f"Incident {incident.id} was acknowledged by {incident.acknowledged_by} at {at} already."
        self._incidents.acknowledge(incident.id, by=press.user)
        return ""

    def _silence(self, press: PressedButton, incident: Incident) -> str:
        now, ends_at = self._clock(), press.pressed_at + SILENCE_SECONDS
        with Session(self._engine) as session:
            mutes = mutes_of(session, incident.id, now=now)
        longest = max(mutes, key=lambda mute: mute.ends_at, default=None)
        if longest is not None and longest.ends_at >= ends_at - _SAME_PRESS_SECONDS:
            until = clock_time(longest.ends_at, now)
            return f"Incident {incident.id} is silenced by {longest.created_by} until {until} already."
        self._incidents.mute(
            incident.id, seconds=ends_at - now, by=press.user, comment="Silenced for two hours in Slack"
        )
        return ""

    def _describe_end(self, incident: Incident) -> str:
        ended = incident.latest(EventType.CLOSED, EventType.WITHDRAWN, EventType.RECOVERED)
        how = status_sentences(incident, self._clock())[-1:] if ended is not None else ()
        what = f" ({how[0]})" if how else ""
        return f"Incident {incident.id} has ended already{what}: nothing was changed."

    def _present(self, incident_id: int, press: PressedButton) -> dict[str, Any]:
        """The message of a webhook as it would be sent now, which replaces the one with the button."""
        with Session(self._engine) as session:
            thread = MessageThread(thread="", incidents=(read_incident(session, incident_id),))
        message = self._composer.present(thread, key=f"{incident_id}.slack", now=self._clock())
        return build_payload(message, buttons=True) | {"replace_original": True}


def _secret(channel: ConfiguredChannel) -> str:
    settings = channel.settings
    assert isinstance(settings, SlackSettings)
    assert settings.signing_secret is not None
    return settings.signing_secret.get_secret_value()
