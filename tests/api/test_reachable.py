"""The addresses that are printed for a listener."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from typing import Any

import pytest

from holter.settings import Settings
from holter.settings import network as module
from holter.settings.network import reachable, url


@pytest.fixture(autouse=True)
def _machine(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A machine `login1` with addresses of both kinds, one of them of a network of its own."""
    routes = {socket.AF_INET: "10.0.0.5", socket.AF_INET6: "fd00::5"}
    monkeypatch.setattr(module, "_outward", lambda family: routes.get(family, ""))
    monkeypatch.setattr(socket, "gethostname", lambda: "login1")
    _names(monkeypatch, "10.0.0.5", "172.16.0.5", "fe80::1%eth0", "127.0.1.1")
    reachable.cache_clear()
    yield
    reachable.cache_clear()


def _names(monkeypatch: pytest.MonkeyPatch, *addresses: str) -> None:
    addresses_found: list[Any] = [(0, 0, 0, "", (address, 0)) for address in addresses]
    monkeypatch.setattr(socket, "getaddrinfo", lambda *_: addresses_found)


def test_the_name_comes_first_and_loopback_last() -> None:
    assert reachable("0.0.0.0") == ("login1", "10.0.0.5", "172.16.0.5", "127.0.0.1")
    assert reachable("::") == ("login1", "10.0.0.5", "fd00::5", "172.16.0.5", "127.0.0.1", "::1")


def test_a_name_that_resolves_to_loopback_is_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    _names(monkeypatch, "127.0.1.1")
    assert reachable("0.0.0.0") == ("10.0.0.5", "127.0.0.1")


def test_without_a_network_there_is_loopback(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_outward", lambda _: "")
    _names(monkeypatch)
    assert reachable("0.0.0.0") == ("127.0.0.1",)


def test_one_address_is_used_as_it_is_and_messages_link_to_the_first() -> None:
    assert reachable("10.0.0.5") == ("10.0.0.5",)
    assert url("fd00::5", 80) == "http://[fd00::5]:80"
    assert Settings(host="0.0.0.0", port=8765).address == "http://login1:8765"
    assert Settings(host="::1").address == "http://[::1]:8765"
    assert Settings(host="0.0.0.0", public_url="https://h.example.com").address == "https://h.example.com"
