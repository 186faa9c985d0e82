"""Channels that record what they are given, and answer what a test asks for: for what the sender does."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from holter.server.channels import ConfiguredChannel, Delivered, Message
from holter.server.channels.channel import Channel, ChannelSettings, Outcome

Answer = Outcome | Callable[[], Outcome]


class RecordingChannel:
    """Answers with the next of `answers`, a value or what a call returns; then with `Delivered`."""

    destination = "recorded"
    wants_picture = False

    def __init__(self, *answers: Answer) -> None:
        self.answers = list(answers)
        self.sent: list[tuple[Message, str | None]] = []

    def send(self, message: Message, thread: str | None) -> Outcome:
        """Record it."""
        self.sent.append((message, thread))
        answer = self.answers.pop(0) if self.answers else Delivered(thread or f"thread {len(self.sent)}")
        return answer() if callable(answer) else answer


class UpdatingRecordingChannel(RecordingChannel):
    """One that can update the first message of a thread; `updates` are answered like messages."""

    def __init__(self, *answers: Answer, update_answers: list[Answer] | None = None) -> None:
        super().__init__(*answers)
        self.update_answers = update_answers or []
        self.updated: list[tuple[Message, str]] = []

    def update(self, message: Message, thread: str) -> Outcome:
        """Record it."""
        self.updated.append((message, thread))
        answer = self.update_answers.pop(0) if self.update_answers else Delivered(thread)
        return answer() if callable(answer) else answer


class PacedRecordingChannel(UpdatingRecordingChannel):
    """One whose receiving server limits the rate."""

    least_interval = 0.3


def configured(channel: Channel, name: str = "team", **settings: Any) -> dict[str, ConfiguredChannel]:
    """The channel with settings: nothing is waited for if nothing else is stated."""
    options = ChannelSettings(type="recording", **{"settle": 0, "calm": 0} | settings)
    return {name: ConfiguredChannel(name, options, channel)}
