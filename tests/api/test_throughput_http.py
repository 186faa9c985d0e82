"""Throughput over HTTP: reported figures by formula, Holter's own, and the uses of time."""

from __future__ import annotations

from typing import Any

import httpx
import pytest

from tests.support.servers import Post

STEPS = list(range(200))
CONFIG = {
    "model": {"dim": 4096, "n_layers": 32, "n_heads": 32, "n_kv_heads": 8, "vocab_size": 128256},
    "multiple_of": 1024, "ffn_dim_multiplier": 1.3, "training": {"seq_len": 8192}, "dtype": "bfloat16",
    "world_size": 8, "gpu": {"name": "NVIDIA H100 80GB HBM3"}, "activation_checkpoint": {"mode": "full"},
}  # fmt: skip


def logged(tps: float, peak: float = 989.0) -> dict[str, list[float]]:
    """What torchtitan logs of a Llama 3 8B at so many tokens a second and device, against a peak."""
    tflops = tps * 57914449920 / 1e12
    return {
        "step": [*STEPS],
        "time": [1.7e9 + 10 * step for step in STEPS],
        "loss": [3.0] * len(STEPS),
        "throughput(tps)": [tps] * len(STEPS),
        "tflops": [tflops] * len(STEPS),
        "mfu(%)": [100 * tflops / peak] * len(STEPS),
    }


def asked(client: httpx.Client, run: str) -> dict[str, Any]:
    answer = client.get(f"/api/v1/runs/{run}/throughput")
    assert answer.status_code == 200, answer.text
    body: dict[str, Any] = answer.json()
    return body


def test_reported_and_own_figures_are_separate(client: httpx.Client, post: Post) -> None:
    run = post(logged(6000.0), config=CONFIG)["run_id"]
    body = asked(client, run)
    assert [one["metric"] for one in body["reported"]] == ["mfu(%)", "tflops"]
    assert body["reported"][0]["usual"] == pytest.approx(6000 * 57914449920 / 989e12)
    assert body["reported"][0]["framework"] == "torchtitan"
    own = body["own"]
    assert own["mfu"]["newest"] == pytest.approx(6000 * 51470401536 / 989e12)
    assert own["hfu"]["newest"] > own["mfu"]["newest"]
    assert own["measured_from"] == "throughput(tps)"
    assert own["missing"] == []
    assert client.get(f"/api/v1/runs/{run}/remarks").json()["remarks"] == []


def test_new_points_and_a_new_launch_count_at_once(client: httpx.Client, post: Post) -> None:
    run = post(logged(6000.0), config=CONFIG, attempt=0)["run_id"]
    before = asked(client, run)["own"]
    later = {**logged(3000.0), "step": [step + 200 for step in STEPS], "time": [1.8e9 + s for s in STEPS]}
    post(later, attempt=1, config={**CONFIG, "gpu": {"name": "NVIDIA A100-SXM4-80GB"}})
    after = asked(client, run)["own"]
    assert after["mfu"]["newest"] == pytest.approx(before["mfu"]["newest"] / 2 * 989 / 312)
    assert after["tflops"]["best"] == pytest.approx(before["tflops"]["best"])


def test_a_wrong_peak_has_a_diagnostic(client: httpx.Client, post: Post) -> None:
    run = post(logged(6000.0, peak=1979.0), config=CONFIG)["run_id"]
    (remark,) = client.get(f"/api/v1/runs/{run}/remarks").json()["remarks"]
    assert remark["code"] == "mfu-wrong-peak"


def test_missing_information_is_listed(client: httpx.Client, post: Post) -> None:
    run = post({"step": [1, 2], "loss": [3.0, 2.9]})["run_id"]
    body = asked(client, run)
    assert body["reported"] == []
    assert body["own"]["mfu"] == {"newest": None, "usual": None, "best": None}
    assert body["own"]["missing"]


def test_the_uses_of_time_add_up(client: httpx.Client, post: Post) -> None:
    run = post(logged(6000.0), attempt=0)["run_id"]
    again = {**logged(6000.0), "step": [step + 150 for step in STEPS]}
    again["time"] = [1.7e9 + 1990 + 600 + 10 * step for step in STEPS]
    post(again, attempt=1)
    body = client.get(f"/api/v1/runs/{run}").json()
    seconds = {what: part["seconds"] for what, part in body["spent"].items()}
    assert seconds == {
        "forward": 3480,
        "slow": 0,
        "superseded": 500,
        "restarts": 600,
        "stalled": 0,
        "nonfinite": 0,
    }
    assert body["goodput"] == pytest.approx(3480 / 4580)
    assert body["lost_seconds"] == 500


def test_the_own_curve_retains_extremes_and_separates_ghosts(client: httpx.Client, post: Post) -> None:
    columns = logged(6000.0)
    columns["throughput(tps)"][77] = 60.0
    run = post(columns, config=CONFIG, attempt=0)["run_id"]
    again = {**logged(6000.0), "step": [step + 150 for step in STEPS]}
    post(again, config=CONFIG, attempt=1)
    body = client.get(f"/api/v1/runs/{run}/throughput/curve", params={"points": 40}).json()
    assert [(one["attempt"], one["ghost"]) for one in body["stretches"]] == [
        (0, False),
        (0, True),
        (1, False),
    ]
    first = body["stretches"][0]
    assert len(first["step"]) < 40
    assert min(first["value"]) == pytest.approx(60 * 51470401536 / 989e12)
    assert first["step"][first["value"].index(min(first["value"]))] == 77
    bare = post({"step": [1, 2], "loss": [3.0, 2.9]}, run="bare")["run_id"]
    empty = client.get(f"/api/v1/runs/{bare}/throughput/curve", params={"quantity": "hfu"}).json()
    assert empty == {"quantity": "hfu", "stretches": []}
    assert client.get(f"/api/v1/runs/{run}/throughput/curve", params={"quantity": "x"}).status_code == 422


def test_an_unknown_run_is_not_found(client: httpx.Client) -> None:
    assert client.get("/api/v1/runs/nothing/throughput").status_code == 404
