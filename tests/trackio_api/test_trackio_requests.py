"""The calls of trackio's interface, one by one: what is repeated, delayed, mistaken, and anything at all."""

from __future__ import annotations

from datetime import UTC, datetime
from math import inf, isnan
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from holter.server.trackio_api.routes import handlers
from holter.types import SeriesKey
from tests.support.trackio_project import TrackioProject

LOSS = SeriesKey("loss")
RUN = {"run": "first", "run_id": "a" * 32}
BEGIN = 1_795_000_000.0
NAMES = sorted({
    "project", "run", "run_id", "metrics", "step", "config", "log_id", "timestamp", "title", "_type", "",
})  # fmt: skip
TEXTS = ["NaN", "-Infinity", "2026-11-23T14:00:00+00:00", "demo", "first"]
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(max_size=20) | st.sampled_from(TEXTS),
    lambda inner: st.lists(inner, max_size=3)
    | st.dictionaries(st.sampled_from(NAMES), inner, max_size=6),
    max_leaves=10,
)  # fmt: skip
PARAMETERS = sorted(
    {"logs", "alerts", "uploads", "project", "run", "run_id", "digests", "manifest", "aliases"}
)


def iso(seconds: float) -> str:
    """A time as clients write it, in seconds after BEGIN."""
    return datetime.fromtimestamp(BEGIN + seconds, UTC).isoformat()


def entry(step: int, value: Any = 1.0, **more: Any) -> dict[str, Any]:
    """One row of a run that has not been delayed."""
    return {**RUN, "metrics": {"loss": value}, "step": step, "config": None, "log_id": f"row-{step}", **more}


def delayed(step: int, value: Any = 1.0, *, written: float = 0.0, **more: Any) -> dict[str, Any]:
    """The same row as it comes from the client's own database."""
    return entry(step, value, timestamp=iso(written), **more)


def launch(created: float, **config: Any) -> dict[str, Any]:
    """The configuration of a launch that began at a time."""
    return {"config": {"_Created": iso(created), "_Username": "somebody", "_Group": None, **config}}


def test_clients_recognise_the_interface(trackio: TrackioProject) -> None:
    answer = trackio.client.get("/version")
    assert (answer.status_code, answer.json()["api_version"]) == (200, 1)


def test_a_call_that_is_repeated_stores_nothing_twice(trackio: TrackioProject) -> None:
    for _ in range(3):
        trackio.log(*(entry(step, float(step)) for step in range(5)))
    assert trackio.points() == [(0, step, float(step)) for step in range(5)]


def test_rows_that_arrived_at_first_are_not_stored_again_when_they_come_from_the_clients_database(
    trackio: TrackioProject,
) -> None:
    trackio.log(*(entry(step, float(step)) for step in range(4)))
    trackio.log(*(delayed(step, float(step), written=step) for step in range(2, 8)))
    trackio.log(*(delayed(step, float(step), written=step) for step in range(0, 9)))
    assert trackio.points() == [(0, step, float(step)) for step in range(9)]
    assert trackio.series()[LOSS].time[4:].tolist() == [BEGIN + step for step in range(4, 9)]


def test_another_value_at_the_same_step_is_another_point(trackio: TrackioProject) -> None:
    trackio.log(entry(3, 1.0))
    trackio.log(delayed(3, 2.0, log_id="other"))
    assert sorted(trackio.points()) == [(0, 3, 1.0), (0, 3, 2.0)]


def test_of_a_delayed_row_only_what_is_not_stored_is_added(trackio: TrackioProject) -> None:
    trackio.log(entry(3, 1.0))
    trackio.log(delayed(3, log_id="other") | {"metrics": {"loss": 1.0, "accuracy": 0.5}})
    assert (len(trackio.points()), len(trackio.points("accuracy"))) == (1, 1)


def test_delayed_rows_of_a_long_outage_are_stored_in_several_batches(trackio: TrackioProject) -> None:
    rows = [delayed(step, float(step), written=step) for step in range(12_000)]
    trackio.log(*rows[:5])
    for _ in range(2):
        trackio.log(*rows)
    assert len(trackio.points()) == 12_000


