"""Failed logins: how long a client must wait, whose failures are remembered, and which addresses are one."""

from __future__ import annotations

import pytest

from holter.server.auth import (
    ALLOWED_FAILURES,
    ALLOWED_FAILURES_IN_ALL,
    FAILURE_WINDOW,
    FailedLogins,
    TooManyLoginsError,
)
from holter.server.client_address import ProxyNetworks, client_group
from tests.support.alerting import Clock


@pytest.fixture
def clock() -> Clock:
    return Clock(1000.5)


@pytest.fixture
def failures(clock: Clock) -> FailedLogins:
    return FailedLogins(clock, clients=2)


def fail(failures: FailedLogins, client: str, times: int = ALLOWED_FAILURES) -> None:
    for _ in range(times):
        failures.add(client)


@pytest.mark.parametrize("in_all", [False, True], ids=["client", "in all"])
def test_the_stated_wait_suffices_and_a_second_less_does_not(
    in_all: bool, failures: FailedLogins, clock: Clock
) -> None:
    def wait() -> int:
        return failures.wait_in_all() if in_all else failures.wait("a")

    for _ in range(ALLOWED_FAILURES_IN_ALL if in_all else ALLOWED_FAILURES):
        assert wait() == 0
        failures.add("a")
        clock.now += 0.25
    stated, began = wait(), clock.now
    clock.now = began + stated - 1
    assert wait() > 0
    clock.now = began + stated
    assert wait() == 0


def test_after_the_wait_one_failure_suffices_to_wait_again(failures: FailedLogins, clock: Clock) -> None:
    for _ in range(ALLOWED_FAILURES):
        failures.add("a")
        clock.now += 10
    clock.now += failures.wait("a")
    assert failures.wait("a") == 0
    failures.add("a")
    assert failures.wait("a") > 0


def test_a_failure_counts_for_less_than_the_window(failures: FailedLogins, clock: Clock) -> None:
    fail(failures, "a")
    clock.now += FAILURE_WINDOW - 0.5
    assert failures.wait("a") == 1
    clock.now += 0.5
    assert failures.wait("a") == 0


def test_failures_in_the_future_of_a_clock_that_was_set_back_do_not_lock_anybody_out(
    failures: FailedLogins, clock: Clock
) -> None:
    fail(failures, "a")
    clock.now -= 1
    assert failures.wait("a") == 0


def test_the_clients_that_failed_most_recently_are_remembered(failures: FailedLogins) -> None:
    for client in ("a", "b", "a", "c"):
        fail(failures, client)
    assert [failures.wait(client) > 0 for client in "abc"] == [True, False, True]


def test_a_client_is_forgotten_a_window_after_its_last_failure(failures: FailedLogins, clock: Clock) -> None:
    failures.add("a")
    clock.now += FAILURE_WINDOW - 10
    fail(failures, "a", ALLOWED_FAILURES - 1)
    clock.now += 20
    failures.add("b")
    failures.add("a")  # the fifth within the window
    assert failures.wait("a") > 0
    clock.now += FAILURE_WINDOW
    failures.add("c")
    assert list(failures._times) == ["c"]


def test_the_error_states_how_long_to_wait() -> None:
    error = TooManyLoginsError(7)
    assert (error.seconds, "7 s" in str(error)) == (7, True)


@pytest.mark.parametrize(
    ("host", "group"),
    [
        ("10.0.0.1", "10.0.0.1"),
        ("::ffff:10.0.0.1", "10.0.0.1"),
        ("2001:db8:1:2:3:4:5:6", "2001:db8:1:2::/64"),
        ("fe80::1%eth0", "fe80::/64"),
        ("unix", "unix"),
        ("x" * 1000, "x" * 100),
    ],
)
def test_addresses_that_are_limited_together(host: str, group: str) -> None:
    assert client_group(host) == group


def test_proxies_are_recognised_by_address_and_network() -> None:
    proxies = ProxyNetworks(["10.2.0.0/16", "192.168.0.1", "2001:db8::/32"])
    trusted = ["10.2.3.4", "::ffff:10.2.3.4", "192.168.0.1", "2001:db8::7", "2001:db8::7%1"]
    others = ["10.3.0.1", "192.168.0.2", "2001:db9::1", "proxy.example.com", ""]
    assert [host for host in (*trusted, *others) if host in proxies] == trusted
    assert "10.2.3.4" not in ProxyNetworks([])
