"""Real receivers: an SMTP server with TLS and login, and an HTTP server in place of Slack."""

from __future__ import annotations

import asyncio
import hashlib
import hmac
import json
import socket
import ssl
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from email import message_from_bytes, policy
from email.message import EmailMessage
from http.server import BaseHTTPRequestHandler
from ipaddress import ip_address
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlencode

import pytest
from aiosmtpd.smtp import SMTP, AuthResult, Envelope, LoginPassword, Session
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from holter.server.alerting.incident import EventType, HistoryEntry, Incident, IncidentRun, IncidentState
from holter.types import Cause, Finding, Kind, Severity, labels_of
from tests.support.http_servers import QuietServer

USER, PASSWORD = "holter@example.com", "correct horse"
SIGNING_SECRET = "8f742231b10e8888abcd99yyyzzz85a5"
"""Of the example in Slack's documentation."""


@pytest.fixture(scope="session")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A certificate for 127.0.0.1 with its key, in one file."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "127.0.0.1")])
    now = datetime.now(UTC)
    made = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - timedelta(days=1))
        .not_valid_after(now + timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName([x509.IPAddress(ip_address("127.0.0.1"))]), critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .sign(key, hashes.SHA256())
    )
    path = tmp_path_factory.mktemp("tls") / "mail.pem"
    path.write_bytes(
        key.private_bytes(
            serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
        )
        + made.public_bytes(serialization.Encoding.PEM)
    )
    return path


@dataclass
class MailServer:
    """An SMTP server on loopback that keeps what it takes. `answers` are given before it takes anything."""

    port: int = 0
    mails: list[EmailMessage] = field(default_factory=list)
    answers: list[str] = field(default_factory=list)
    refused: set[str] = field(default_factory=set)
    logins: list[str] = field(default_factory=list)
    delay: float = 0.0

    async def handle_RCPT(  # noqa: N802 - aiosmtpd's name
        self, server: SMTP, session: Session, envelope: Envelope, address: str, options: list[str]
    ) -> str:
        if address in self.refused:
            return "550 no such mailbox"
        envelope.rcpt_tos.append(address)
        return "250 OK"

    async def handle_DATA(self, server: SMTP, session: Session, envelope: Envelope) -> str:  # noqa: N802
        await asyncio.sleep(self.delay)
        if self.answers:
            return self.answers.pop(0)
        assert isinstance(envelope.content, bytes)
        mail = message_from_bytes(envelope.content, policy=policy.default)
        assert isinstance(mail, EmailMessage)
        self.mails.append(mail)
        return "250 OK"

    def authenticate(
        self, server: SMTP, session: Session, envelope: Envelope, mechanism: str, data: Any
    ) -> AuthResult:
        assert isinstance(data, LoginPassword)
        self.logins.append(data.login.decode())
        right = (data.login, data.password) == (USER.encode(), PASSWORD.encode())
        return AuthResult(success=right, handled=False)


@dataclass
class _Mails:
    """Runs SMTP servers in one event loop of a thread of its own."""

    loop: asyncio.AbstractEventLoop
    certificate: Path
    servers: list[asyncio.Server] = field(default_factory=list)
    talks: list[SMTP] = field(default_factory=list)

    def __call__(self, security: str = "starttls", *, login: bool = True) -> MailServer:
        async def listen() -> MailServer:
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            context.load_cert_chain(self.certificate)
            mail = MailServer()

            def factory() -> SMTP:
                talk = SMTP(
                    mail,
                    hostname="mail.example.com",
                    tls_context=context if security == "starttls" else None,
                    require_starttls=security == "starttls",
                    authenticator=mail.authenticate if login else None,
                    auth_required=login and security == "starttls",
                    auth_require_tls=security == "starttls",
                )
                self.talks.append(talk)
                return talk

            server = await self.loop.create_server(
                factory, "127.0.0.1", 0, ssl=context if security == "ssl" else None
            )
            self.servers.append(server)
            mail.port = server.sockets[0].getsockname()[1]
            return mail

        return asyncio.run_coroutine_threadsafe(listen(), self.loop).result(10)


@pytest.fixture
def mail_server(certificate: Path) -> Iterator[_Mails]:
    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever)
    thread.start()
    mails = _Mails(loop, certificate)
    yield mails

    async def close() -> None:
        for server in mails.servers:
            server.close()
        for talk in mails.talks:
            if talk.transport is not None:
                talk.transport.abort()
        others = asyncio.all_tasks() - {asyncio.current_task()}
        for task in others:
            task.cancel()
        await asyncio.gather(*others, return_exceptions=True)
        await asyncio.sleep(0.05)  # transports close in the loop's next rounds

    asyncio.run_coroutine_threadsafe(close(), loop).result(10)
    loop.call_soon_threadsafe(loop.stop)
    thread.join()
    loop.close()