def test_every_launch_is_an_attempt_with_its_configuration(trackio: TrackioProject) -> None:
    trackio.log(entry(0, **launch(0, lr=0.1)), entry(1))
    trackio.log(entry(2))
    trackio.log(entry(2, 5.0, log_id="again", **launch(100, lr=0.2)), entry(3, log_id="later"))
    assert trackio.points() == [(0, 0, 1.0), (0, 1, 1.0), (0, 2, 1.0), (1, 2, 5.0), (1, 3, 1.0)]
    assert trackio.detail()["config"] == {"lr": 0.2}


def test_a_configuration_without_a_time_begins_one_launch(trackio: TrackioProject) -> None:
    for step in range(3):
        trackio.log(entry(step, config={"lr": 0.1}))
    assert [attempt for attempt, _, _ in trackio.points()] == [0, 0, 0]


def test_delayed_rows_belong_to_the_launch_that_wrote_them(trackio: TrackioProject) -> None:
    trackio.log(entry(0, **launch(0)))
    trackio.log(entry(5, **launch(100)))
    trackio.log(delayed(1, written=50), delayed(6, written=150))
    attempts_and_steps = [(attempt, step) for attempt, step, _ in trackio.points()]
    assert attempts_and_steps == [(0, 0), (0, 1), (1, 5), (1, 6)]


def test_measurements_before_the_first_row_begin_no_attempt_of_their_own(trackio: TrackioProject) -> None:
    machine = {**RUN, "metrics": {"cpu/utilization": 7}, "timestamp": iso(1), "log_id": "m"}
    for _ in range(2):
        trackio.answer("bulk_log_system", logs=[machine])
    trackio.log(entry(0, **launch(0)))
    cpu = trackio.series()[SeriesKey("system.cpu/utilization", (("steps", "milliseconds"),))]
    assert (cpu.time.tolist(), cpu.value.tolist()) == ([BEGIN + 1], [7.0])
    assert trackio.points() == [(0, 0, 1.0)]


def test_numbers_that_json_does_not_have(trackio: TrackioProject) -> None:
    trackio.log(entry(0, "NaN"), entry(1, "Infinity"), entry(2, "-Infinity"), entry(3, "text"))
    values = [value for _, _, value in trackio.points()]
    assert isnan(values[0])
    assert values[1:] == [inf, -inf]


def test_nan_is_recognised_when_it_comes_again(trackio: TrackioProject) -> None:
    trackio.log(entry(0, "NaN"))
    trackio.log(delayed(0, "NaN", log_id=None))
    assert len(trackio.points()) == 1


def test_runs_of_one_name_differ_by_their_ids(trackio: TrackioProject) -> None:
    for number in range(3):
        for _ in range(2):
            trackio.log(entry(number, run_id=f"id-{number}"))
    found = trackio.answer("get_runs_for_project")
    assert [(run["id"], run["name"]) for run in found] == [(f"id-{number}", "first") for number in (2, 1, 0)]
    assert [len(trackio.points(run=name)) for name in ("first", "first-2", "first-3")] == [1, 1, 1]


def test_a_resumed_run_counts_on(trackio: TrackioProject) -> None:
    assert trackio.answer("get_run_summary", run_id=RUN["run_id"])["last_step"] is None
    trackio.log(*(entry(step) for step in (7, 8, 9)))
    summary = trackio.answer("get_run_summary", run_id=RUN["run_id"])
    assert (summary["last_step"], summary["metrics"]) == (9, ["loss"])


def test_a_resumed_run_counts_on_where_a_metric_is_the_training_step(trackio: TrackioProject) -> None:
    rows = [entry(step) | {"metrics": {"loss": 1.0, "train/global_step": 100 * step}} for step in range(3)]
    trackio.log(*rows)
    assert [step for _, step, _ in trackio.points()] == [0, 100, 200]
    assert trackio.answer("get_run_summary", run_id=RUN["run_id"])["last_step"] == 2


