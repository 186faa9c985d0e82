"""The texts of messages about incidents."""

from __future__ import annotations

from dataclasses import replace
from typing import Any
from zoneinfo import ZoneInfo

import pytest

from holter.detectors.findings import title_of
from holter.server.alerting.incident import EventType, HistoryEntry
from holter.server.alerting.messages import compose
from holter.server.alerting.messages_of_many import compose_group, summarize
from holter.server.alerting.reasons import REASONS
from holter.server.channels.message import NEWS, local_time
from holter.server.channels.texts import plain_text
from holter.types import Kind
from tests.support.receivers import RATE_JUMP, make_incident

BERLIN = ZoneInfo("Europe/Berlin")


def message(reason: str = "opened", **changes: Any) -> Any:
    return compose(
        make_incident(**changes),
        key="17.0.team",
        reason=EventType(reason),
        sent_at=1_700_000_240.0,
        address="https://holter.example.com",
        zone=BERLIN,
    )


def test_it_names_what_broke_when_where_and_what_to_do() -> None:
    made = message()
    assert made.headline == "Slow loss spike in 104b-emb-norm at step 1,514"
    assert made.sentence.startswith("Loss rose from 2.31 to 4.02 at step 1,514")
    assert dict(made.facts) == {
        "Run": "llm / 104b-emb-norm",
        "Onset": "step 1,514 of attempt 1, Tue 14 Nov 2023, 23:13:20 CET (4 minutes ago)",
        "Last safe step": "1,500",
        "Metric": "train/loss",
        "Severity": "Warning, open",
        "Confidence": "almost certain (97%)",
        "Evidence": "Baseline 2.31 · Peak 4.02 · Noise 0.05",
    }
    assert made.advice.startswith("Watch it.")
    assert made.link == "https://holter.example.com/incidents/17"


def test_a_clear_cause_comes_first_in_title_and_subject() -> None:
    made = message(causes=(RATE_JUMP,))
    title = "Learning rate rise, then slow loss spike in 104b-emb-norm at step 1,514"
    assert made.headline == title
    assert made.subject.startswith("Learning rate rise, then ")
    assert dict(made.facts)["Cause"] == "Learning rate rose from 0.0105 to 0.224 at step 1,510 (99%)"
    names = [name for name, _ in made.facts]
    assert names.index("Onset") < names.index("Cause") < names.index("Confidence") < names.index("Metric")
    assert message("escalated", causes=(RATE_JUMP,)).headline == (
        "Severity raised: learning rate rise, then slow loss spike in 104b-emb-norm at step 1,514"
    )


def test_a_cause_that_is_not_clear_is_a_fact() -> None:
    made = message(causes=(replace(RATE_JUMP, is_clear=False, score=0.6),))
    assert made.headline == "Slow loss spike in 104b-emb-norm at step 1,514"
    assert dict(made.facts)["Possible cause"].endswith("(60%)")


def test_it_names_the_ranks() -> None:
    assert dict(message(labels={"rank": 3}).facts)["Metric"] == "train/loss, rank 3"
    by_evidence = message(evidence={"ranks": [3, 5], "nodes": ["n7"]})
    assert dict(by_evidence.facts)["Metric"] == "train/loss, ranks 3, 5, nodes n7"
    both = message(evidence={"ranks": [37]}, labels={"host": "n4", "rank": "37"})
    assert dict(both.facts)["Metric"] == "train/loss, host n4, rank 37"


def test_later_messages_name_their_news_and_keep_the_subject() -> None:
    first, worse = message(kind="spike_fast"), message("escalated", kind="divergence", severity="critical")
    assert worse.headline == "Severity raised: divergence in 104b-emb-norm at step 1,514"
    assert worse.subject == first.subject == "Loss spike in 104b-emb-norm at step 1,514"


def test_a_recovered_incident_has_its_end_and_no_advice() -> None:
    made = message("recovered", state="recovered", end_step=1890)
    assert made.headline == "Recovered: slow loss spike in 104b-emb-norm at step 1,514"
    assert dict(made.facts)["Ended"] == "step 1,890, 376 steps later"
    assert made.advice == ""


def test_what_a_rollback_replaced_is_stated_as_over() -> None:
    text = "Attempt 1 resumed from before this step and has passed it."
    replaced = HistoryEntry(at=1.0, type=EventType.RECOVERED, text=text, detail={"attempt": 1})
    made = message("opened", state="recovered", history=(replaced,))
    assert made.sentence.endswith(text)
    assert made.advice == ""


def test_it_names_who_closed_it_and_their_comment() -> None:
    closed = HistoryEntry(at=1.0, type=EventType.CLOSED, by="ann", text="rolled back")
    made = message("closed", state="closed", history=(closed,))
    assert made.sentence.startswith("Closed by ann: rolled back. Loss rose")


