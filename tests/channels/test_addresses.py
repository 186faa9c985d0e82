"""Addresses that channels connect to: public ones only, unless the settings allow others; no redirects."""

from __future__ import annotations

import socket
from typing import Any

import pytest

from holter.server.channels import ChannelError, Delivered, Retry, open_channels
from holter.server.channels.addresses import is_public
from tests.support.channel_messages import message_about, open_channel
from tests.support.endpoints import Endpoint


@pytest.mark.parametrize(
    ("address", "public"),
    [
        ("8.8.8.8", True),
        ("2606:4700::1111", True),
        ("127.0.0.1", False),
        ("10.1.2.3", False),
        ("172.16.0.1", False),
        ("192.168.1.1", False),
        ("169.254.169.254", False),
        ("100.64.0.1", False),
        ("0.0.0.0", False),
        ("224.0.0.1", False),
        ("::1", False),
        ("::", False),
        ("fe80::1%eth0", False),
        ("fd00::1", False),
        ("::ffff:127.0.0.1", False),
        ("64:ff9b::7f00:1", False),
        ("2002:7f00:1::", False),
    ],
)
def test_which_addresses_are_public(address: str, public: bool) -> None:
    assert is_public(address) is public


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost", "[::ffff:127.0.0.1]", "0x7f.1", "2130706433"])
def test_an_address_on_this_machine_is_refused(endpoint: Endpoint, host: str) -> None:
    port = endpoint.url.rpartition(":")[2]
    channel = open_channel("webhook", url=f"http://{host}:{port}/", allow_private=False)
    outcome = channel.send(message_about(), None)
    assert isinstance(outcome, Retry)
    assert "allow_private" in outcome.reason
    assert endpoint.requests == []


def test_what_a_name_resolves_to_is_checked(endpoint: Endpoint, monkeypatch: pytest.MonkeyPatch) -> None:
    port = int(endpoint.url.rpartition(":")[2])
    resolved = [(socket.AF_INET, socket.SOCK_STREAM, 6, "", ("127.0.0.1", port))]
    monkeypatch.setattr(socket, "getaddrinfo", lambda *_, **__: resolved)
    url = f"http://hooks.example.com:{port}/"
    assert isinstance(
        open_channel("webhook", url=url, allow_private=False).send(message_about(), None), Retry
    )
    assert endpoint.requests == []
    assert open_channel("webhook", url=url).send(message_about(), None) == Delivered()


def test_a_proxy_of_the_environment_connects_in_place_of_holter(
    endpoint: Endpoint, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("http_proxy", endpoint.url)
    channel = open_channel("webhook", url="http://hooks.example.com/x", allow_private=False)
    assert channel.send(message_about(), None) == Delivered()
    assert endpoint.only.headers["host"] == "hooks.example.com"
    written = open_channel("webhook", url="http://10.0.0.1/x", allow_private=False)
    assert isinstance(written.send(message_about(), None), Retry)


def test_a_redirect_is_not_followed(endpoint: Endpoint) -> None:
    endpoint.fail(302, Location=f"{endpoint.url}/elsewhere")
    outcome = open_channel("webhook", url=endpoint.url).send(message_about(), None)
    assert isinstance(outcome, Retry)
    assert len(endpoint.requests) == 1


@pytest.mark.parametrize(
    "url",
    ["ftp://example.com", "file:///etc/passwd", "https://", "https://a b/", "https://u:p@h/", "https://h:x/"],
)
def test_an_address_that_is_none_is_refused_at_the_start(url: str) -> None:
    settings: dict[str, Any] = {"type": "webhook", "url": url}
    with pytest.raises(ChannelError, match=r"\[channels.team\] url: expected an address"):
        open_channels({"team": settings})
