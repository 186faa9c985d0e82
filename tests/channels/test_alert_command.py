"""`holter alert` with settings of a folder and of the environment."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from holter.cli.main import main
from tests.support.endpoints import Endpoint
from tests.support.receivers import PASSWORD, MailServer, SlackServer

pytestmark = pytest.mark.slow

Holter = Callable[..., "subprocess.CompletedProcess[str]"]


LOCAL = json.dumps({"slack": {"allow_private": True}})
"""The receivers of tests are on this machine."""


@pytest.fixture
def holter(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Holter:
    """The command in an empty folder, with these settings in the environment."""
    monkeypatch.chdir(tmp_path)
    for name in [name for name in os.environ if name.startswith("HOLTER_")]:
        monkeypatch.delenv(name)

    def run(*words: str, **settings: str) -> subprocess.CompletedProcess[str]:
        with monkeypatch.context() as patch:
            for name, value in settings.items():
                patch.setenv(name, value)
            code = main(["alert", *words])
        printed = capsys.readouterr()
        return subprocess.CompletedProcess(words, code, printed.out, printed.err)

    return run


def test_a_test_message_arrives_in_slack(holter: Holter, slack: SlackServer) -> None:
    url = f"{slack.url}/services/T0/B0/very-secret"
    refused = holter("test", "slack", HOLTER_SLACK_WEBHOOK_URL=url)
    assert (refused.returncode, slack.payloads) == (1, [])
    assert "allow_private" in refused.stderr
    done = holter("test", "slack", HOLTER_SLACK_WEBHOOK_URL=url, HOLTER_CHANNELS=LOCAL)
    assert done.returncode == 0, done.stderr
    assert "slack: the test message arrived (Slack webhook at 127.0.0.1)" in done.stdout
    assert "nothing has happened" in json.dumps(slack.payloads)
    assert "very-secret" not in done.stdout + done.stderr


def test_a_test_message_arrives_by_mail_with_a_picture(
    holter: Holter, mail_server: Callable[..., MailServer], certificate: Path, tmp_path: Path
) -> None:
    server = mail_server()
    (tmp_path / "holter.toml").write_text(
        f"""
        [channels.oncall]
        type = "email"
        host = "127.0.0.1"
        port = {server.port}
        username = "holter@example.com"
        password = "{PASSWORD}"
        ca_file = "{certificate}"
        to = ["oncall@example.com"]
        """
    )
    done = holter("test", "oncall")
    assert done.returncode == 0, done.stderr
    [mail] = server.mails
    [picture] = [part for part in mail.walk() if part.get_content_type() == "image/png"]
    assert picture.get_content().startswith(b"\x89PNG")


def test_a_test_message_opens_an_alert_with_a_key_from_the_environment(
    holter: Holter, endpoint: Endpoint, tmp_path: Path
) -> None:
    table = f'[channels.pager]\ntype = "pagerduty"\napi_url = "{endpoint.url}"\nallow_private = true\n'
    (tmp_path / "holter.toml").write_text(table)
    key = json.dumps({"pager": {"routing_key": "very-secret"}})
    done = holter("test", "pager", HOLTER_CHANNELS=key)
    assert done.returncode == 0, done.stderr
    assert "pager: the test message arrived (PagerDuty at 127.0.0.1)" in done.stdout
    assert endpoint.only.json["routing_key"] == "very-secret"
    assert endpoint.only.json["payload"]["severity"] == "info"
    assert "very-secret" not in done.stdout + done.stderr


def test_a_channel_that_fails_states_the_reason(holter: Holter, slack: SlackServer) -> None:
    slack.answer(404, "no_service")
    done = holter("test", "slack", HOLTER_SLACK_WEBHOOK_URL=f"{slack.url}/services/x", HOLTER_CHANNELS=LOCAL)
    assert (done.returncode, done.stdout) == (1, "")
    assert "slack: not delivered. Slack answered 404 no_service" in done.stderr


def test_the_channels_are_listed_without_their_secrets(holter: Holter) -> None:
    settings = {
        "HOLTER_SLACK_WEBHOOK_URL": "https://hooks.slack.com/services/very-secret",
        "HOLTER_SMTP_URL": "smtp://holter%40example.com:very-secret@mail.example.com",
        "HOLTER_EMAIL_TO": "oncall@example.com",
    }
    done = holter("list", **settings)
    assert done.stdout.splitlines() == [
        "slack: Slack webhook at hooks.slack.com, from warning upwards",
        "email: mail to oncall@example.com through mail.example.com:587, from warning upwards",
    ]
    assert "No channels are set up" in holter("list").stdout


def test_a_wrong_name_or_setting_is_a_usage_error(holter: Holter, tmp_path: Path) -> None:
    unknown = holter("test", "pager")
    assert unknown.returncode == 2
    assert "there is no channel 'pager'" in unknown.stderr
    (tmp_path / "holter.toml").write_text('[channels.night]\ntype = "slack"\nurl = "very-secret"\n')
    wrong = holter("test", "night")
    assert wrong.returncode == 2
    assert "[channels.night]" in wrong.stderr
    assert "very-secret" not in wrong.stderr


def test_routing_that_the_server_refuses_is_refused_by_every_action(holter: Holter, tmp_path: Path) -> None:
    (tmp_path / "holter.toml").write_text(
        """
        [alerting.route]
        receiver = "nobody"
        """
    )
    for words in (["list"], ["test", "slack"], ["route", "--kind", "divergence"]):
        refused = holter(*words, HOLTER_SLACK_WEBHOOK_URL="https://hooks.example/very-secret")
        assert refused.returncode == 2
        assert "nobody" in refused.stderr
