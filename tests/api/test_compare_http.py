"""Comparisons and reference runs over HTTP, and `holter diff` on a server and on files."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import httpx
import numpy as np
import pytest

from holter.cli.main import main
from holter.detectors.compare.significance import Curve, compare_curves
from holter.server.context import ServerContext
from tests.support.servers import Post

COUNT = 1200
TREND = 2 + 6 * (np.arange(COUNT) + 20.0) ** -0.35


def curve(seed: int, factor: float = 1.0) -> list[float]:
    """The losses of one run."""
    values: list[float] = (factor * TREND + np.random.default_rng(seed).normal(0, 0.03, COUNT)).tolist()
    return values


@pytest.fixture
def two_runs(post: Post) -> tuple[str, str]:
    """A run and a worse one, which name things differently."""
    steps = list(range(COUNT))
    shared = {"seq_length": 128, "global_batch_size": 8}
    first = post(
        {"step": steps, "time": [1.7e9 + step for step in steps], "loss": curve(1)},
        run="a",
        config={"lr": 1e-3, "output_dir": "/a", **shared},
    )
    second = post(
        {"step": steps, "time": [1.8e9 + 2 * step for step in steps], "train/loss": curve(2, 1.1)},
        run="b",
        config={"optimizer.learning_rate": 2e-3, "output_dir": "/b", **shared},
    )
    return first["run_id"], second["run_id"]


def compare(client: httpx.Client, what: str, runs: tuple[str, ...], **query: Any) -> dict[str, Any]:
    """The answer to a comparison that must succeed."""
    answer = client.get(f"/api/v1/compare/{what}", params={"runs": ",".join(runs), **query})
    assert answer.status_code == 200, answer.text
    content: dict[str, Any] = answer.json()
    return content


def test_curves_are_aligned_and_have_differences_from_the_baseline(
    client: httpx.Client, two_runs: tuple[str, str]
) -> None:
    answer = compare(client, "curves", two_runs, x="tokens", points=100)
    assert [run["axis"]["source"] for run in answer["runs"]] == ["derived", "derived"]
    (chart,) = answer["charts"]
    assert [each["metric"] for each in chart["curves"]] == ["loss", "train/loss"]
    assert chart["curves"][0]["segments"][0]["x"][-1] == (COUNT - 1) * 8 * 128
    (difference,) = chart["differences"]
    assert difference["run"] == two_runs[1]
    assert np.median([value for value in difference["ratio"] if value]) == pytest.approx(1.1, abs=0.02)


def test_a_range_of_relative_time_shows_these_points_only(
    client: httpx.Client, two_runs: tuple[str, str]
) -> None:
    answer = compare(client, "curves", two_runs, x="relative", **{"from": 100, "to": 120})
    first, second = (each["segments"][0]["x"] for each in answer["charts"][0]["curves"])
    assert (first[0], first[-1], len(first)) == (100, 120, 21)
    assert (second[0], second[-1], len(second)) == (100, 120, 11)


def test_runs_are_grouped_by_a_setting_under_any_of_its_names(
    client: httpx.Client, two_runs: tuple[str, str]
) -> None:
    answer = compare(client, "curves", two_runs, group_by="learning_rate")
    assert [run["group"] for run in answer["runs"]] == ["0.001", "0.002"]
    groups = answer["charts"][0]["groups"]
    assert [(group["group"], group["runs"]) for group in groups] == [
        ("0.001", [two_runs[0]]),
        ("0.002", [two_runs[1]]),
    ]


def test_differences_name_settings_once_and_hide_what_is_equal(
    client: httpx.Client, two_runs: tuple[str, str]
) -> None:
    answer = compare(client, "differences", two_runs)
    listed = {each["name"]: each["category"] for each in answer["settings"]}
    assert listed == {"learning_rate": "configuration", "output_dir": "identity"}
    assert answer["equal_settings"] == 2
    (summary,) = answer["summaries"]
    assert summary["configuration"] == "learning_rate 0.002 instead of 0.001."
    assert "higher" in summary["loss"]
    assert summary["loss"] in answer["text"]


def test_tokens_are_advised_where_a_step_has_different_numbers_of_them(
    client: httpx.Client, two_runs: tuple[str, str], post: Post
) -> None:
    assert compare(client, "differences", two_runs)["common_x"] == "step"
    config = {"seq_length": 128, "global_batch_size": 16}
    larger = post({"step": list(range(COUNT)), "loss": curve(3)}, run="c", config=config)["run_id"]
    assert compare(client, "differences", (two_runs[0], larger))["common_x"] == "tokens"


def test_statistics_say_by_how_much_and_how_sure(client: httpx.Client, two_runs: tuple[str, str]) -> None:
    (comparison,) = compare(client, "statistics", two_runs)["comparisons"]
    assert comparison["verdict"] == "higher"
    assert comparison["relative_low"] < 0.1 < comparison["relative_high"]
    assert len(comparison["band"]["x"]) == len(comparison["band"]["low"])
    (swapped,) = compare(client, "statistics", two_runs, baseline=two_runs[1])["comparisons"]
    assert swapped["run"] == two_runs[0]
    assert swapped["verdict"] == "lower"


def test_statistics_of_many_runs_equal_a_direct_computation(
    client: httpx.Client, post: Post, context: ServerContext
) -> None:
    random = np.random.default_rng(7)
    curves, ids = [], []
    # more runs than threads read them, of all lengths: memory is used again
    for number, count in enumerate((1200, 700, 1190, 40, 1200, 900, 333, 1200, 500)):
        value = TREND[:count] * (1 + 0.02 * number) + random.normal(0, 0.03, count)
        value[count // 3] = np.nan if number % 2 else value[count // 3]
        receipt = post(
            {
                "step": list(range(count)),
                "loss": ["NaN" if np.isnan(each) else each for each in value.tolist()],
            },
            run=f"run-{number}",
        )
        ids.append(receipt["run_id"])
        finite = np.isfinite(value)
        curves.append(Curve(np.arange(count, dtype=np.float64)[finite], value[finite]))
    context.store.compact()
    answer = compare(client, "statistics", tuple(ids))
    names = ("points", "from_x", "to_x", "level", "difference", "low", "high")
    for curve, comparison in zip(curves[1:], answer["comparisons"], strict=True):
        direct = compare_curves(curve, curves[0])
        assert direct is not None
        assert [comparison[name] for name in names] == [getattr(direct, name) for name in names]


def test_what_cannot_be_compared_is_refused_with_the_field(client: httpx.Client) -> None:
    refused: list[tuple[dict[str, str], str]] = [
        ({"runs": ""}, "runs"),
        ({"runs": "a", "baseline": "b"}, "baseline"),
        ({"runs": "a", "x": "miles"}, "x"),
    ]
    for query, field in refused:
        answer = client.get("/api/v1/compare/statistics", params=query)
        assert answer.status_code == 422
        assert answer.json()["detail"][0]["loc"] == ["query", field]
    assert client.get("/api/v1/compare/curves?runs=nobody").status_code == 404


def test_a_run_is_compared_with_the_pinned_reference(
    client: httpx.Client, context: ServerContext, two_runs: tuple[str, str]
) -> None:
    first, second = two_runs
    pinned = client.post(f"/api/v1/runs/{first}/reference").json()
    assert [each["run"] for each in pinned["references"]] == [first]
    context.analysis.analyze(context.runs.run_id(second))
    run = client.get(f"/api/v1/runs/{second}").json()
    assert run["reference"]["course"] == "worse"
    assert run["reference"]["names"] == ["llm/a"]
    assert not run["is_reference"]
    incidents = client.get(f"/api/v1/runs/{second}/incidents").json()["incidents"]
    assert [(each["kind"], each["severity"]) for each in incidents] == [("worse_than_reference", "info")]
    assert client.get("/api/v1/projects/llm/references").json() == pinned
    assert client.delete(f"/api/v1/runs/{first}/reference").json()["references"] == []
    context.analysis.analyze(context.runs.run_id(second))
    incidents = client.get(f"/api/v1/runs/{second}/incidents").json()["incidents"]
    assert [each["state"] for each in incidents] == ["closed"]


def test_diff_of_runs_of_a_server(
    server: tuple[ServerContext, str], two_runs: tuple[str, str], capsys: pytest.CaptureFixture[str]
) -> None:
    arguments = ["diff", "a", "llm/b", "--server", server[1]]
    assert main([*arguments, "--format", "json"]) == 0
    content = json.loads(capsys.readouterr().out)
    assert (content["baseline"], content["run"], content["verdict"]) == ("llm/a", "llm/b", "higher")
    assert main([*arguments, "--fail-if", "worse"]) == 1
    assert "worse" in capsys.readouterr().err
    assert main(["diff", "a", "nobody", "--server", server[1]]) == 3


@pytest.fixture
def folder(tmp_path: Path) -> Callable[[str, list[float], float], str]:
    """Writes a run's folder and returns its path."""

    def write(name: str, values: list[float], rate: float) -> str:
        path = tmp_path / name
        path.mkdir()
        rows = "\n".join(f"{step},{1.7e9 + step},{value}" for step, value in enumerate(values))
        (path / "log.csv").write_text(f"step,wall_time,loss\n{rows}\n")
        (path / "config.json").write_text(json.dumps({"optimizer": {"lr": rate}}))
        return str(path)

    return write


def test_diff_of_folders_in_all_formats_and_its_exit_codes(
    folder: Callable[[str, list[float], float], str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    good, bad = folder("good", curve(1), 1e-3), folder("bad", curve(2, 1.1), 2e-3)
    assert main(["diff", good, bad]) == 0
    text = capsys.readouterr().out
    assert "learning_rate 0.002 instead of 0.001" in text
    assert "higher (95 % interval" in " ".join(text.split())
    assert main(["diff", good, bad, "--format", "html"]) == 0
    page = capsys.readouterr().out
    assert page.startswith("<!doctype html>")
    assert page.count("<polyline") >= 4
    assert main(["diff", good, bad, "--fail-if", "worse"]) == 1
    assert main(["diff", bad, good, "--fail-if", "worse", "--fail-if", "slower"]) == 0
    assert main(["diff", bad, good, "--fail-if", "different"]) == 1
    assert main(["diff", good, str(tmp_path / "nothing")]) == 3
