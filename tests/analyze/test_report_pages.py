"""Text and HTML reports, with one finding, many findings, and hundreds of attempts."""

from __future__ import annotations

import io
import re
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from rich.console import Console

from holter.cli.report import Report, html, text
from holter.cli.report.words import possible_cause
from holter.detectors import find
from holter.detectors.findings.evidence import evidence_rows
from holter.types import Finding, Kind, RunData, Severity
from tests.support.curves import loss_curve, run, series
from tests.support.receivers import RATE_JUMP


def report(data: RunData, *, findings: list[Finding] | None = None) -> Report:
    points = sum(map(len, data.series.values()))
    found = find(data) if findings is None else findings
    return Report(path="runs/a", run="a", attempts=1, points=points, data=data, findings=found)


def spiky(times: int) -> RunData:
    random = np.random.default_rng(0)
    loss = loss_curve(random, 600 * (times + 2))
    for i in range(times):  # at no regular interval, which would be a property of the run
        start = 900 + 600 * i + (int(random.integers(200)) if i else 0)
        loss[start : start + 10 + 150 * (i % 2)] += 4.0
    return run(series("loss", loss))


def finding(**changes: object) -> Finding:
    fields: dict[str, object] = {
        "kind": Kind.SPIKE_SLOW, "metric": "loss", "attempt": 0, "start_step": 500, "detected_step": 503,
        "severity": Severity.WARNING, "confidence": 0.9, "summary": "Loss rose.", "advice": "Look.",
    }  # fmt: skip
    return Finding(**(fields | changes))  # type: ignore[arg-type]


def printed(run_report: Report, width: int) -> list[str]:
    out = io.StringIO()
    text.write([run_report], Console(file=out, width=width, highlight=False))
    return out.getvalue().splitlines()


def test_few_findings_are_all_unfolded() -> None:
    page = html.page([report(spiky(3))])
    assert page.count("<article") == 3
    assert "<details>" not in page


def test_of_many_findings_there_is_a_list_and_information_is_folded_up() -> None:
    page = html.page([report(spiky(30))])
    assert page.count("<article") == 30
    assert page.count("<details>") == 29, "rises like those before them are information"
    links = set(re.findall(r'href="#(finding-1-\d+)"', page))
    assert links == set(re.findall(r'id="(finding-1-\d+)"', page))
    assert "30 findings (1 warning, 29 for information)" in page


def test_the_list_of_runs_has_the_most_severe_first() -> None:
    minor = [finding(kind=Kind.SPIKE_FAST, severity=Severity.INFO, start_step=at) for at in range(9)]
    grave = finding(kind=Kind.NONFINITE, severity=Severity.CRITICAL, start_step=900)
    data = spiky(1)
    page = html.page([report(data, findings=[*minor, grave]), report(data, findings=[])])
    listed = page[page.index('<table class="all">') : page.index("</table>")]
    assert listed.index("NaN or infinity") < listed.index("fast loss spike")
    assert "and 4 more" in listed


def test_resumes_are_ticks_of_which_as_many_have_numbers_as_can_be_read() -> None:
    loss = loss_curve(np.random.default_rng(0), 20_000)
    attempts = np.repeat(np.arange(200), 100)
    page = html.page([report(run(series("loss", loss, attempt=attempts)), findings=[])])
    assert page.count('class="tick"') == 199
    numbers = re.search(r'<div class="resumes">(.*?)</div>', page)
    assert numbers is not None
    assert 8 <= numbers[1].count("<span") <= 12
    assert 'class="dots"' not in page


def test_related_changes_are_a_sentence_and_empty_evidence_is_left_out() -> None:
    jump = {"what": "grad_norm", "metric": "gn", "before": 0.8486, "value": 1.2788, "step": 1312}
    spike = finding(evidence={"precursors": [jump], "skip_until": None, "ranks": [1, 2], "none": []})
    page = html.page([report(spiky(1), findings=[spike])])
    assert "grad norm from 0.849 to 1.28 at step 1,312" in page
    assert "skip until" not in page
    assert "<dt>none</dt>" not in page
    assert "<dd>1, 2</dd>" in page


def test_a_cause_comes_first_in_the_title_and_causes_are_listed_with_their_evidence() -> None:
    spike = finding(kind=Kind.SPIKE_SLOW, causes=(RATE_JUMP,))
    page = html.page([report(spiky(1), findings=[spike])])
    assert "learning rate rise, then slow loss spike" in page
    assert "For it: 4 steps before the onset; 21.3 times as high as before." in page
    assert "Against it: Batch size changed too, at step 1,400." in page
    assert possible_cause(spike) == ""
    unclear = replace(spike, causes=(replace(RATE_JUMP, is_clear=False, score=0.6),))
    assert possible_cause(unclear).startswith("Possible cause (60%): Learning rate rose from")


