"""What holds for every channel that is listed. A new one adds its settings here, and nothing else."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import holter.server.channels
from holter.server.alerting.incident import EventType
from holter.server.alerting.messages import compose
from holter.server.channels import BUILTIN, ChannelError, ChannelType, Retry, open_channels, registry
from tests.support.receivers import make_incident

SECRET = "very-secret"
SETTINGS: dict[str, Callable[[int], dict[str, Any]]] = {
    "email": lambda port: {"url": f"smtp://holter:{SECRET}@127.0.0.1:{port}", "to": "oncall@example.com"},
    "slack": lambda port: {"url": f"http://127.0.0.1:{port}/services/{SECRET}", "allow_private": True},
    "webhook": lambda port: {
        "url": f"http://127.0.0.1:{port}/{SECRET}",
        "signing_secret": f"{SECRET}-of-signatures",
        "token": SECRET,
        "allow_private": True,
    },
    "pagerduty": lambda port: {"routing_key": SECRET, **_api_at(port)},
    "opsgenie": lambda port: {"api_key": SECRET, **_api_at(port)},
    "teams": lambda port: {"url": f"http://127.0.0.1:{port}/{SECRET}", "allow_private": True},
    "discord": lambda port: {"url": f"http://127.0.0.1:{port}/{SECRET}", "allow_private": True},
    "ntfy": lambda port: {
        "server": f"http://127.0.0.1:{port}",
        "topic": SECRET,
        "token": SECRET,
        "allow_private": True,
    },
    "pushover": lambda port: {"token": SECRET, "user": SECRET, **_api_at(port)},
    "apprise": lambda port: {"url": f"json://127.0.0.1:{port}/{SECRET}", "allow_private": True},
}


def _api_at(port: int) -> dict[str, Any]:
    return {"api_url": f"http://127.0.0.1:{port}", "allow_private": True}


EVERY = pytest.mark.parametrize("kind", BUILTIN, ids=lambda kind: kind.name)


def settings_of(kind: ChannelType, port: int) -> dict[str, Any]:
    return {"type": kind.name, **SETTINGS[kind.name](port)}


def test_every_file_of_a_channel_is_listed() -> None:
    folder = Path(holter.server.channels.__file__).parent
    common = {"__init__", "addresses", "channel", "deadline", "message", "http", "http_channel"}
    common |= {"alerts", "apprise_process", "slack_blocks", "slack_requests", "texts", "webhook_documents"}
    assert {path.stem for path in folder.glob("*.py")} - common == registry().keys()


@EVERY
def test_a_channel_without_reply_may_be_tried_again(
    kind: ChannelType, closed_port: Callable[[], int], caplog: pytest.LogCaptureFixture
) -> None:
    opened = open_channels({"team": settings_of(kind, closed_port())})["team"]
    message = compose(
        make_incident(), key="1.0.team", reason=EventType.OPENED, sent_at=1.0, address="http://h"
    )
    began = time.monotonic()
    outcome = opened.channel.send(message, None)
    assert isinstance(outcome, Retry)
    assert time.monotonic() - began < 30
    assert SECRET not in repr((outcome, opened, opened.channel.destination)) + caplog.text
    # the host of a URL of Apprise's may be a secret
    assert ("json" if kind.name == "apprise" else "127.0.0.1") in opened.channel.destination


@EVERY
def test_a_wrong_setting_is_named_and_no_secret_with_it(kind: ChannelType) -> None:
    for wrong in ({"no_such_setting": SECRET}, {"burst": SECRET}, {"minimum": SECRET}):
        with pytest.raises(ChannelError) as refusal:
            open_channels({"team": settings_of(kind, 1) | wrong})
        assert next(iter(wrong)) in str(refusal.value)
        assert SECRET not in str(refusal.value)


def test_an_unknown_kind_of_channel_is_refused() -> None:
    with pytest.raises(
        ChannelError, match=r"\[channels.team\] type: expected one of apprise, discord, email, ntfy"
    ):
        open_channels({"team": {"type": "pigeon"}})
