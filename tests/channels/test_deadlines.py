"""Receivers that answer a byte at a time: a send ends at its deadline, and stopping does not wait for it."""

from __future__ import annotations

import json
import signal
import subprocess
import time
from pathlib import Path
from typing import Any

import httpx
import numpy as np
import pytest
from sqlalchemy import Engine

from holter.server.alerting import NotificationSender, messages
from holter.server.alerting.incident import EventType
from holter.server.channels import Delivered, Message, Retry, open_channels
from holter.server.channels.channel import Channel
from tests.support.alerting import NoCharts
from tests.support.dripping import DrippingReceiver, dripping
from tests.support.receivers import SlackServer, make_incident
from tests.support.servers import forked
from tests.support.waiting import wait_for

pytestmark = pytest.mark.slow
TIMEOUT, DEADLINE = 30.0, 1.0
"""Seconds; a single read of these receivers never takes as long as TIMEOUT."""
IN_TIME = 3.0
"""Seconds within which a busy machine surely comes to what a receiver answers before it drips."""
CUT = f"not finished within {DEADLINE:g} s"
HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 100000\r\n\r\n"
CONTINUE = b"HTTP/1.1 100 Continue\r\n\r\n"
ACCEPTED = (b"220 mail\r\n", *[b"250 mail\r\n"] * 3)
"""The greeting, and what is answered to EHLO, MAIL and RCPT."""


def message() -> Message:
    return messages.compose(
        make_incident(), key="17.0.x", reason=EventType.OPENED, sent_at=1.0, address="http://h"
    )


def slack_at(receiver: DrippingReceiver, **options: Any) -> Channel:
    if "token" not in options:
        options = {"url": f"http://127.0.0.1:{receiver.port}/services/x", **options}
    settings = {"type": "slack", "allow_private": True, "timeout": TIMEOUT, "deadline": DEADLINE, **options}
    return open_channels({"team": settings})["team"].channel


def mail_at(receiver: DrippingReceiver, **options: Any) -> Channel:
    settings = {
        "type": "email", "host": "127.0.0.1", "port": receiver.port, "security": "none",
        "to": "oncall@example.com", "timeout": TIMEOUT, "deadline": DEADLINE, **options,
    }  # fmt: skip
    return open_channels({"mail": settings})["mail"].channel


@pytest.mark.parametrize(
    ("answers", "endless"),
    [
        ((), b"220-"),
        ((*ACCEPTED, b"354 go on\r\n"), b"250-x\r\n"),
        ((*ACCEPTED, b"354 go on\r\n", b"250"), b""),  # cut off where smtplib alone would take it as whole
    ],
    ids=["greeting", "message", "within a line"],
)
def test_a_mail_server_that_drips_is_left_at_the_deadline(answers: tuple[bytes, ...], endless: bytes) -> None:
    with dripping(endless, answers) as receiver:
        assert mail_at(receiver).send(message(), None) == Retry(f"SMTP: {CUT}")


def test_encryption_does_not_prolong_it(certificate: Path) -> None:
    with dripping(b"220-", certificate=certificate) as receiver:
        channel = mail_at(receiver, security="ssl", ca_file=certificate)
        assert channel.send(message(), None) == Retry(f"SMTP: {CUT}")
        assert receiver.connections == 1


def test_a_mail_that_was_taken_before_the_deadline_has_arrived() -> None:
    taken = (*ACCEPTED, b"354 go on\r\n", b"250 taken\r\n")
    with dripping(b"221-x\r\n", taken) as receiver:
        assert isinstance(mail_at(receiver, deadline=IN_TIME).send(message(), None), Delivered)


@pytest.mark.parametrize("endless", [CONTINUE, b"HTTP/1.1 2"], ids=["interim answers", "status"])
def test_a_web_server_that_drips_is_left_at_the_deadline(endless: bytes) -> None:
    with dripping(endless) as receiver:
        assert slack_at(receiver).send(message(), None) == Retry(f"Slack: {CUT}")