def test_evidence_has_labels_and_units() -> None:
    leak = {"baseline": 30.0, "unit": "GB", "growth_per_1000_steps": 0.4717, "series": 1}
    late = {"slower_by": 0.25, "silent_seconds": 480.0, "shares": {"web": 0.2, "books": 0.8}}
    assert evidence_rows(leak, kind="memory_leak", metric="memory(GiB)") == [
        ("Baseline", "30 GB"),
        ("Growth per 1,000 steps", "0.472 GB"),
    ]
    assert evidence_rows(late, kind="straggler", metric="step_time") == [
        ("Slower than its peers by", "25%"),
        ("Silent for", "8 min"),
        ("Shares after", "books 80%, web 20%"),
    ]


def test_references_between_findings_are_shown_as_text_also_those_that_older_versions_stored() -> None:
    drop = {"kind": "sudden_drop", "metric": "train/loss", "labels": {}, "attempt": 0, "start_step": 1992}
    also = [drop, "stall of loss at step 7", "something else"]
    assert evidence_rows({"also": also, "also_so": None}, kind="mixture_shift", metric="loss") == [
        (
            "Also detected",
            "Sudden loss drop at step 1,992 (train/loss); stall of loss at step 7; something else",
        )
    ]
    slow = {"kind": "straggler", "metric": "step_time", "labels": {"rank": 3}, "attempt": 0, "start_step": 5}
    for cause, shown in (
        (slow, "Straggler at step 5 (step_time{rank=3})"),
        ("rank 3", "rank 3"),
        ("gpu_fault", "GPU fault"),
    ):
        rows = evidence_rows({"because_of": cause}, kind="throughput_regression", metric="tps")
        assert rows == [("Caused by", shown)]


def test_a_finding_is_a_band_on_its_own_curve_and_a_bar_on_others() -> None:
    data = spiky(1)
    both = run(*data.series.values(), series("grad_norm", np.ones(1800)))
    page = html.page([report(both)])
    assert page.count('class="band"') == 2  # over the full run, and in the excerpt
    assert page.count('class="bar"') == 1


@pytest.mark.parametrize("width", [40, 80, 200])
def test_a_terminal_shows_kind_position_and_picture_in_a_line(width: int) -> None:
    lines = printed(report(spiky(2)), width)
    assert max(map(len, lines)) <= width
    (first,) = (line for line in lines if "fast loss spike" in line)
    assert "steps 900 to 910" in first
    assert any(block in "".join(lines) for block in "▂▃▄▅▆▇█")
    if width >= 80:
        assert "█" in first


def test_a_line_without_room_has_its_picture_below() -> None:
    long = finding(kind=Kind.SPIKE_UNRECOVERED, start_step=1_000_000_000, end_step=2_000_000_000, attempt=3)
    steps = np.arange(1_000_000_000, 1_000_003_000)
    lines = printed(report(run(series("loss", np.ones(3000), step=steps)), findings=[long]), 80)
    at = next(i for i, line in enumerate(lines) if "unrecovered" in line)
    assert "▁" not in lines[at]
    assert "▁" in lines[at + 1]


def test_a_run_without_findings_is_one_line() -> None:
    assert [line for line in printed(report(spiky(0)), 80) if line] == [
        "a  1 attempt, 1,200 points: no findings"
    ]


@pytest.mark.parametrize(
    ("kind", "metric", "evidence", "shown"),
    [
        ("throughput_regression", "tokens_per_s", {"worst": 22100.0, "noise": 3e-3}, "22.1k tokens/s, 0.3%"),
        ("throughput_regression", "iteration_time_ms", {"worst": 812.0}, "812 ms"),
        ("comm_slowdown", "all_reduce_time", {"lost_per_step": 0.25}, "0.25 s"),
        ("straggler", "step_time", {"own_wait": 1.5}, "1.5 s"),
        ("memory_leak", "rss_gb", {"now": 41.0, "unit": "GB", "growth_per_hour": 2}, "41 GB, 2 GB"),
        ("spike_slow", "loss", {"recovery_steps": 376, "duration_steps": 1}, "376 steps, 1 step"),
        ("nonfinite", "loss", {"halvings": 1, "points": 118}, "1 time, 118"),
    ],
)  # fmt: skip
def test_evidence_is_shown_with_units(kind: str, metric: str, evidence: dict[str, Any], shown: str) -> None:
    assert ", ".join(text for _, text in evidence_rows(evidence, kind=kind, metric=metric)) == shown