@dataclass
class SlackServer:
    """An HTTP server that checks what it is sent as Slack does. `answers`: (status, headers, body, delay).

    `messages`: what the channel shows, by timestamp; `responses`: what was sent to the address of a button.
    """

    url: str
    messages: dict[str, dict[str, Any]] = field(default_factory=dict)
    responses: list[dict[str, Any]] = field(default_factory=list)
    answers: list[tuple[int, dict[str, str], str, float]] = field(default_factory=list)
    payloads: list[dict[str, Any]] = field(default_factory=list)
    calls: list[tuple[str, dict[str, Any]]] = field(default_factory=list)
    uploads: list[bytes] = field(default_factory=list)
    tokens: set[str] = field(default_factory=set)

    def answer(
        self, status: int, body: str = "", *, headers: dict[str, str] | None = None, delay: float = 0
    ) -> None:
        """Give this answer next, instead of taking the message."""
        self.answers.append((status, headers or {}, body, delay))

    def take(self, path: str, kind: str, body: bytes) -> str:
        """What Slack would answer."""
        if path.startswith("/services/"):
            self.payloads.append(checked(json.loads(body)))
            return "ok"
        if path.startswith("/actions/"):
            response = json.loads(body)
            self.responses.append(checked(response) if "blocks" in response else response)
            return "ok"
        if path == "/upload/F1":
            self.uploads.append(body)
            return "OK - 1"
        method = path.removeprefix("/api/")
        form = kind.startswith("application/x-www-form-urlencoded")
        request = (
            {name: one[0] for name, one in parse_qs(body.decode()).items()} if form else json.loads(body)
        )
        self.calls.append((method, request))
        if method == "chat.postMessage":
            if request.get("thread_ts") == "gone":
                return json.dumps({"ok": False, "error": "thread_not_found"})
            self.payloads.append(checked(request))
            timestamp = f"17.{len(self.payloads)}"
            self.messages[timestamp] = dict(request)
            return json.dumps({"ok": True, "channel": "C1", "ts": timestamp})
        if method == "chat.update":
            assert not {"thread_ts", "reply_broadcast", "unfurl_links"} & request.keys()
            if request["channel"] != "C1":  # it takes no names
                return json.dumps({"ok": False, "error": "channel_not_found"})
            if request["ts"] not in self.messages:
                return json.dumps({"ok": False, "error": "message_not_found"})
            self.messages[request["ts"]] |= checked(request)
            return json.dumps({"ok": True, "channel": "C1", "ts": request["ts"]})
        if method == "files.getUploadURLExternal":
            return json.dumps({"ok": True, "upload_url": f"{self.url}/upload/F1", "file_id": "F1"})
        assert method == "files.completeUploadExternal"
        return json.dumps({"ok": True})

    def press(
        self,
        button: dict[str, Any],
        *,
        user: str = "ada",
        at: float | None = None,
        secret: str = SIGNING_SECRET,
    ) -> tuple[bytes, dict[str, str]]:
        """Body and headers of the request that Slack makes when somebody presses a button, signed."""
        at = time.time() if at is None else at
        payload = {
            "type": "block_actions",
            "user": {"id": "U1", "username": user, "name": user, "team_id": "T1"},
            "container": {"type": "message", "message_ts": "17.1", "channel_id": "C1"},
            "response_url": f"{self.url}/actions/T1/1/secret",
            "actions": [button | {"block_id": "b1", "action_ts": f"{at:.6f}"}],
        }
        body = urlencode({"payload": json.dumps(payload)}).encode()
        return body, signed(body, at, secret)


def signed(body: bytes, at: float, secret: str = SIGNING_SECRET) -> dict[str, str]:
    """The headers with which Slack signs a request."""
    text = b"v0:%d:%b" % (at, body)
    digest = hmac.new(secret.encode(), text, hashlib.sha256).hexdigest()
    return {
        "Content-Type": "application/x-www-form-urlencoded",
        "X-Slack-Request-Timestamp": str(int(at)),
        "X-Slack-Signature": f"v0={digest}",
    }


def buttons_of(payload: dict[str, Any]) -> dict[str, dict[str, Any]]:
    """The buttons of a message by their labels."""
    blocks = [block for block in payload["blocks"] if block["type"] == "actions"]
    return {each["text"]["text"]: each for block in blocks for each in block["elements"]}


def checked(payload: dict[str, Any]) -> dict[str, Any]:
    """The payload, if it keeps Block Kit's limits (https://docs.slack.dev/reference/block-kit/blocks)."""
    assert 0 < len(payload["text"]) <= 4000
    blocks = payload["blocks"]
    assert 0 < len(blocks) <= 50
    for block in blocks:
        if block["type"] == "header":
            assert block["text"]["type"] == "plain_text"
            assert 0 < len(block["text"]["text"]) <= 150
        elif block["type"] in {"context", "actions"}:
            _check_elements(block)
        else:
            assert block["type"] == "section"
            texts = [block["text"]] if "text" in block else []
            fields = block.get("fields", [])
            assert texts or fields
            assert len(fields) <= 10
            assert all(0 < len(one["text"]) <= 3000 for one in texts)
            assert all(0 < len(one["text"]) <= 2000 for one in fields)
            assert all(one["type"] == "mrkdwn" for one in [*texts, *fields])
    return payload


