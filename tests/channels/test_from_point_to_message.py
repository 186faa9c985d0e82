"""The whole way: points of a live run come in, a mail with its curve and a Slack message go out."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from holter.server.context import ServerContext
from holter.settings import Settings
from holter.types import Batch, Column, Delivery, SeriesKey
from tests.support.receivers import MailServer, SlackServer

pytestmark = pytest.mark.slow


def going_nan(steps: int) -> Delivery:
    """A loss that falls, and becomes NaN forty steps before its end, a second ago."""
    loss = 2 + np.exp(-np.arange(steps) / 200) + np.random.default_rng(3).normal(0, 0.01, steps)
    loss[-40:] = np.nan
    columns = (Column(key=SeriesKey("train/loss"), values=loss),)
    times = time.time() - 1 - np.arange(steps)[::-1] * 0.5
    batch = Batch(steps=np.arange(steps), times=times, columns=columns)
    return Delivery(project="llm", run="7b", writer="node0", batch_id="all", batch=batch)


@pytest.fixture
def settings(
    tmp_path: Path, slack: SlackServer, mail_server: Callable[..., MailServer]
) -> tuple[Settings, MailServer]:
    mail = mail_server("none", login=False)
    url = f"smtp://127.0.0.1:{mail.port}?security=none"
    channels = {
        "training": {"type": "slack", "allow_private": True, "url": f"{slack.url}/services/x", "settle": 0},
        "oncall": {"type": "email", "url": url, "to": "oncall@example.com", "settle": 0},
    }
    return Settings(data_dir=tmp_path, channels=channels, public_url="http://localhost:1234"), mail


def test_a_loss_that_becomes_nan_reaches_people_within_seconds(
    settings: tuple[Settings, MailServer], slack: SlackServer
) -> None:
    context = ServerContext(settings[0])
    context.start()
    try:
        began = time.monotonic()
        context.store.accept(going_nan(600))
        while not (slack.payloads and settings[1].mails):
            assert time.monotonic() - began < 60, "no message came"
            time.sleep(0.05)
    finally:
        context.close()
    text = json.dumps(slack.payloads[0], ensure_ascii=False)
    assert "NaN or infinity in 7b at step 560" in text
    assert "http://localhost:1234/incidents/1" in text
    assert "✗" in text
    [mail] = settings[1].mails
    kinds = {part.get_content_type(): part for part in mail.walk()}
    assert kinds["image/png"].get_content().startswith(b"\x89PNG")
    assert "step 560" in kinds["text/plain"].get_content()
