"""E-mail, through a real SMTP server with TLS and login."""

from __future__ import annotations

import time
from collections.abc import Callable
from email import message_from_bytes, policy
from email.message import EmailMessage
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from holter.server.alerting.incident import EventType
from holter.server.alerting.messages import compose
from holter.server.alerting.messages_of_many import summarize
from holter.server.channels import ChannelError, Delivered, GiveUp, Message, Retry, open_channels
from holter.server.channels.channel import Channel
from holter.server.channels.email import EmailSettings, build_email
from tests.support.receivers import PASSWORD, USER, MailServer, make_incident

MailServers = Callable[..., MailServer]


def message(key: str = "17.0.mail", reason: str = "opened", **changes: Any) -> Message:
    return compose(
        make_incident(**changes),
        key=key,
        reason=EventType(reason),
        sent_at=1_700_000_240.0,
        address="https://holter.example.com",
        sketch="▁▁█▃▁  2.1 to 4.0",
        picture=b"\x89PNG picture",
    )


def mail_to(server: MailServer, certificate: Path, **options: Any) -> Channel:
    settings = {
        "type": "email",
        "host": "127.0.0.1",
        "port": server.port,
        "username": USER,
        "password": PASSWORD,
        "ca_file": certificate,
        "to": "oncall@example.com",
        **options,
    }
    return open_channels({"mail": settings})["mail"].channel


def parts(mail: EmailMessage) -> dict[str, Any]:
    return {part.get_content_type(): part for part in mail.walk() if not part.is_multipart()}


@pytest.mark.parametrize("security", ["starttls", "ssl"])
def test_a_mail_goes_out_encrypted_and_logged_in(
    mail_server: MailServers, certificate: Path, security: str
) -> None:
    server = mail_server(security)
    outcome = mail_to(server, certificate, security=security).send(message(), None)
    assert isinstance(outcome, Delivered), outcome
    [mail] = server.mails
    assert outcome.thread == mail["Message-ID"]
    assert server.logins == [USER]
    assert (mail["From"], mail["To"]) == (USER, "oncall@example.com")
    assert mail["Subject"] == "[Holter] Slow loss spike in 104b-emb-norm at step 1,514"


def test_a_mail_goes_out_in_the_clear_where_the_settings_say_so(
    mail_server: MailServers, certificate: Path
) -> None:
    server = mail_server("none", login=False)
    url = f"smtp://127.0.0.1:{server.port}?security=none"
    channel = open_channels({"mail": {"type": "email", "url": url, "to": ["a@example.com", "b@example.com"]}})
    assert isinstance(channel["mail"].channel.send(message(), None), Delivered)
    assert server.mails[0]["From"] == "holter@example.com"


def test_one_address_sets_everything_about_the_server(mail_server: MailServers, certificate: Path) -> None:
    server = mail_server("starttls")
    url = f"smtp://holter%40example.com:correct%20horse@127.0.0.1:{server.port}"
    options = {"type": "email", "url": url, "to": "oncall@example.com", "from": "Holter <h@example.com>"}
    channel = open_channels({"mail": {**options, "ca_file": certificate}})["mail"].channel
    assert isinstance(channel.send(message(), None), Delivered)
    assert server.mails[0]["From"] == "Holter <h@example.com>"


def test_a_mail_has_text_html_and_the_curve_inside(mail_server: MailServers, certificate: Path) -> None:
    server = mail_server()
    mail_to(server, certificate).send(message(run="<b>run</b>"), None)
    found = parts(server.mails[0])
    assert set(found) == {"text/plain", "text/html", "image/png"}
    text, html = found["text/plain"].get_content(), found["text/html"].get_content()
    for body in (text, html):
        for part in (
            "Loss rose from 2.31",
            "roll back to step 1,500",
            "https://holter.example.com/incidents/17",
        ):
            assert part in body
    assert "▁▁█▃▁" in text
    assert "&lt;b&gt;run" in html
    assert "<b>run" not in html
    assert found["image/png"].get_content() == b"\x89PNG picture"
    assert f"cid:{found['image/png']['Content-ID'].strip('<>')}" in html


