"""The health strip of a run in its messages."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from holter.server.alerting.incident import Incident
from holter.server.alerting.run_strip import run_strip
from holter.server.channels.email import EmailSettings, build_email
from holter.server.store.types import AttemptSummary
from holter.types import Severity
from tests.support.channel_messages import message_about
from tests.support.receivers import make_incident

MAIL = EmailSettings(type="email", host="mail.example.com", to=("oncall@example.com",))


def attempt(number: int, first: int, last: int, *, begin: float | None, end: float | None) -> AttemptSummary:
    return AttemptSummary(
        number=number,
        name=None,
        first_step=first,
        last_step=last,
        first_time=begin,
        last_time=end,
        points=last - first + 1,
    )


def rolled_back(*incidents: Incident) -> list[tuple[str, float]]:
    """The parts of the strip of a run that was restarted at step 800, after a pause."""
    attempts = [attempt(0, 0, 999, begin=0, end=1000), attempt(1, 800, 1999, begin=1400, end=2000)]
    strip = run_strip(attempts, incidents)
    assert strip is not None
    return list(strip.parts)


def test_a_strip_shows_attempts_rolled_back_steps_and_pauses_by_time() -> None:
    assert rolled_back() == [("attempt", 0.4), ("lost", 0.1), ("gap", 0.2), ("attempt", 0.3)]


def test_an_incident_is_marked_from_its_onset_to_its_end_or_to_the_newest_step() -> None:
    first = make_incident(
        attempt=0, start_step=200, end_step=300, severity="info", state="recovered", recovered_at=1.0
    )
    parts = rolled_back(first, make_incident(attempt=1, start_step=1800, severity="critical"))
    kinds = [kind for kind, _ in parts]
    assert kinds == [
        "attempt", "info", "info-extent", "attempt", "lost", "gap", "attempt", "critical", "critical-extent"
    ]  # fmt: skip


def test_the_most_severe_of_two_incidents_at_a_step_is_seen() -> None:
    worse = make_incident(attempt=0, start_step=200, end_step=210, severity="critical")
    other = make_incident(attempt=0, start_step=200, end_step=210, severity="info")
    for incidents in ((worse, other), (other, worse)):
        assert {kind for kind, _ in rolled_back(*incidents)} >= {"critical"}
        assert "info" not in {kind for kind, _ in rolled_back(*incidents)}


@given(
    st.lists(st.tuples(st.integers(0, 10**9), st.integers(0, 10**9)), min_size=1, max_size=6),
    st.lists(
        st.tuples(st.integers(0, 6), st.integers(0, 10**9), st.sampled_from(Severity), st.booleans()),
        max_size=8,
    ),
)
def test_any_strip_is_as_wide_as_the_mail_and_has_no_empty_part(
    ranges: list[tuple[int, int]], marks: list[tuple[int, int, Severity, bool]]
) -> None:
    attempts = [
        attempt(number, min(pair), max(pair), begin=None, end=None) for number, pair in enumerate(ranges)
    ]
    incidents = [
        make_incident(attempt=number, start_step=step, severity=severity, end_step=step if ended else None)
        for number, step, severity, ended in marks
    ]
    strip = run_strip(attempts, incidents)
    assert strip is not None
    assert sum(share for _, share in strip.parts) == pytest.approx(1)
    assert all(share > 0 for _, share in strip.parts)


def test_a_run_without_points_has_no_strip() -> None:
    assert run_strip([], []) is None


def test_a_mail_shows_the_strip_as_a_table_that_needs_no_picture() -> None:
    strip = run_strip([attempt(0, 0, 1600, begin=None, end=None)], [make_incident(attempt=0)])
    mail = build_email(message_about(strip=strip), MAIL, None)
    html = next(part for part in mail.walk() if part.get_content_type() == "text/html").get_content()
    table = re.search(r'<table role="img" aria-label="Health strip of the run: (.*?)".*?</table>', html, re.S)
    assert table is not None
    assert table[1] == "Steps 0 to 1,600 · 1 attempt · 1 incident, 1 open"
    widths = re.findall(r'<td[^>]* width="([\d.]+)%"', table[0])
    assert sum(map(float, widths)) == pytest.approx(100, abs=0.1)
    assert table[0].count("<td") == 3
    assert "strip-warning" in table[0]
