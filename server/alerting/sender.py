"""Delivers notifications at least once: each channel in a thread of its own, across failures and restarts."""

from __future__ import annotations

import logging
import random
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial

from sqlalchemy import Engine
from sqlalchemy.orm import Session

from holter.server.alerting.composer import DeviceCount, MessageComposer, MessageStore
from holter.server.alerting.incident import Incident
from holter.server.alerting.incident_rows import read_incidents_of_run
from holter.server.alerting.outbox import (
    ClaimedMessage,
    claim,
    give_up_orphans,
    record_outcome,
    release_claims,
    retry_failed,
    seconds_until,
)
from holter.server.alerting.rate_limit import (
    LONGEST_WAIT,
    RateLimit,
    WaitUntil,
    retry_delay,
)
from holter.server.alerting.routing import NO_POLICY, NotificationPolicy
from holter.server.channels import ConfiguredChannel, Delivered, Retry
from holter.server.channels.channel import Outcome, PacedChannel, UpdatingChannel
from holter.server.channels.deadline import interrupt_send
from holter.server.rendering.incident_chart import close_pictures
from holter.server.worker_progress import WorkerTurn, ignore_turn

_logger = logging.getLogger(__name__)
_POLL_SECONDS = 5.0
_LONGEST_PAUSE = 60.0
_DOWN_FAILURES = 3
"""Failures in a row that are the channel's: fewer may be those of one message that it does not take."""
_PACED_UPDATES = 20
"""Threads whose first message is updated because of one, where the receiving server limits the rate."""
_UPDATE_SECONDS = 20.0
"""Seconds after which no further message is updated before one is sent; see the lease of claims."""
_STOP_SECONDS = 0.5
"""Seconds that messages in progress have to arrive when the server stops; then their connections end."""
_ABANDON_SECONDS = 0.3
"""Seconds that threads have to end after that; then they are left behind."""


@dataclass(slots=True)
class _ChannelThread:
    """One channel's thread; its failures in a row, and the seconds it pauses after the last one.

    `was_down`: nothing was delivered since several failures in a row, or since the start.
    """

    thread: threading.Thread
    wake: threading.Event
    was_down: bool = True
    failures: int = 0
    pause: float = 0.0
    paused_until: float = 0.0


@dataclass(frozen=True, kw_only=True, slots=True)
class ChannelHealth:
    """A channel's failures in a row. `is_paused`: it gets no attempt for a while."""

    failures: int
    is_paused: bool


AttemptListener = Callable[[str, str, float | None], None]
"""Called after each attempt: channel; delivered, retry or give_up; seconds since the point, None without."""


