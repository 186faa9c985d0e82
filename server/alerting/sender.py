"""Delivers notifications: at least once, each channel by itself, whatever happens to the server meanwhile."""

from __future__ import annotations

import logging
import random
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TypedDict

from sqlalchemy import Engine
from sqlalchemy.orm import Session

from holter.server.alerting import Route
from holter.server.alerting.outage_message import compose_outage, item
from holter.server.alerting.outbox import ClaimedMessage, claim, expire_orphans, next_wait, record_outcome
from holter.server.alerting.rate_limit import LONGEST_WAIT, RateLimit, SendSummary, WaitUntil, retry_delay
from holter.server.channels import Delivered, GiveUp, Message, ConfiguredChannel, Retry
from holter.server.channels.message import compose, summarise
from holter.server.rendering.incident_chart import Charts, Pictures

_logger = logging.getLogger(__name__)
_LOOK = 5.0
_LONGEST_REST = 60.0


def routes(channels: Mapping[str, ConfiguredChannel]) -> tuple[Route, ...]:
    """Which incidents go to these channels, as their settings say."""
    return tuple(
        Route(channel=name, minimum=it.minimum, history=it.history, calm=it.calm)
        for name, it in ((name, opened.settings) for name, opened in channels.items())
    )


@dataclass(slots=True)
class _Lane:
    """One channel's thread; how often in a row it has failed, and for how many seconds it rests now."""

    thread: threading.Thread
    wake: threading.Event
    failures: int = 0
    rest: float = 0.0


class _When(TypedDict):
    """What every message is told."""

    key: str
    sent_at: float
    address: str


class NotificationSender:
    """One thread a channel: a dead mail server delays nobody else.

    A notification is claimed for `lease` seconds before it is sent, and marked when it has arrived: a
    server killed in between sends it again later under the same key.
    """

    def __init__(
        self,
        engine: Engine,
        store: Charts,
        channels: Mapping[str, ConfiguredChannel],
        *,
        public_url: str,
        clock: Callable[[], float] = time.time,
        chance: Callable[[], float] = random.random,
        lease: float = 120.0,
    ) -> None:
        self._engine = engine
        self._channels = dict(channels)
        self._pictures = Pictures(store)
        self._address = public_url.rstrip("/")
        self._clock = clock
        self._chance = chance
        self._lease = lease
        self._stopping = threading.Event()
        self._lanes = {
            name: _Lane(
                threading.Thread(target=self._work, args=(name,), name=f"outbox {name}", daemon=True),
                threading.Event(),
            )
            for name in self._channels
        }

    def start(self) -> None:
        """Begin with what was left waiting."""
        with Session(self._engine) as session, session.begin():
            expire_orphans(session, self._channels, now=self._clock())
        for lane in self._lanes.values():
            lane.thread.start()

    def close(self) -> None:
        """Stop after the messages in progress; what waits is sent after the next start."""
        self._stopping.set()
        self.wake()
        for lane in self._lanes.values():
            if lane.thread.ident is not None:
                lane.thread.join()

    def wake(self, *_: object) -> None:
        """Something may be waiting. Any arguments: it serves as a listener."""
        for lane in self._lanes.values():
            lane.wake.set()

    def turn(self, name: str) -> float | None:
        """Send the next message of a channel if one is due.

        Returns the seconds until the next may be due; 0: look again at once; None: nothing is waiting.
        """
        now = self._clock()
        opened = self._channels[name]
        pace = RateLimit(
            settle=opened.settings.settle, burst=opened.settings.burst, window=opened.settings.window
        )
        with Session(self._engine) as session, session.begin():
            claimed = claim(session, name, pace, now=now, lease=self._lease)
        if isinstance(claimed, WaitUntil):
            return next_wait(claimed, now)
        message = self._message(claimed, opened)
        outcome = _send(opened, message, claimed.thread)
        lane = self._lanes[name]
        with Session(self._engine) as session, session.begin():
            rest = retry_delay(claimed.attempts, self._chance())
            record_outcome(session, claimed, outcome, now=self._clock(), rest=rest)
        if isinstance(outcome, Retry):
            lane.failures += 1
            asked = min(outcome.after or 0.0, LONGEST_WAIT)
            lane.rest = max(asked, min(retry_delay(lane.failures, self._chance()), _LONGEST_REST))
        else:
            lane.failures = 0
        return 0.0

    def _work(self, name: str) -> None:
        lane = self._lanes[name]
        while not self._stopping.is_set():
            lane.wake.clear()
            try:
                wait = self.turn(name)
            except Exception:  # the database is away: what waits is still there when it is back
                _logger.exception("the outbox of channel %s failed; it goes on", name)
                wait = _LOOK
            if lane.rest:  # a channel that failed is left alone, whatever arrives
                self._stopping.wait(lane.rest)
                lane.rest = 0.0
            elif wait != 0:
                lane.wake.wait(_LOOK if wait is None else min(wait, _LOOK))

    def _message(self, claimed: ClaimedMessage, opened: ConfiguredChannel) -> Message:
        plan = claimed.plan
        when: _When = {"key": claimed.key, "sent_at": claimed.created_at, "address": self._address}
        if isinstance(plan, SendSummary):
            others = [item(one, self._address) for one in claimed.outages]
            return summarise(claimed.incidents, others=others, **when)
        if claimed.run_id is None:
            return compose_outage(claimed.outages[0], reason=plan.reason, **when)
        incident, run_id = claimed.incidents[0], claimed.run_id
        return compose(
            incident,
            reason=plan.reason,
            sketch=self._pictures.sketch(run_id, incident),
            picture=self._pictures.picture(run_id, incident) if opened.channel.wants_picture else None,
            **when,
        )


def _send(opened: ConfiguredChannel, message: Message, thread: str | None) -> Delivered | Retry | GiveUp:
    try:
        return opened.channel.send(message, thread)
    except Exception as error:  # a channel's own mistake must not stop its thread
        # the error's words may hold a secret: its type has to do
        _logger.error("channel %s raised %s", opened.name, type(error).__name__)
        return Retry(f"the channel raised {type(error).__name__}")
