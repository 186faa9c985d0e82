"""When queued notifications are sent, and which together: each case is a sentence; and invariants."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, NamedTuple

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from holter.server.alerting.incident import EventType
from holter.server.alerting.rate_limit import (
    QueuedNotification,
    RateLimit,
    SendGroup,
    SendNotice,
    SendOne,
    SendSummary,
    SentMessage,
    WaitUntil,
    next_action,
    retry_delay,
)
from holter.server.alerting.reasons import NoticeType
from holter.types import Severity

LIMIT = RateLimit(settle=5, burst=3, window=3600)
NOW = 10_000.0


def waiting(
    number: int,
    incident: int | None = None,
    reason: EventType = EventType.OPENED,
    *,
    age: float = 60,
    due: float = -60,
    critical: bool = False,
    **others: Any,
) -> QueuedNotification:
    return QueuedNotification(
        id=number,
        incident_id=incident or number,
        reason=reason,
        severity=Severity.CRITICAL if critical else Severity.WARNING,
        created_at=NOW - age,
        next_try_at=NOW + due,
        **others,
    )


def notice(number: int, *, due: float = -60) -> QueuedNotification:
    return replace(waiting(number, due=due), incident_id=None, reason=NoticeType.DIGEST)


class Case(NamedTuple):
    sentence: str
    waiting: list[QueuedNotification]
    sent: list[SentMessage]
    expected: SendOne | SendGroup | SendSummary | SendNotice | WaitUntil


BURST_SENT = [SentMessage(NOW - 600), SentMessage(NOW - 500), SentMessage(NOW - 400)]
CASES = [
    Case("nothing waits", [], [], WaitUntil(None)),
    Case("one in the queue is sent", [waiting(1)], [], SendOne(carrier=1, reason=EventType.OPENED)),
    Case(
        "an update is sent at once, and beyond the burst",
        [waiting(1, reason=EventType.ACKNOWLEDGED, age=0)],
        BURST_SENT,
        SendOne(carrier=1, reason=EventType.ACKNOWLEDGED),
    ),
    Case(
        "an update does not send early what waits for longer",
        [waiting(1, 7, EventType.RECOVERED, due=200), waiting(2, 7, EventType.MUTED, age=0)],
        [],
        SendOne(carrier=2, reason=EventType.MUTED),
    ),
    Case(
        "an update is part of a message that is due",
        [waiting(1, 7, EventType.RECOVERED), waiting(2, 7, EventType.MUTED, age=0)],
        [],
        SendOne(carrier=2, reason=EventType.RECOVERED, folded=(1,)),
    ),
    Case(
        "news comes before updates",
        [waiting(1, reason=EventType.MUTED, age=90), waiting(2, age=6)],
        [],
        SendOne(carrier=2, reason=EventType.OPENED),
    ),
    Case(
        "an update that failed waits for its next try",
        [waiting(1, reason=EventType.UNMUTED, due=30)],
        [],
        WaitUntil(NOW + 30),
    ),
    Case("a young one settles first", [waiting(1, age=2)], [], WaitUntil(NOW + 3)),
    Case(
        "a group settles for as long as its first notification asks for, from its time on",
        [replace(waiting(1, 7, age=2), wait=10.0), replace(waiting(2, 7, age=1), wait=0.0)],
        [],
        WaitUntil(NOW + 8),
    ),
    Case("one that failed waits for its next try", [waiting(1, due=30)], [], WaitUntil(NOW + 30)),
    Case(
        "what a clock that was an hour ahead has put off is sent now",
        [waiting(1, age=-3600, due=3700)],
        [],
        SendOne(carrier=1, reason=EventType.OPENED),
    ),
    Case(
        "what a clock that was a day ahead has noted as sent counts no more",
        [waiting(1)],
        [SentMessage(NOW + 86_400, summary=True), SentMessage(NOW + 86_400), SentMessage(NOW + 86_400)],
        SendOne(carrier=1, reason=EventType.OPENED),
    ),
    Case(
        "what happened to one incident meanwhile is one message, with the most severe reason",
        [waiting(1, 7), waiting(2, 7, EventType.RECLASSIFIED), waiting(3, 7, EventType.RECOVERED)],
        [],
        SendOne(carrier=3, folded=(1, 2), reason=EventType.OPENED),
    ),
    Case(
        "getting worse outweighs recovering",
        [waiting(1, 7, EventType.RECOVERED), waiting(2, 7, EventType.ESCALATED)],
        [],
        SendOne(carrier=2, folded=(1,), reason=EventType.ESCALATED),
    ),
    Case(
        "the critical go first",
        [waiting(1), waiting(2, critical=True)],
        [],
        SendOne(carrier=2, reason=EventType.OPENED),
    ),
    Case(
        "then what has waited longest",
        [waiting(2, due=-10), waiting(1, due=-90)],
        [],
        SendOne(carrier=1, reason=EventType.OPENED),
    ),
    Case(
        "more than may be sent are told together",
        [waiting(number) for number in (3, 1, 4, 2)],
        [],
        SendSummary(carrier=4, folded=(1, 2, 3)),
    ),
    Case(
        "what was sent counts",
        [waiting(1), waiting(2)],
        [SentMessage(NOW - 60), SentMessage(NOW - 50)],
        SendSummary(carrier=2, folded=(1,)),
    ),
    Case(
        "what was sent long ago does not",
        [waiting(1)],
        [SentMessage(NOW - 4000)] * 9,
        SendOne(carrier=1, reason=EventType.OPENED),
    ),
    Case("a channel beyond its burst waits", [waiting(1)], BURST_SENT, WaitUntil(NOW + 3000)),
    Case(
        "but not with what is critical",
        [waiting(1), waiting(2, critical=True)],
        BURST_SENT,
        SendOne(carrier=2, reason=EventType.OPENED),
    ),
    Case(
        "unless twice the burst was sent",
        [waiting(1, critical=True)],
        BURST_SENT * 2,
        WaitUntil(NOW + 3000),
    ),
    Case(
        "that a critical one recovered can wait",
        [waiting(1, reason=EventType.RECOVERED, critical=True)],
        BURST_SENT,
        WaitUntil(NOW + 3000),
    ),
    Case(
        "after a summary it is quiet for a while",
        [waiting(1)],
        [SentMessage(NOW - 100, summary=True)],
        WaitUntil(NOW + 800),
    ),
    Case(
        "and then continues",
        [waiting(1)],
        [SentMessage(NOW - 901, summary=True)],
        SendOne(carrier=1, reason=EventType.OPENED),
    ),
    Case(
        "a critical one that settles ends the quiet when it has settled",
        [waiting(1), waiting(2, age=1, critical=True)],
        BURST_SENT,
        WaitUntil(NOW + 4),
    ),
    Case("a channel that is quiet sleeps while nothing waits", [], BURST_SENT, WaitUntil(None)),
    Case("also right after a summary", [], [SentMessage(NOW - 30, summary=True)], WaitUntil(None)),
    Case(
        "a notice is sent at once, beyond the burst",
        [waiting(1), notice(2, due=0)],
        BURST_SENT,
        SendNotice(carrier=2, reason=NoticeType.DIGEST),
    ),
    Case("a notice that failed waits for its next try", [notice(1, due=30)], BURST_SENT, WaitUntil(NOW + 30)),
    Case(
        "which need not wait for a channel that is quiet",
        [waiting(1), notice(2, due=30)],
        BURST_SENT,
        WaitUntil(NOW + 30),
    ),
    Case(
        "each notice is a message of its own",
        [notice(1, due=-10), notice(2, due=-30)],
        [],
        SendNotice(carrier=2, reason=NoticeType.DIGEST),
    ),
    Case(
        "several incidents of a group are one message about all, carried by the newest notification",
        [waiting(2, 8, group="g"), waiting(1, 7, group="g"), waiting(3, 9)],
        [],
        SendGroup(carrier=2, folded=(1,), reason=EventType.OPENED),
    ),
    Case(
        "a group of one incident is a message about that",
        [waiting(2, 7, EventType.RECOVERED, group="g"), waiting(1, 7, group="g")],
        [],
        SendOne(carrier=2, folded=(1,), reason=EventType.OPENED),
    ),
    Case(
        "an update that is due now is sent now",
        [waiting(1, reason=EventType.MUTED, due=0)],
        [],
        SendOne(carrier=1, reason=EventType.MUTED),
    ),
    Case(
        "the earlier of an update and of news decides how long nothing happens",
        [waiting(1, reason=EventType.MUTED, due=30), waiting(2, due=20)],
        [],
        WaitUntil(NOW + 20),
    ),
    Case(
        "in either order",
        [waiting(1, reason=EventType.MUTED, due=20), waiting(2, due=30)],
        [],
        WaitUntil(NOW + 20),
    ),
    Case(
        "an update of an incident joins news that settle now",
        [waiting(1, 7, age=5), waiting(2, 7, EventType.MUTED, age=0)],
        [],
        SendOne(carrier=2, reason=EventType.OPENED, folded=(1,)),
    ),
    Case("what settled now is sent", [waiting(1, age=5)], [], SendOne(carrier=1, reason=EventType.OPENED)),
    Case(
        "a group waits for the latest of its times",
        [waiting(1, 7, not_before=NOW + 40), waiting(2, 7, not_before=NOW + 30)],
        [],
        WaitUntil(NOW + 40),
    ),
    Case(
        "what is new takes along what failed",
        [waiting(1, 7, due=200), waiting(2, 7, EventType.RECOVERED)],
        [],
        SendOne(carrier=2, reason=EventType.OPENED, folded=(1,)),
    ),
    Case(
        "a try 15 minutes ahead is waited for, by a clock that is 5 s ahead, too",
        [waiting(1, due=905)],
        [],
        WaitUntil(NOW + 905),
    ),
    Case(
        "a later one was written by a wrong clock",
        [waiting(1, due=905.5)],
        [],
        SendOne(carrier=1, reason=EventType.OPENED),
    ),
    Case(
        "what was queued by a clock that is 5 s ahead settles", [waiting(1, age=-5)], [], WaitUntil(NOW + 10)
    ),
    Case(
        "by one that is wrong, it does not",
        [waiting(1, age=-5.5)],
        [],
        SendOne(carrier=1, reason=EventType.OPENED),
    ),
    Case(
        "what was sent by a clock that is 5 s ahead counts",
        [waiting(1)],
        [SentMessage(NOW + 5)] * 3,
        WaitUntil(NOW + 3605),
    ),
    Case(
        "by one that is wrong, it does not",
        [waiting(1)],
        [SentMessage(NOW + 5.5)] * 3,
        SendOne(carrier=1, reason=EventType.OPENED),
    ),
    Case(
        "what was sent an hour ago no longer counts",
        [waiting(1)],
        [SentMessage(NOW - 3600)] * 3,
        SendOne(carrier=1, reason=EventType.OPENED),
    ),
    Case("a second less, and it does", [waiting(1)], [SentMessage(NOW - 3599)] * 3, WaitUntil(NOW + 1)),
    Case(
        "as many as are left are sent one by one",
        [waiting(1), waiting(2)],
        [SentMessage(NOW - 60)],
        SendOne(carrier=1, reason=EventType.OPENED),
    ),
    Case(
        "also the last",
        [waiting(1)],
        [SentMessage(NOW - 60), SentMessage(NOW - 50)],
        SendOne(carrier=1, reason=EventType.OPENED),
    ),
    Case(
        "a minute after a summary the critical are sent again",
        [waiting(1, critical=True)],
        [SentMessage(NOW - 60, summary=True)],
        SendOne(carrier=1, reason=EventType.OPENED),
    ),
    Case(
        "and not before",
        [waiting(1, critical=True)],
        [SentMessage(NOW - 59, summary=True)],
        WaitUntil(NOW + 1),
    ),
    Case(
        "a quarter of an hour after a summary the others are, too",
        [waiting(1)],
        [SentMessage(NOW - 900, summary=True)],
        SendOne(carrier=1, reason=EventType.OPENED),
    ),
    Case(
        "the quiet after a summary ends by itself while one may still be sent",
        [waiting(1)],
        [SentMessage(NOW - 200), SentMessage(NOW - 100, summary=True)],
        WaitUntil(NOW + 800),
    ),
    Case(
        "with the oldest message of the hour where none may",
        [waiting(1)],
        [SentMessage(NOW - 200), SentMessage(NOW - 150), SentMessage(NOW - 100, summary=True)],
        WaitUntil(NOW + 3400),
    ),
    Case(
        "and not before the quiet ends",
        [waiting(1)],
        [SentMessage(NOW - 3500), SentMessage(NOW - 3400), SentMessage(NOW - 100, summary=True)],
        WaitUntil(NOW + 800),
    ),
    Case(
        "the last critical one of twice the burst is sent",
        [waiting(1, critical=True)],
        [*BURST_SENT, *BURST_SENT[:2]],
        SendOne(carrier=1, reason=EventType.OPENED),
    ),
    Case(
        "one that settles now is no reason to wake up before it may be sent",
        [waiting(1, age=5, critical=True)],
        BURST_SENT * 2,
        WaitUntil(NOW + 3000),
    ),
    Case(
        "what settles soon is part of a flood",
        [waiting(1), waiting(2, age=0)],
        BURST_SENT[:2],
        SendSummary(carrier=2, folded=(1,)),
    ),
    Case(
        "what waits for longer is not",
        [waiting(1), waiting(2, age=0, wait=5.5)],
        BURST_SENT[:2],
        SendOne(carrier=1, reason=EventType.OPENED),
    ),
]


@pytest.mark.parametrize("case", CASES, ids=[case.sentence for case in CASES])
def test_the_next_message(case: Case) -> None:
    assert next_action(case.waiting, case.sent, LIMIT, now=NOW) == case.expected


FLOOD_SENT = [SentMessage(NOW - 600), SentMessage(NOW - 30, summary=True)]


def test_what_settles_counts_for_a_flood_and_what_follows_its_summary_is_collected() -> None:
    settling = [waiting(1), waiting(2), waiting(3, age=1), waiting(4, age=1)]
    assert next_action(settling, [], LIMIT, now=NOW) == SendSummary(carrier=4, folded=(1, 2, 3))
    more = [waiting(5, critical=True), waiting(6, critical=True)]
    assert next_action(more, FLOOD_SENT, LIMIT, now=NOW) == WaitUntil(NOW + 30)


def test_a_hundred_incidents_within_a_minute_are_few_messages_that_come_soon() -> None:
    """Critical ones, one after the other, as an analysis finds them after the fault of a cluster."""
    limit = RateLimit(settle=2, burst=10)
    pending = {
        number: replace(waiting(number, critical=True), created_at=0.6 * number) for number in range(100)
    }
    sent, now = list[SentMessage](), 0.0
    while pending and now < 600:
        visible = [replace(row, next_try_at=0.0) for row in pending.values() if row.created_at <= now]
        action = next_action(visible, sent, limit, now=now)
        if isinstance(action, SendOne | SendSummary):
            sent.append(SentMessage(now, isinstance(action, SendSummary)))
            for number in (action.carrier, *action.folded):
                del pending[number]
        now += 0.2
    assert not pending
    assert len(sent) <= 10
    assert now < 150


class News(NamedTuple):
    at: float
    incident: int
    reason: EventType
    critical: bool


NEWS = st.lists(
    st.builds(
        News,
        at=st.floats(0, 20_000),
        incident=st.integers(1, 30),
        reason=st.sampled_from([EventType.OPENED, EventType.ESCALATED, EventType.RECOVERED]),
        critical=st.booleans(),
    ),
    max_size=60,
)


@settings(max_examples=50)
@given(NEWS)
def test_a_bad_night_is_few_messages_and_nothing_is_left_unsent(news: list[News]) -> None:
    pending = sorted(
        (
            QueuedNotification(
                id=number,
                incident_id=one.incident,
                reason=one.reason,
                severity=Severity.CRITICAL if one.critical else Severity.WARNING,
                created_at=one.at,
                next_try_at=one.at,
            )
            for number, one in enumerate(news)
        ),
        key=lambda row: row.created_at,
    )
    now, sent, delivered = 0.0, list[SentMessage](), set[int]()
    while len(delivered) < len(pending):
        visible = [row for row in pending if row.created_at <= now and row.id not in delivered]
        action = next_action(visible, sent, LIMIT, now=now)
        if isinstance(action, WaitUntil):
            arrivals = [row.created_at for row in pending if row.created_at > now]
            moments = [*arrivals[:1], *([action.until] if action.until is not None else [])]
            assert moments, "something waits and nothing will wake it"
            assert min(moments) > now
            now = min(moments)
            continue
        rows = {action.carrier, *action.folded}
        assert not rows & delivered
        delivered |= rows
        sent.append(SentMessage(now, isinstance(action, SendSummary)))
    for one in sent:
        inside = [other for other in sent if one.at <= other.at < one.at + LIMIT.window]
        assert len(inside) <= 2 * LIMIT.burst


def test_pauses_double_to_ten_minutes_and_differ_by_chance() -> None:
    longest = [2, 4, 8, 16, 32, 64, 128, 256, 512, 600, 600]
    assert [retry_delay(failures, 0) for failures in range(11)] == [each / 2 for each in longest]
    assert [retry_delay(failures, 0.5) for failures in range(11)] == [0.75 * each for each in longest]
    assert retry_delay(10_000, 0) == 300
