"""A run of which no data or too few are known, or no metric is recognised, is not called healthy."""

from __future__ import annotations

import time

import httpx
import pytest

from holter.server.read_models.judgement import why_unjudged
from holter.server.read_models.run_summary import damaged_facts
from holter.server.store import SeriesOverview
from holter.types import SeriesKey
from tests.support.servers import Post


def judged(**points: int) -> str | None:
    return why_unjudged(
        [SeriesOverview(SeriesKey(name), count, count - 1, 1.0) for name, count in points.items()]
    )


@pytest.mark.parametrize(
    ("points", "reason"),
    [
        ({}, "No data received"),
        ({"fitness": 5000, "population": 5000}, "Not judged: no metric recognised"),
        ({"lr": 5000, "epoch": 5000}, "Not judged: no metric recognised"),
        ({"loss": 3, "lr": 5000}, "Not judged: too few points"),
        ({"loss": 10}, None),
        ({"reward": 10}, None),
        ({"eval_runtime": 10}, None),
        ({"completions/clipped_ratio": 10}, None),
        ({"gpu_memory_gb": 10}, None),
        ({"g_loss": 10, "d_loss": 10}, None),
    ],
)
def test_why_the_health_of_a_run_is_not_known(points: dict[str, int], reason: str | None) -> None:
    assert judged(**points) == reason


def test_damaged_points_are_not_judged() -> None:
    assert damaged_facts((0, 1), "database disk image is malformed").unjudged == "Points cannot be read"


GREEN = "3d9c68"
"""The colour of the mark of a report about healthy runs."""


def columns(steps: range, *names: str) -> dict[str, list[float]]:
    """Points of so many steps whose values are 1, a second apart, the last one now."""
    times = [time.time() - steps.stop + step for step in steps]
    return {"step": list(steps), "time": times, **{name: [1.0] * len(steps) for name in names}}


def test_the_reason_is_in_the_overview_the_run_and_its_report(client: httpx.Client, post: Post) -> None:
    run_id = post(columns(range(3), "loss"))["run_id"]
    (run,) = client.get("/api/v1/runs").json()["runs"]
    assert (run["health"], run["unjudged"]) == ("ok", "Not judged: too few points")
    assert client.get(f"/api/v1/runs/{run_id}").json()["unjudged"] == "Not judged: too few points"
    report = client.get(f"/api/v1/runs/{run_id}/report").text
    assert '<span class="quiet"><span class="word">Not judged: too few points</span>' in report
    assert '<p class="quiet"><span class="word">No incidents.</span></p>' in report
    assert "<dt>Loss</dt>" in report
    week = "/api/v1/projects/llm/report"
    assert not any(GREEN in page for page in (report, client.get(week).text))
    post(columns(range(3, 20), "loss"))
    (run,) = client.get("/api/v1/runs").json()["runs"]
    assert run["unjudged"] is None
    report = client.get(f"/api/v1/runs/{run_id}/report").text
    assert "No open incidents" in report
    assert all(page.count(GREEN) == 2 for page in (report, client.get(week).text))  # the mark and the icon


def test_a_report_names_a_loss_that_is_not_plainly_the_loss(client: httpx.Client, post: Post) -> None:
    run_id = post(columns(range(20), "loss_cls"))["run_id"]
    assert "<dt>Loss: loss_cls</dt>" in client.get(f"/api/v1/runs/{run_id}/report").text


def test_a_policy_has_its_reward_where_others_have_the_loss(client: httpx.Client, post: Post) -> None:
    points = columns(range(200), "loss", "eval/reward", "rollout/ep_rew_mean")
    run_id = post(points | {"rollout/ep_rew_mean": [float(step) for step in range(200)]})["run_id"]
    (run,) = client.get("/api/v1/runs").json()["runs"]
    assert run["latest"]["reward"] == {"metric": "rollout/ep_rew_mean", "value": 199, "step": 199}
    assert run["trend"][-1] > 190
    detail = client.get(f"/api/v1/runs/{run_id}").json()
    assert detail["reward_trend"]["slope"] == pytest.approx(1000)
    assert [chart["role"] for chart in detail["charts"]] == ["reward", "reward", "loss"]
    report = client.get(f"/api/v1/runs/{run_id}/report").text
    assert "<dt>Reward: rollout/ep_rew_mean</dt><dd>199" in report
    assert "<dt>Loss" not in report
    week = client.get("/api/v1/projects/llm/report").text
    assert '199 <span class="quiet">reward</span>' in week


def test_a_broken_loss_of_a_policy_is_next_to_its_reward(client: httpx.Client, post: Post) -> None:
    run_id = post(columns(range(20), "reward") | {"loss": [*[1.0] * 10, *["NaN"] * 10]})["run_id"]
    report = client.get(f"/api/v1/runs/{run_id}/report").text
    assert "<dt>Reward</dt>" in report
    assert "<dt>Loss</dt><dd>NaN</dd><dd>since step 10</dd>" in report


def test_the_total_of_a_generator_and_its_adversary_is_not_the_loss_of_the_run(
    client: httpx.Client, post: Post
) -> None:
    run_id = post(columns(range(20), "loss", "loss_G", "loss_D"))["run_id"]
    (run,) = client.get("/api/v1/runs").json()["runs"]
    assert run["latest"]["loss"] is None
    detail = client.get(f"/api/v1/runs/{run_id}").json()
    assert detail["loss_trend"] is None
    assert {chart["role"] for chart in detail["charts"]} == {"loss_term"}