@pytest.mark.parametrize("answers", [(b"HTTP/1.1 200 OK\r\n",), (HEAD,)], ids=["headers", "body"])
def test_the_status_tells_whether_a_webhook_has_taken_a_message(answers: tuple[bytes, ...]) -> None:
    """To send it again would only repeat it. What a bot's call has done is in the body."""
    with dripping(b"X-Header: 1\r\n", answers) as receiver:
        assert slack_at(receiver, deadline=IN_TIME).send(message(), None) == Delivered()
        bot = slack_at(receiver, token="x", channel="C1", api_url=f"http://127.0.0.1:{receiver.port}")
        assert bot.send(message(), None) == Retry(f"Slack: {CUT}")


def test_a_proxy_that_drips_is_left_at_the_deadline(monkeypatch: pytest.MonkeyPatch) -> None:
    with dripping(b"X-Header: 1\r\n", (b"HTTP/1.1 200 OK\r\n",)) as receiver:
        monkeypatch.setenv("https_proxy", f"http://127.0.0.1:{receiver.port}")
        channel = slack_at(receiver, url="https://hooks.slack.com/services/x")
        assert channel.send(message(), None) == Retry(f"Slack: {CUT}")
        assert receiver.connections == 1


def test_a_sender_stops_while_a_receiver_drips(
    sqlite_engine: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("holter.server.alerting.sender._STOP_SECONDS", 0.2)
    outcomes: list[object] = []
    with dripping(b"220-") as receiver:
        channels = open_channels({
            "mail": {
                "type": "email", "host": "127.0.0.1", "port": receiver.port, "security": "none",
                "to": "oncall@example.com", "timeout": 60, "deadline": 90,
            }
        })  # fmt: skip
        sender = NotificationSender(sqlite_engine, NoCharts(), channels, public_url="http://h")

        def send(name: str) -> None:
            outcomes.append(channels[name].channel.send(message(), None))

        monkeypatch.setattr(sender, "send_next", send)
        sender.start()
        wait_for(lambda: receiver.connections)
        sender.close()
        thread = sender._threads["mail"].thread
        assert not thread.is_alive()
    assert outcomes == [Retry("SMTP: interrupted because the server stops")]


def test_sigterm_ends_a_server_whose_receivers_drip_and_the_next_one_delivers(
    tmp_path: Path, slack: SlackServer
) -> None:
    loss = 2 + np.random.default_rng(3).normal(0, 0.01, 600)
    columns = {
        "step": list(range(600)),
        "time": [time.time() - 300 + step / 2 for step in range(600)],
        "train/loss": [*loss[:560], *["NaN"] * 40],
    }
    arguments = ("serve", "--data-dir", tmp_path / "data")
    channel = {"type": "slack", "allow_private": True, "settle": 0, "timeout": 60, "deadline": 90}
    with dripping(CONTINUE) as receiver:
        url = f"http://127.0.0.1:{receiver.port}/services/x"
        channels = json.dumps({"team": {**channel, "url": url}})
        with forked(*arguments, HOLTER_CHANNELS=channels) as (process, address):
            body = {"project": "llm", "run": "7b", "columns": columns}
            httpx.post(f"{address}/api/v1/ingest", json=body, timeout=60).raise_for_status()
            wait_for(lambda: receiver.connections)
            process.send_signal(signal.SIGTERM)
            try:
                process.wait(timeout=60)  # the deadline of the send is 90 s
            except subprocess.TimeoutExpired:
                pytest.fail("the server waits for its receiver")
            assert process.returncode == 0
    channels = json.dumps({"team": {**channel, "url": f"{slack.url}/services/x"}})
    with forked(*arguments, HOLTER_CHANNELS=channels):
        wait_for(lambda: slack.payloads)
    assert "7b" in slack.payloads[0]["text"]