def test_an_alert_is_one_incident_however_often_it_is_sent(trackio: TrackioProject) -> None:
    trackio.log(entry(4, **launch(0)))
    alert = {**RUN, "title": "Odd", "text": "a text", "level": "warn", "step": 4, "timestamp": iso(1)}
    for _ in range(2):
        trackio.answer("bulk_alert", alerts=[alert, alert | {"title": "Bad", "level": "error"}])
    found = sorted((each["kind"], each["severity"], each["start_step"]) for each in trackio.incidents())
    assert found == [("user_alert", "critical", 4), ("user_alert", "warning", 4)]


def test_an_alert_before_the_first_row(trackio: TrackioProject) -> None:
    trackio.answer("bulk_alert", alerts=[{**RUN, "title": "Odd", "text": None, "level": "info"}])
    trackio.log(entry(0, **launch(0)))
    assert [each["summary"] for each in trackio.incidents()] == ["Odd"]
    assert trackio.points() == [(0, 0, 1.0)]


def test_files_are_accepted_discarded_and_mentioned_once(trackio: TrackioProject) -> None:
    image = {"_type": "trackio.image", "file_path": "demo/first/0/a.png"}
    trackio.log(entry(0) | {"metrics": {"loss": 1.0, "image": image, "list": [1, 2]}})
    uploaded = trackio.client.post("/api/upload", files={"files": ("a.png", b"picture")}).json()
    trackio.answer("bulk_upload_media", uploads=[{**RUN, "uploaded_file": uploaded}])
    assert trackio.answer("check_artifact_blobs", digests=["d"]) == {"present": ["d"]}
    manifest = [{"path": "model.bin", "digest": "d", "size": 7, "ref": "s3://bucket/model.bin"}]
    logged = trackio.answer(
        "artifact_log", run_name="first", run_id=RUN["run_id"], manifest=manifest, aliases=["best"]
    )
    assert (logged["manifest"], logged["size_bytes"], logged["aliases"]) == (manifest, 7, ["best"])
    assert ["discarded" in note["reason"] for note in trackio.detail()["unreadable"]] == [True]
    assert list(trackio.series()) == [LOSS]


def test_what_cannot_be_a_row_is_mentioned_and_does_not_delay_others(trackio: TrackioProject) -> None:
    trackio.log(entry(1) | {"step": "seven"}, entry(1) | {"metrics": {"x" * 501: 1.0}}, entry(2), "no entry")
    assert trackio.points() == [(0, 2, 1.0)]
    reasons = [note["reason"] for note in trackio.detail()["unreadable"]]
    assert any("expected a whole number as step, found 'seven'" in reason for reason in reasons)
    assert any("expected names of 1 to 500 characters" in reason for reason in reasons)


def test_people_and_secrets_are_not_stored(trackio: TrackioProject) -> None:
    trackio.log(entry(0, **launch(0, api_key="sk-abcdefghijklmnop", lr=0.1)))
    assert trackio.detail()["config"] == {"lr": 0.1}


def test_unknown_calls_say_so(trackio: TrackioProject) -> None:
    answer = trackio.call("delete_project")
    assert (answer.status_code, answer.json()) == (404, {"error": "Holter does not have 'delete_project'"})


@pytest.mark.parametrize("body", [b"", b"[1]", b"{", b'{"kwargs": 3}', b"[" * 100_000])
def test_bodies_that_are_no_call_are_refused(trackio: TrackioProject, body: bytes) -> None:
    answer = trackio.client.post("/api/bulk_log", content=body)
    assert answer.status_code == 400
    assert "error" in answer.json()


@settings(
    max_examples=60,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(
    name=st.sampled_from(sorted(handlers())),
    parameters=st.dictionaries(st.sampled_from(PARAMETERS), VALUES, max_size=5),
)
def test_any_call_is_answered(trackio: TrackioProject, name: str, parameters: dict[str, Any]) -> None:
    assert trackio.call(name, **parameters).status_code in (200, 400)