def _check_elements(block: dict[str, Any]) -> None:
    elements = block["elements"]
    assert 0 < len(elements) <= (10 if block["type"] == "context" else 25)
    if block["type"] == "context":
        assert all(one["type"] == "mrkdwn" and 0 < len(one["text"]) <= 3000 for one in elements)
        return
    assert block["type"] == "actions"
    assert len({one["action_id"] for one in elements}) == len(elements)
    for button in elements:
        assert button["type"] == "button"
        assert button["text"]["type"] == "plain_text"
        assert 0 < len(button["text"]["text"]) <= 75
        assert 0 < len(button["action_id"]) <= 255
        assert 0 < len(button["value"]) <= 2000
        assert button.get("style", "primary") in {"primary", "danger"}
        for name, longest in {"title": 100, "text": 300, "confirm": 30, "deny": 30}.items():
            assert 0 < len(button.get("confirm", {}).get(name, {"text": "-"})["text"]) <= longest


@pytest.fixture
def slack() -> Iterator[SlackServer]:
    ended = threading.Event()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            self.server.tokens.add(self.headers.get("Authorization", ""))  # type: ignore[attr-defined]
            status, headers, text, delay = (
                server_state.answers.pop(0)
                if server_state.answers
                else (200, {}, server_state.take(self.path, self.headers["Content-Type"], body), 0.0)
            )
            ended.wait(delay)
            self.send_response(status)
            for name, value in {**headers, "Content-Length": str(len(text.encode()))}.items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(text.encode())

        def log_message(self, *_: object) -> None:
            pass

    server = QuietServer(("127.0.0.1", 0), Handler)
    server_state = SlackServer(url=f"http://127.0.0.1:{server.server_port}")
    server.tokens = server_state.tokens  # type: ignore[attr-defined]
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05})
    thread.start()
    yield server_state
    ended.set()
    server.shutdown()
    server.server_close()
    thread.join()


FINDING = Finding(
    kind=Kind.SPIKE_SLOW,
    metric="train/loss",
    attempt=1,
    start_step=1514,
    peak_step=1520,
    detected_step=1517,
    classified_step=1617,
    severity=Severity.WARNING,
    confidence=0.97,
    summary="Loss rose from 2.31 to 4.02 at step 1,514 and has not come back within 100 steps.",
    advice="Watch it. If it is not back by step 2,000, roll back to step 1,500.",
    evidence={"baseline": 2.31, "peak": 4.02, "noise": 0.05, "rollback_upto": 1500},
)
RATE_JUMP = Cause(
    code="learning_rate",
    title="Learning rate rise",
    sentence="Learning rate rose from 0.0105 to 0.224 at step 1,510",
    advice="Unless intended, restore the schedule of the learning rate",
    score=0.998,
    is_clear=True,
    attempt=1,
    step=1510,
    metric="lr",
    before=0.0105,
    after=0.224,
    evidence_for=("4 steps before the onset", "21.3 times as high as before"),
    evidence_against=("Batch size changed too, at step 1,400",),
)
RUN = IncidentRun(number=7, public_id="k3v9", name="104b-emb-norm", project="llm")
OPENED = HistoryEntry(type=EventType.OPENED, at=1_700_000_002.0, detail={"kind": "spike_fast"})


def make_incident(*, run: str = RUN.name, **changes: Any) -> Incident:
    """An open incident; `changes` of its finding's fields and of its own, in JSON's words."""
    typed = {"kind": Kind, "severity": Severity, "state": IncidentState, "labels": labels_of}
    changes = {name: typed.get(name, lambda value: value)(value) for name, value in changes.items()}
    of_finding = {name: changes.pop(name) for name in tuple(changes) if hasattr(FINDING, name)}
    incident = Incident(
        id=17,
        fingerprint="f",
        run=replace(RUN, name=run),
        finding=replace(FINDING, **of_finding),
        state=IncidentState.OPEN,
        start_time=1_700_000_000.0,
        opened_at=1_700_000_002.0,
        updated_at=1_700_000_060.0,
        history=(OPENED,),
    )
    return replace(incident, **changes)


@pytest.fixture
def closed_port() -> Iterator[Callable[[], int]]:
    """A port on which nobody listens, nor anybody else begins to."""
    with ExitStack() as taken:

        def find() -> int:
            silent = taken.enter_context(socket.socket())
            silent.bind(("127.0.0.1", 0))
            port: int = silent.getsockname()[1]
            return port

        yield find