def test_the_messages_of_an_incident_are_one_thread(mail_server: MailServers, certificate: Path) -> None:
    server = mail_server()
    channel = mail_to(server, certificate)
    first = channel.send(message("17.0.mail", kind="spike_fast"), None)
    assert isinstance(first, Delivered)
    assert channel.send(message("17.1.mail", "escalated", kind="divergence"), first.thread) == first
    assert channel.send(message("17.2.mail", "recovered", state="recovered"), first.thread) == first
    opened, worse, recovered = server.mails
    assert worse["In-Reply-To"] == recovered["References"] == opened["Message-ID"] == first.thread
    assert worse["Subject"].startswith("[Holter] Severity raised: divergence")
    assert recovered["Subject"] == f"Re: {opened['Subject']}"
    assert len({mail["Message-ID"] for mail in server.mails}) == 3


def test_a_mail_sent_again_is_the_same_mail(mail_server: MailServers, certificate: Path) -> None:
    server = mail_server()
    channel = mail_to(server, certificate)
    channel.send(message(), None)
    channel.send(message(), None)
    one, other = server.mails
    assert (one["Message-ID"], one["Date"]) == (other["Message-ID"], other["Date"])


@given(st.text(max_size=300), st.text(max_size=300), st.text(max_size=300))
def test_whatever_a_run_is_called_makes_a_mail(run: str, summary: str, metric: str) -> None:
    settings = EmailSettings(type="email", host="mail.example.com", to=("oncall@example.com",))
    made = build_email(message(run=run, summary=summary, metric=metric), settings, None)
    read = message_from_bytes(made.as_bytes(), policy=policy.default)
    assert read["To"] == "oncall@example.com"
    assert read["Subject"].startswith("[Holter] Slow loss spike in ")
    assert "Bcc" not in read


@pytest.mark.parametrize("filler", ["", "x" * 40, "\u00fc" * 40, "word " * 40])
@pytest.mark.parametrize("encoding", ["q", "b"])
def test_encoded_words_in_a_name_add_no_headers_and_no_body(
    mail_server: MailServers, certificate: Path, filler: str, encoding: str
) -> None:
    attack = {
        "q": "=?utf-8?q?a=0d=0aBcc:_victim@example.org=0d=0a=0d=0aForged?=",
        "b": "=?utf-8?b?YQ0KQmNjOiB2aWN0aW1AZXhhbXBsZS5vcmcNCg0KRm9yZ2Vk?=",
    }[encoding]
    run = f"{filler}{attack} {attack}{filler}"
    server = mail_server()
    assert isinstance(mail_to(server, certificate).send(message(run=run), None), Delivered)
    [mail] = server.mails
    assert mail["Subject"] == f"[Holter] Slow loss spike in {run} at step 1,514"
    assert "Bcc" not in mail
    assert set(parts(mail)) == {"text/plain", "text/html", "image/png"}
    written = build_email(
        message(run=run), EmailSettings(type="email", host="h", to=("a@example.com",)), None
    )
    assert b"?=0d" not in written.as_bytes()
    subject = written.as_bytes().split(b"\nFrom:")[0]
    assert attack.encode() not in subject
    assert all(line.strip().startswith(b"=?utf-8?") for line in subject[len("Subject:") :].splitlines())


def test_line_breaks_and_overrides_in_names_add_no_lines_to_a_mail() -> None:
    settings = EmailSettings(type="email", host="mail.example.com", to=("oncall@example.com",))
    made = build_email(message(run="a\r\n\r\nForged\u202e", summary="b\n\nForged"), settings, None)
    lines = parts(made)["text/plain"].get_content().splitlines()
    assert not [line for line in lines if line.startswith("Forged")]
    assert "\u202e" not in made.as_string() + parts(made)["text/html"].get_content()