class NotificationSender:
    """One thread a channel, so that a dead mail server delays nobody else.

    A notification is claimed for `lease` seconds before it is sent, and marked when it has arrived: if the
    server is killed in between, it is sent again later under the same key.
    """

    def __init__(
        self,
        engine: Engine,
        store: MessageStore,
        channels: Mapping[str, ConfiguredChannel],
        *,
        public_url: str,
        policy: NotificationPolicy = NO_POLICY,
        clock: Callable[[], float] = time.time,
        chance: Callable[[], float] = random.random,
        lease: float = 120.0,
        devices: DeviceCount = lambda _run, _attempt: None,
        on_turn: Callable[[str], WorkerTurn] = lambda _: ignore_turn,
        on_attempt: AttemptListener = lambda _channel, _outcome, _latency: None,
    ) -> None:
        self._engine = engine
        self._channels = dict(channels)
        self._policy = policy
        self.composer = MessageComposer(
            store, address=public_url.rstrip("/"), devices=devices, incidents=self._read_incidents
        )
        self._clock = clock
        self._chance = chance
        self._lease = lease
        self._on_attempt = on_attempt
        self._on_turn = {name: on_turn(name) for name in channels}
        self._stopping = threading.Event()
        self._stopped_at = 0.0
        self._abandoned = threading.Event()
        self._threads = {
            name: _ChannelThread(
                threading.Thread(target=self._work, args=(name,), name=f"outbox {name}", daemon=True),
                threading.Event(),
            )
            for name in self._channels
        }

    def start(self) -> None:
        """Start with what was left waiting."""
        with Session(self._engine) as session, session.begin():
            give_up_orphans(session, self._channels, now=self._clock())
            if self._engine.dialect.name == "sqlite":  # which only one server uses
                release_claims(session, now=self._clock())
        for channel in self._threads.values():
            channel.thread.start()

    def stop(self) -> None:
        """Begin no further message; the time that those in progress have counts from the first call."""
        if not self._stopping.is_set():
            self._stopped_at = time.monotonic()
            self._stopping.set()
        self.wake()

    def close(self) -> None:
        """Stop within a second; what waits, or did not arrive in time, is sent after the next start."""
        self.stop()
        threads = [channel.thread for channel in self._threads.values() if channel.thread.ident is not None]
        _join(threads, max(0.0, self._stopped_at + _STOP_SECONDS - time.monotonic()))
        deadline = time.monotonic() + _ABANDON_SECONDS
        while (threads := [thread for thread in threads if thread.is_alive()]) and (
            time.monotonic() < deadline
        ):
            for thread in threads:
                interrupt_send(thread)
            _join(threads, 0.1)
        self._abandoned.set()
        close_pictures()
        if threads:
            # their messages are sent again once the claim on them ends
            names = ", ".join(thread.name for thread in threads)
            _logger.warning("stopped while a message was being sent: %s", names)

    def wake(self, *_: object) -> None:
        """Check the outbox now. Any arguments, so that it can serve as a listener."""
        for channel in self._threads.values():
            channel.wake.set()

    def statuses(self) -> Mapping[str, ChannelHealth]:
        """The failures of each channel, and whether it gets no attempt at present."""
        paused = self.paused()
        return {
            name: ChannelHealth(failures=each.failures, is_paused=name in paused)
            for name, each in self._threads.items()
        }

    def paused(self) -> dict[str, float]:
        """The channels that failed last, and until when (by the clock) they get no further attempt."""
        now = self._clock()
        return {name: each.paused_until for name, each in self._threads.items() if each.paused_until > now}

    def send_next(self, name: str) -> float | None:
        """Send the next message of a channel if one is due.

        Returns the seconds until the next may be due; 0: check again at once; None: nothing is waiting.
        """
        now = self._clock()
        channel = self._channels[name]
        settings = channel.settings
        limit = RateLimit(settle=settings.settle, burst=settings.burst, window=settings.window)
        with Session(self._engine) as session, session.begin():
            claimed = claim(session, name, limit, now=now, lease=self._lease, policy=self._policy)
        if isinstance(claimed, WaitUntil):
            wait = seconds_until(claimed, now)
            if wait is not None and wait <= _POLL_SECONDS and channel.channel.wants_picture:
                self.composer.prepare()
            return wait
        outcome = self._deliver(claimed, channel)
        if self._abandoned.is_set():  # the database is closed; the message is claimed again later
            return None
        thread = self._threads[name]
        with Session(self._engine) as session, session.begin():
            delay = retry_delay(claimed.attempts, self._chance())
            record_outcome(session, claimed, outcome, now=self._clock(), delay=delay)
            if isinstance(outcome, Delivered) and thread.was_down:
                retry_failed(session, name, now=self._clock())
        self._note_attempt(name, claimed, outcome)
        if isinstance(outcome, Retry):
            thread.failures += 1
            thread.was_down = thread.was_down or thread.failures >= _DOWN_FAILURES
            requested = min(outcome.after or 0.0, LONGEST_WAIT)
            delay = retry_delay(thread.failures, self._chance())
            thread.pause = max(requested, min(delay, _LONGEST_PAUSE))
            thread.paused_until = self._clock() + thread.pause
        else:
            thread.failures, thread.was_down, thread.paused_until = 0, False, 0.0
            thread.pause = (
                channel.channel.least_interval if isinstance(channel.channel, PacedChannel) else 0.0
            )
        return 0.0

    def _read_incidents(self, run_id: int) -> Sequence[Incident]:
        with Session(self._engine) as session:
            return read_incidents_of_run(session, run_id)

    def _note_attempt(self, name: str, claimed: ClaimedMessage, outcome: Outcome) -> None:
        is_delivered = isinstance(outcome, Delivered)
        word = "delivered" if is_delivered else "retry" if isinstance(outcome, Retry) else "give_up"
        arrived_at = claimed.arrived_at if is_delivered else None
        self._on_attempt(name, word, None if arrived_at is None else self._clock() - arrived_at)

    def _work(self, name: str) -> None:
        thread, complete_turn = self._threads[name], self._on_turn[name]
        complete_turn()
        while not self._stopping.is_set():
            thread.wake.clear()
            try:
                wait = self.send_next(name)
                complete_turn()
            except Exception:  # while the database is down, what waits there is safe
                _logger.exception("sending to channel %s failed; it will be tried again", name)
                wait = _POLL_SECONDS
            if thread.pause:  # a channel that failed gets no attempt before, whatever arrives
                while thread.pause > 0 and not self._stopping.wait(min(thread.pause, _POLL_SECONDS)):
                    thread.pause -= _POLL_SECONDS
                    complete_turn()
                thread.pause = 0.0
            elif wait != 0:
                thread.wake.wait(_POLL_SECONDS if wait is None else min(wait, _POLL_SECONDS))

    def _deliver(self, claimed: ClaimedMessage, channel: ConfiguredChannel) -> Outcome:
        """Send a claimed message; before it, bring the first messages of its threads up to date.

        These come first because doing so again changes nothing, where sending would be repeated.
        """
        destination, ends_at = channel.channel, time.monotonic() + _UPDATE_SECONDS
        if isinstance(destination, UpdatingChannel):
            most = _PACED_UPDATES if isinstance(destination, PacedChannel) else None
            for thread in claimed.threads[:most]:
                present = self.composer.present(thread, key=claimed.key, now=self._clock())
                outcome = _attempt(channel, partial(destination.update, present, thread.thread))
                if isinstance(outcome, Retry):
                    return outcome
                if time.monotonic() > ends_at:
                    break
        message = self.composer.claimed(claimed, wants_picture=destination.wants_picture)
        return _attempt(channel, partial(destination.send, message, claimed.thread))


def _join(threads: Sequence[threading.Thread], seconds: float) -> None:
    """Wait for several threads, `seconds` in all."""
    deadline = time.monotonic() + seconds
    for thread in threads:
        thread.join(max(deadline - time.monotonic(), 0.0))


def _attempt(channel: ConfiguredChannel, send: Callable[[], Outcome]) -> Outcome:
    try:
        return send()
    except Exception as error:  # a channel's own mistake must not stop its thread
        # the error's text may hold a secret: its type must do
        _logger.error("channel %s raised %s", channel.name, type(error).__name__)
        return Retry(f"the channel raised {type(error).__name__}")
