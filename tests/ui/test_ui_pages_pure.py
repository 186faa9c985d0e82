"""Search, routing, evidence, health strips and tiles: pure functions of the pages, run in the browser."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from playwright.sync_api import Page

from holter.detectors.findings import CATALOGUE, FIELDS
from tests.support.pages import STATIC
from tests.support.titles_of_metrics import TITLES_OF_METRICS

Call = Callable[..., Any]


def attempt(
    number: int, steps: tuple[int, int], times: tuple[float, float] | None, lost: int | None = None
) -> Any:
    return {
        "number": number,
        "first_step": steps[0],
        "last_step": steps[1],
        "first_time": times and times[0],
        "last_time": times and times[1],
        "lost_from_step": lost,
    }


def strip(*attempts: Any) -> dict[str, Any]:
    return {
        "first_step": 0,
        "last_step": 300,
        "attempts": list(attempts),
        "incidents": [],
        "throughput": None,
    }


CLOCKED = strip(attempt(0, (0, 199), (0.0, 200.0), 100), attempt(1, (100, 300), (600.0, 800.0)))


def test_the_health_strip_follows_wall_time_with_gaps_at_pauses(call: Call) -> None:
    first, second = call("charts/health_strip.js", "layOutAttempts", CLOCKED)
    assert (first["from"], first["to"]) == (0, 0.25)
    assert first["lost"] == 0.125
    assert (second["from"], second["to"]) == (0.75, 1)


def test_without_times_attempts_follow_each_other_by_number_of_steps(call: Call) -> None:
    first, second = call(
        "charts/health_strip.js",
        "layOutAttempts",
        strip(attempt(0, (0, 99), None), attempt(1, (0, 299), None)),
    )
    assert (first["from"], first["to"], second["from"], second["to"]) == (0, 0.25, 0.25, 1)


def test_a_repeated_step_is_in_the_newest_attempt_unless_one_is_given(call: Call) -> None:
    along = call("charts/health_strip.js", "layOutAttempts", CLOCKED)
    assert call("charts/health_strip.js", "positionOfStep", along, 150) == pytest.approx(
        0.75 + 0.25 * 50 / 200
    )
    assert call("charts/health_strip.js", "positionOfStep", along, 150, 0) == pytest.approx(0.25 * 150 / 199)


def test_a_range_of_the_strip_gives_its_steps_and_a_pause_none(call: Call) -> None:
    along = call("charts/health_strip.js", "layOutAttempts", CLOCKED)
    assert call("charts/health_strip.js", "stepsBetween", along, 0, 1) == [0, 300]
    assert call("charts/health_strip.js", "stepsBetween", along, 0.3, 0.7) is None


@pytest.mark.parametrize(
    ("path", "name", "params"),
    [
        ("/", "overview", []),
        ("/runs/a%20b", "run", ["a b"]),
        ("/incidents", "inbox", []),
        ("/incidents/7", "incident", ["7"]),
        ("/planned", "planned", []),
        ("/alerts", "alerts", []),
        ("/settings", "settings", []),
        ("/nowhere", "missing", ["/nowhere"]),
    ],
)
def test_a_path_has_a_page_and_parameters(call: Call, path: str, name: str, params: list[str]) -> None:
    assert call("lib/router.js", "match", path) == {"name": name, "params": params}


@pytest.mark.parametrize(
    ("wanted", "goes"),
    [
        ("/runs/1?from=3", "/runs/1?from=3"),
        (None, "/"),
        ("https://example.org/", "/"),
        ("//example.org/", "/"),
        ("/\\example.org", "/"),
        ("/\t/example.org/", "/"),
        ("/\n/example.org/", "/"),
        ("/\r\\example.org/", "/"),
        ("\t//example.org/", "/"),
        ("/.//example.org/", "/"),
        ("/runs/..//example.org/", "/"),
        ("/\\[", "/"),
        ("/login?next=/", "/"),
        ("/./login", "/"),
        ("/runs/1#step", "/runs/1#step"),
        ("javascript:alert(1)", "/"),
        ("/login", "/"),
    ],
)
def test_a_login_redirects_to_own_pages_only(call: Call, wanted: str | None, goes: str) -> None:
    assert call("pages/login.js", "safeNext", wanted) == goes


def counts(*, attention: int = 0, unresolved: int = 0, **more: int) -> dict[str, Any]:
    sections = {"attention": attention, "running": 0, "unresolved": unresolved, "finished": 0}
    return {"all": 20, "found": 20, "running": 0, "stalled": 0, **more, "sections": sections}


def test_the_heading_of_the_overview_tells_of_what_runs(call: Call) -> None:
    def heading(**more: Any) -> Any:
        return call("runs/headline.js", "statusHeading", counts(**more))

    assert heading(running=9, attention=4, stalled=2) == ["warning", "9 running, 4 need attention, 2 stalled"]
    assert heading(running=1) == ["ok", "1 running"]
    assert heading(unresolved=3) == ["unknown", "Nothing is running"]
    assert heading(found=0) == ["info", "No matching runs"]
    unjudged = [
        call("runs/headline.js", "statusHeading", counts(attention=n, running=1), False) for n in (0, 1)
    ]
    assert unjudged == [
        ["unknown", "1 running, health not known"],
        ["warning", "1 running, 1 needs attention"],
    ]
    note = call("runs/headline.js", "statusNote", counts(found=5, unresolved=1))
    assert note == "1 finished run unresolved · 5 of 20 runs"


def test_a_section_is_a_condition_of_the_filter(call: Call) -> None:
    assert call("runs/headline.js", "withSection", "project:llm", "attention") == "is:attention project:llm"
    assert call("runs/headline.js", "withSection", "is:running lr<1", "") == "lr<1"
    assert call("runs/headline.js", "sectionOf", "lr<1 is:unresolved") == "unresolved"
    assert call("runs/headline.js", "sectionOf", "lr<1 is:starred") == ""


def test_a_completion_replaces_what_it_completes(call: Call) -> None:
    answer = {"start": 4, "end": 7, "completions": []}
    assert call("runs/filter_field.js", "complete", "a:1 lr. b:2", answer, "lr ") == {
        "text": "a:1 lr b:2",
        "caret": 7,
    }
    problem = call("runs/filter_field.js", "filterProblem", "query.filter.6: expected a value")
    assert problem == {"position": 6, "text": "expected a value"}


def test_the_trend_leaves_the_picture_where_it_is_above_its_range(call: Call) -> None:
    points = call("runs/columns.js", "trendPoints", [100.0, 50.0, *([2.0, 3.0] * 10)])
    assert points[0][1] == points[1][1] < -100.0  # far above: no level that the loss did not have
    assert all(0 <= y <= 22 for _, y in points[2:])


def test_the_trend_leaves_the_warm_up_out_of_its_range(call: Call) -> None:
    low, high = call("runs/columns.js", "trendRange", [100.0, 50.0, *([2.0, 3.0] * 10)])
    assert (low, high) == (2.0, 3.0)


def test_a_heading_sorts_both_ways_and_then_not(call: Call) -> None:
    column = {"sort": "lr", "descends": False}
    assert [call("runs/table.js", "nextSort", column, sort) for sort in ("", "lr", "-lr")] == [
        "lr",
        "-lr",
        "",
    ]


def test_metrics_are_found_by_all_words_prefix_matches_first(call: Call) -> None:
    groups = [
        {"metric": name, "role": "other", "series": []}
        for name in ("train/grad", "grad_norm", "lr", "eval/grad")
    ]
    assert [group["metric"] for group in call("run/series_list.js", "findMetrics", groups, "grad")] == [
        "grad_norm",
        "train/grad",
        "eval/grad",
    ]
    assert [group["metric"] for group in call("run/series_list.js", "findMetrics", groups, "grad ev")] == [
        "eval/grad"
    ]


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (2.30712, "2.307"),
        (12345, "12,345"),
        ("NaN", "NaN"),
        ("Infinity", "∞"),
        ([3, 7], "3, 7"),
        (True, "yes"),
        (None, "unknown"),
        ("gpu-17", "gpu-17"),
        ({"loss_scale": 2, "rank": [1]}, "loss scale 2, rank 1"),
    ],
)
def test_a_value_without_a_known_format_is_shown_by_its_type(call: Call, value: object, text: str) -> None:
    assert call("incidents/evidence.js", "plainText", value) == text


def incident(kind: str = "spike_slow", severity: str = "warning", **evidence: Any) -> dict[str, Any]:
    return {"kind": kind, "severity": severity, "metric": "loss", "labels": {}, "evidence": evidence}


@pytest.mark.parametrize(
    ("key", "value", "kind", "text"),
    [
        ("growth_per_1000_steps", 0.4717, "memory_leak", "0.472 GB"),
        ("baseline", 29.97588, "memory_leak", "29.98 GB"),
        ("worst", 13_200.5, "throughput_regression", "13,201 /s"),
        ("noise", 0.0123, "throughput_regression", "1.2\u202f%"),
        ("noise", 0.0123, "spike_slow", "0.01230"),
        ("lost_per_step", 0.25, "straggler", "0.2500 s"),
        ("slower_by", 0.2497, "straggler", "25.0\u202f%"),
        ("duty", 1.0, "straggler", "100\u202f% of the steps"),
        ("shares", {"web": 0.191, "books": 0.488}, "mixture_shift", "books 49\u202f%, web 19\u202f%"),
        ("silent_seconds", 130, "stall", "2\u202fmin 10\u202fs"),
        ("ranks", [3, 7], "straggler", "3, 7"),
        (
            "also",
            [{"kind": "sudden_drop", "metric": "train/loss", "labels": {"rank": "3"}, "start_step": 1992}],
            "hidden_nonfinite",
            "Sudden loss drop at step 1,992 (train/loss{rank=3})",
        ),
        (
            "precursors",
            [
                {"what": "grad_norm", "metric": "gnorm", "before": 1.158, "value": 3.3396, "step": 1395},
                {"what": "restart", "step": 2000, "since": 0},
            ],
            "spike_slow",
            "Grad norm from 1.16 to 3.34 at step 1,395; Restart at step 2,000",
        ),
        ("recovery_steps", 376, "spike_slow", "376 steps"),
    ],
)
def test_evidence_has_the_label_format_and_unit_of_the_catalogue(
    call: Call, key: str, value: object, kind: str, text: str
) -> None:
    unit = {"unit": "GB"} if kind == "memory_leak" else {}
    rows = call("incidents/evidence.js", "evidenceRows", incident(kind, **{key: value}, **unit))
    assert rows == [[FIELDS[key].label, text]]


def test_the_pages_repeat_no_title_of_the_catalogue() -> None:
    sources = "\n".join(path.read_text() for path in STATIC.rglob("*.js"))
    titles = {title for kind in CATALOGUE.values() for title in (kind.title, kind.provisional_title) if title}
    assert [title for title in sorted(titles) if f'"{title}"' in sources] == []


def test_an_unknown_kind_and_an_unknown_field_are_shown_by_their_keys(call: Call) -> None:
    assert call("lib/catalogue.js", "kindTitle", "new_kind") == "New kind"
    for kind, metric, title in TITLES_OF_METRICS:
        assert call("lib/catalogue.js", "kindTitle", kind, metric) == title
    evidence = incident("new_kind", something_new=3)
    assert call("incidents/evidence.js", "evidenceRows", evidence) == [["Something new", "3"]]


def test_clear_causes_come_first_in_a_title(call: Call) -> None:
    rate, batch = (
        {"title": "Learning rate rise", "clear": True},
        {"title": "Smaller batch size", "clear": True},
    )
    spike = incident() | {"state": "recovered", "classified_step": 9}

    def title(*causes: dict[str, Any]) -> Any:
        return call("lib/catalogue.js", "titleWithCauses", spike | {"causes": list(causes)})

    assert title() == title(rate | {"clear": False}) == "Slow loss spike"
    assert title(rate) == "Learning rate rise, then slow loss spike"
    assert title(rate, batch) == "Learning rate rise and smaller batch size, then slow loss spike"


def test_the_series_of_causes_are_charted_next_to_the_incident(call: Call) -> None:
    roles = ["loss", "throughput", "grad_norm", "learning_rate", "batch_size"]
    plans = [{"title": role, "role": role, "series": [{"metric": role, "labels": {}}]} for role in roles]
    spike = incident() | {"causes": [{"metric": "batch_size"}, {"metric": ""}]}
    charts = call("incidents/charts.js", "incidentCharts", spike, {"charts": plans})
    assert [plan["role"] for plan in charts] == ["loss", "batch_size", "throughput", "grad_norm"]


def test_evidence_that_states_nothing_is_left_out(call: Call) -> None:
    evidence = incident(
        recovery_steps=None, precursors=[], not_logged=[], ranks=[17], metrics=["loss"], unit="GB"
    )
    assert call("incidents/evidence.js", "evidenceRows", evidence) == []


@pytest.mark.parametrize(
    ("evidence", "fact"),
    [
        ({"baseline": 2.0, "peak": 4.0}, ["2.00 → 4.00", "peak at step 1,300"]),
        ({"baseline": 0.5, "lowest": 0.005}, ["0.500 → 0.00500", "lowest at step 1,300"]),
        ({"baseline": 41.0, "worst": 8.0}, ["41.0 → 8.00", "worst at step 1,300"]),
    ],
)
def test_the_extreme_of_an_incident_has_the_word_for_its_direction(
    call: Call, evidence: dict[str, float], fact: list[str]
) -> None:
    incident = {
        **{"kind": "metric_collapse", "metric": "grad_norm", "labels": {}, "attempt": 0, "run_id": "r"},
        **{"state": "open", "start_step": 1200, "peak_step": 1300, "end_step": None, "evidence": evidence},
    }
    assert call("incidents/details.js", "keyFacts", incident)[1] == ["grad_norm", *fact]


def test_times_of_machines_and_agents_are_shown_as_times_not_as_steps(call: Call) -> None:
    timed = {
        "labels": {"steps": "milliseconds"},
        "state": "open",
        "start_step": 1_700_000_000_000,
        "end_step": None,
    }
    assert call("incidents/details.js", "stepsText", timed) == "since 14 Nov, 23:13:20"
    assert call("incidents/details.js", "stepsText", timed | {"labels": {}, "start_step": 1200}) == (
        "since step 1,200"
    )


def test_refused_series_are_not_reported_as_unreadable(call: Call) -> None:
    line = {"source": "vm:/runs/a.jsonl", "place": "line 3", "reason": "expected a JSON object"}
    names = {"source": "http", "place": "loss_step_*", "reason": "loss_step_*: 512 series with one point"}
    most = {"source": "http", "place": "max_series_per_run", "reason": "the run has 100 series"}
    assert call("run/data.js", "unreadableSummary", [line], 4) == "4 log locations could not be read"
    assert call("run/data.js", "unreadableSummary", [names, most], 2) == "Series were not stored"
    both = "1 log location could not be read, and series were not stored"
    assert call("run/data.js", "unreadableSummary", [line, most], 2) == both


def test_the_charts_of_an_incident_have_a_margin_of_its_duration(call: Call) -> None:
    steps = {"first_step": 0, "last_step": 10_000}
    lasting = {
        "start_step": 5000,
        "peak_step": 5100,
        "end_step": 6000,
        "detected_step": 5010,
        "state": "recovered",
    }
    low, high = call("incidents/charts.js", "stepsAroundIncident", lasting, steps)
    assert 4000 <= low <= 4300
    assert 6700 <= high <= 7000
    begun = {"start_step": 9990, "peak_step": None, "end_step": None, "detected_step": 9995, "state": "open"}
    low, high = call("incidents/charts.js", "stepsAroundIncident", begun, steps)
    assert low <= 9600
    assert high == 10_000


def test_a_log_with_a_single_time_has_no_times(call: Call) -> None:
    stamped = strip(attempt(0, (0, 99), (50.0, 50.0)))
    assert call("charts/health_strip.js", "hasTimes", stamped["attempts"]) is False
    assert call("charts/health_strip.js", "hasTimes", CLOCKED["attempts"]) is True
    (segment,) = call("charts/health_strip.js", "layOutAttempts", stamped)
    assert (segment["from"], segment["to"]) == (0, 1)


def test_a_chart_without_points_in_the_shared_range_shows_its_own_range(call: Call) -> None:
    assert call("charts/panel.js", "rangeOf", [10, 20], [12, 30], False) == [10, 20]
    assert call("charts/panel.js", "rangeOf", [15.5, 16.5], [0, 0], False) == [-0.5, 0.5]
    assert call("charts/panel.js", "rangeOf", [10, 20], None, False) == [10, 20]
    assert call("charts/panel.js", "rangeOf", None, [0, 5], False) is None
    assert call("charts/panel.js", "rangeOf", None, [0, 5], True) == [0, 5]


@pytest.mark.parametrize(
    ("trend", "text"),
    [
        ({"slope": -0.0012}, "↓ 0.0012 per 1,000 steps"),
        ({"slope": 0.42}, "↑ 0.42 per 1,000 steps"),
        ({"slope": 0}, "→ flat"),
        ({"slope": None}, None),
        ({"nonfinite_since": 3600, "slope": None}, "since step 3,600, last finite 2.535 at step 3,599"),
    ],
)
def test_the_trend_of_the_loss_in_words(call: Call, trend: dict[str, Any], text: str | None) -> None:
    known = {"nonfinite_since": None, "last_finite": 2.535, "last_finite_step": 3599}
    assert call("run/summary_tiles.js", "trendText", known | trend) == text


def story(*incidents: tuple[str, int], safe: int | None = None) -> dict[str, Any]:
    linked = [
        {"id": i, "kind": kind, "state": "open", "attempt": 0, "start_step": start, "classified_step": 1}
        for i, (kind, start) in enumerate(incidents)
    ]
    return {"incidents": linked, "rollback_step": safe, "is_open": True}


def test_an_event_is_one_time_line_with_the_safe_step_in_its_place(call: Call) -> None:
    event = story(("spike_slow", 1200), ("nonfinite", 1400), safe=1100)
    changes = [{"attempt": 0, "step": 1195, "text": "rate"}, {"attempt": 0, "step": 0, "text": "start"}]
    entries = call("incidents/event_timeline.js", "timelineEntries", event, changes)
    assert [entry["step"] for entry in entries] == [0, 1100, 1195, 1200, 1400]
    assert entries[1]["safe"] == 1100
    assert call("incidents/event_timeline.js", "eventTitle", event) == "Slow loss spike, then NaN or infinity"


def test_the_charts_of_an_event_begin_before_its_first_incident_and_clear_cause(call: Call) -> None:
    event = story(("spike_slow", 1200), ("nonfinite", 1400))
    this = {"attempt": 0, "start_step": 1400, "causes": [{"clear": True, "attempt": 0, "step": 1195}]}
    assert call("incidents/charts.js", "eventStart", event, this) == 1195
    assert call("incidents/charts.js", "eventStart", event, this | {"causes": []}) == 1200


def test_incidents_are_grouped_by_the_day_of_the_event_and_by_run(call: Call) -> None:
    incidents = [
        {"id": i, "began_at": time, "run_id": run, "run": run, "project": "llm"}
        for i, (time, run) in enumerate([(1000, "a"), (90_000, "b"), (91_000, "a"), (92_000, "b")])
    ]
    days = call("pages/inbox.js", "groupByDay", incidents)
    names = [[(run["id"], [one["id"] for one in run["incidents"]]) for run in day["runs"]] for day in days]
    assert names == [[("b", [3, 1]), ("a", [2])], [("a", [0])]]


@pytest.mark.parametrize(
    ("event", "heading", "first"),
    [
        (
            {"type": "notified", "text": "oncall (opened)", "reason": "opened"},
            "Sent to oncall",
            "because it was opened",
        ),
        (
            {"type": "undelivered", "text": "oncall (opened): SMTP: no answer", "reason": "opened"},
            "Not delivered to oncall",
            "SMTP: no answer",
        ),
    ],
)
def test_the_history_says_who_was_notified_and_why(
    call: Call, event: dict[str, str], heading: str, first: str
) -> None:
    entry = {
        "type": event["type"],
        "text": event["text"],
        "detail": {"channel": "oncall", "reason": event["reason"]},
    }
    title, lines = call("incidents/history.js", "eventText", entry, incident())
    assert (title, lines[0]) == (heading, first)


def test_the_history_says_until_when_it_is_muted(call: Call) -> None:
    muted = {"type": "muted", "text": "", "detail": {"until": None}}
    assert call("incidents/history.js", "eventText", muted, incident()) == ["Muted", ["until it recovers"]]
    timed = muted | {"detail": {"until": 1_700_007_320.0}}
    [heading, [line]] = call("incidents/history.js", "eventText", timed, incident())
    assert (heading, line[:8]) == ("Muted", "until 15")
    ended = {"type": "unmuted", "text": "", "detail": {}}
    assert call("incidents/history.js", "eventText", ended, incident()) == ["No longer muted", []]


def test_the_palette_finds_scattered_letters_and_prefers_beginnings_of_words(call: Call) -> None:
    items = [{"group": "Runs", "title": name} for name in ("104b-emb-norm", "7b-nightly", "big-night")]
    found = call("lib/palette.js", "rankItems", "7bni", items)
    assert [item["title"] for item in found] == ["7b-nightly"]
    assert next(item["title"] for item in call("lib/palette.js", "rankItems", "night", items)) == "big-night"
    assert call("lib/palette.js", "rankItems", "zzz", items) == []


def test_the_position_on_the_strip_names_step_attempt_and_incident(call: Call) -> None:
    ill = CLOCKED | {"incidents": [{"kind": "nonfinite", "state": "open", "start_step": 200, "attempt": 1}]}
    along = call("charts/health_strip.js", "layOutAttempts", ill)
    text = call("charts/health_strip.js", "positionText", ill, along, 0.875)
    assert text.startswith("Step 200 · attempt 1 · ")
    assert text.endswith("NaN or infinity")
    assert call("charts/health_strip.js", "positionText", ill, along, 0.5) == "Nothing was logged"


def test_matchers_of_a_silence_are_separated_by_commas_outside_of_quotes(call: Call) -> None:
    assert call("alerts/silence_form.js", "splitMatchers", 'project="a,b", kind=~"x.*"') == [
        'project="a,b"',
        'kind=~"x.*"',
    ]


@pytest.mark.parametrize(
    ("value", "unit", "text"),
    [
        (412.0, "ms", ["412.0", "ms"]),
        (136_329.4, "ms", ["136.3", "s"]),
        (17.11, "s", ["17.11", "s"]),
    ],
)
def test_long_step_times_are_shown_in_seconds(call: Call, value: float, unit: str, text: list[str]) -> None:
    assert call("lib/format.js", "stepTime", value, unit) == text


@pytest.mark.parametrize(
    ("step", "following"), [(0, 1000), (999, 1000), (1000, 2000), (45_000, 50_000), (100_000, 200_000)]
)
def test_the_next_milestone_is_a_round_number_of_steps(call: Call, step: int, following: int) -> None:
    assert call("run/summary_tiles.js", "nextRoundStep", step) == following


def test_what_would_deceive_a_reader_is_shown_as_an_escape(call: Call) -> None:
    assert call("lib/dom.js", "visible", "a\u202eb\x1b[2J\u2066c\u200e\n\td") == (
        "a\\u202eb\\u001b[2J\\u2066c\\u200e\n\td"
    )
    assert call("lib/dom.js", "visible", "größe \u4e2d \U0001f680") == "größe \u4e2d \U0001f680"


def test_changes_during_a_search_do_not_fetch_its_rows_twice(modules: Page) -> None:
    result = modules.evaluate(
        """async () => {
          const { runSource } = await import("/runs/source.js");
          const asked = [];
          let answer;
          const counts = { all: 1, found: 1, running: 1, stalled: 0, sections: {} };
          window.fetch = async (url) => {
            asked.push(new URL(url, location.href).searchParams.get("since"));
            const first = new Promise((resolve) => (answer = resolve));
            if (asked.length === 1) await first;
            const body = { runs: [], order: [], counts, next: null, version: "a-1", notices: [] };
            return new Response(JSON.stringify(body), { headers: { "content-type": "application/json" } });
          };
          const source = runSource(new AbortController().signal, () => {}, () => {});
          const search = source.search({ filter: "", sort: "attention", columns: [] });
          const refresh = source.refresh(0, 10);
          await new Promise((resolve) => setTimeout(resolve, 20));
          const meanwhile = asked.length;
          answer();
          await Promise.all([search, refresh]);
          return [meanwhile, asked];
        }"""
    )
    assert result == [1, ["0", "a-1"]]


def test_differences_are_drawn_over_the_points_of_the_baseline(call: Call) -> None:
    runs = [
        {"id": name, "attempts": [{"first_x": 0, "last_x": last}]} for name, last in (("a", 200), ("b", 400))
    ]
    assert call("compare/curves.js", "fullRange", runs, "a", "tokens", "curves") == [-4, 404]
    for view in ("difference", "ratio"):
        assert call("compare/curves.js", "fullRange", runs, "a", "tokens", view) == [-2, 202]