def test_a_summary_is_a_mail_with_a_list(mail_server: MailServers, certificate: Path) -> None:
    server = mail_server()
    many = [make_incident(id=number) for number in range(250)]
    made = summarize(many, key="1.0.mail", sent_at=1.0, address="http://h")
    assert isinstance(mail_to(server, certificate).send(made, None), Delivered)
    found = parts(server.mails[0])
    assert found["text/plain"].get_content().count("http://h/incidents/") == 250
    assert "and 150 more" in found["text/html"].get_content()


@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        ("451 try later", Retry("SMTP: the server refused the message (451)")),
        ("554 spam", GiveUp("SMTP: the server refused the message (554)")),
    ],
)
def test_a_refused_mail_is_tried_again_or_given_up(
    mail_server: MailServers, certificate: Path, answer: str, expected: object
) -> None:
    server = mail_server()
    server.answers.append(answer)
    assert mail_to(server, certificate).send(message(), None) == expected


def test_a_wrong_password_can_be_repaired_and_is_not_shown(
    mail_server: MailServers, certificate: Path, caplog: pytest.LogCaptureFixture
) -> None:
    channel = mail_to(mail_server(), certificate, password="hunter2-typo")
    outcome = channel.send(message(), None)
    assert outcome == Retry("SMTP: the server refused the login (535)", after=300)
    assert "hunter2-typo" not in repr((channel, outcome, channel.destination)) + caplog.text


def test_a_certificate_that_is_not_trusted_is_named_as_the_reason(
    mail_server: MailServers, certificate: Path
) -> None:
    outcome = mail_to(mail_server(), certificate, ca_file=None).send(message(), None)
    assert isinstance(outcome, Retry)
    assert "certificate is not trusted" in outcome.reason


def test_a_server_without_starttls_gets_no_password(mail_server: MailServers, certificate: Path) -> None:
    server = mail_server("none", login=False)
    outcome = mail_to(server, certificate).send(message(), None)
    assert isinstance(outcome, Retry)
    assert "does not offer" in outcome.reason
    assert (server.logins, server.mails) == ([], [])


def test_one_receiver_refused_does_not_keep_it_from_the_others(
    mail_server: MailServers, certificate: Path, caplog: pytest.LogCaptureFixture
) -> None:
    server = mail_server()
    server.refused.add("gone@example.com")
    both = mail_to(server, certificate, to="oncall@example.com, gone@example.com")
    assert isinstance(both.send(message(), None), Delivered)
    assert "gone@example.com" in caplog.text
    alone = mail_to(server, certificate, to="gone@example.com")
    assert alone.send(message(), None) == GiveUp("SMTP: every recipient was refused (550)")


def test_a_server_that_does_not_answer_costs_no_more_than_the_timeout(
    mail_server: MailServers, certificate: Path
) -> None:
    server = mail_server()
    server.delay = 60.0
    began = time.monotonic()
    outcome = mail_to(server, certificate, timeout=0.3).send(message(), None)
    assert outcome == Retry("SMTP: no answer in time")
    assert time.monotonic() - began < 30


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"to": "oncall@example.com"}, "expected url (smtp://user:password@host:587) or host"),
        ({"host": "mail", "to": "nobody"}, "to: expected addresses such as oncall@example.com"),
        (
            {"host": "mail", "to": "a@b.org", "username": "u"},
            "username and password: expected both or neither",
        ),
        ({"url": "http://u:very-secret@mail", "to": "a@b.org"}, "url: expected smtp://"),
    ],
)
def test_settings_that_cannot_work_are_refused_by_name(options: dict[str, str], words: str) -> None:
    with pytest.raises(ChannelError) as refusal:
        open_channels({"night": {"type": "email", **options}})
    assert words in str(refusal.value)
    assert "[channels.night]" in str(refusal.value)
    assert "very-secret" not in str(refusal.value)