def test_it_states_what_people_have_done_and_holds() -> None:
    acknowledged = HistoryEntry(at=1_700_000_100.0, type=EventType.ACKNOWLEDGED, by="ada")
    muted = HistoryEntry(
        at=1_700_000_120.0, type=EventType.MUTED, by="ben", detail={"until": 1_700_007_320.0}
    )
    made = message("acknowledged", acknowledged_by="ada", history=(acknowledged, muted))
    assert made.headline == "Acknowledged: slow loss spike in 104b-emb-norm at step 1,514"
    assert made.sentence == "Acknowledged by ada at 23:15 CET."
    assert made.status == ("Acknowledged by ada at 23:15 CET", "Muted by ben until Wed 15 Nov, 01:15 CET")
    forever = replace(muted, detail={"until": None})
    assert message("muted", history=(forever,)).sentence == "Muted by ben until it recovers."
    withdrawn = HistoryEntry(at=1_700_000_130.0, type=EventType.UNMUTED, by="ada")
    assert message(history=(muted, withdrawn)).status == ()
    recovered = HistoryEntry(at=1_700_000_200.0, type=EventType.RECOVERED)
    ended = message("recovered", state="recovered", end_step=1890, history=(muted, recovered))
    assert ended.status == ("Recovered at 23:16 CET",)


def test_a_message_about_an_open_incident_leads_to_where_it_is_muted() -> None:
    opened = message("opened")
    assert opened.mute_link == f"{opened.link}#mute"
    assert message("recovered", state="recovered", end_step=1890).mute_link == ""


def test_a_mute_ends_with_its_time_or_its_incident() -> None:
    muted = HistoryEntry(at=100.0, type=EventType.MUTED, by="ben", detail={"until": 200.0})
    assert make_incident(history=(muted,)).mute(150.0) == muted
    assert make_incident(history=(muted,)).mute(200.0) is None
    until_recovered = replace(muted, detail={"until": None})
    assert make_incident(history=(until_recovered,)).mute(1e9) == until_recovered
    assert make_incident(history=(until_recovered,), state="closed").mute(150.0) is None
    ended = HistoryEntry(at=120.0, type=EventType.RECOVERED)
    reopened = HistoryEntry(at=130.0, type=EventType.REOPENED)
    assert make_incident(history=(until_recovered, ended, reopened)).mute(150.0) is None


def test_a_log_without_a_clock_is_stated_as_such() -> None:
    facts = dict(message(start_time=None).facts)
    assert facts["Onset"] == "step 1,514 of attempt 1 (the log has no clock)"


def test_what_to_do_follows_the_sentence_in_texts() -> None:
    made = message()
    sentence, advice, *_ = plain_text(made).splitlines()
    assert sentence == made.sentence
    assert advice == f"What to do: {made.advice}"


def test_messages_about_many_state_when_the_first_open_one_began() -> None:
    began = [1_700_000_000.0, 1_700_000_100.0, None]
    incidents = [
        replace(make_incident(), id=number, start_time=time) for number, time in enumerate(began, start=1)
    ]
    for made in (
        summarize(incidents, key="1.0.team", sent_at=1_700_000_240.0, address="http://h"),
        compose_group(
            incidents, reason=EventType.OPENED, key="1", sent_at=1_700_000_240.0, address="http://h"
        ),
    ):
        ((name, when),) = made.facts
        assert name == "First onset"
        assert when == f"{local_time(1_700_000_000.0)} (4 minutes ago)"
    unknown = summarize(incidents[2:], key="1.0.team", sent_at=1.0, address="http://h")
    assert unknown.facts == ()


def test_local_time_names_its_zone_in_summer_and_winter() -> None:
    assert local_time(1_700_000_000.0, BERLIN).endswith("23:13:20 CET")
    assert local_time(1_690_000_000.0, BERLIN).endswith("06:26:40 CEST")
    assert local_time(1_700_000_000.0).startswith("Tue 14 Nov 2023")


def test_a_summary_names_all_the_worst_first() -> None:
    incidents = [
        make_incident(id=1),
        make_incident(id=2, severity="critical", kind="divergence", run="7b"),
        make_incident(id=3, state="recovered"),
    ]
    made = summarize(incidents, key="1.0.team", sent_at=1.0, address="http://h")
    assert made.headline.startswith("3 incidents in 2 runs: ")
    assert "2 of them are open" in made.sentence
    assert [item.link for item in made.items] == [
        "http://h/incidents/2",
        "http://h/incidents/1",
        "http://h/incidents/3",
    ]
    assert made.severity == "critical"


@pytest.mark.parametrize(
    ("states", "words"),
    [
        (("open", "open"), "2 incidents in 1 run; all are open."),
        (("recovered", "closed"), "2 incidents in 1 run; none is open any more."),
        (("open", "closed"), "2 incidents in 1 run; 1 of them is open."),
    ],
)
def test_a_summary_says_why_it_comes_of_what_kinds_and_how_many_are_open(
    states: tuple[str, ...], words: str
) -> None:
    incidents = [make_incident(id=number, state=state) for number, state in enumerate(states, start=1)]
    made = summarize(incidents, key="1", sent_at=1.0, address="http://h", reason=EventType.NOT_ACKNOWLEDGED)
    where = "2 incidents in llm/104b-emb-norm"
    assert made.headline == f"Not acknowledged: {where}: Slow loss spike"
    assert made.sentence.startswith(words.replace("2 incidents in 1 run", where))


@pytest.mark.parametrize("kind", [kind for kind in Kind if kind is not Kind.AGENT_SILENT])
def test_the_headline_of_every_kind_begins_with_its_title(kind: Kind) -> None:
    assert message(kind=kind.value).headline.startswith(title_of(kind, provisional=True))


def test_every_reason_has_a_word() -> None:
    assert {str(reason) for reason in REASONS} <= NEWS.keys()
