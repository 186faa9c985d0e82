"""`holter analyze` on throughput: what is reported, what is missing, how the time was spent; peaks."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from holter.__main__ import main

LINES = 120


@pytest.fixture
def logged(tmp_path: Path) -> Path:
    """A run with nanoGPT's metrics, 130 ms a step, whose log says nothing of the launch."""
    folder = tmp_path / "nano"
    folder.mkdir()
    rows = [f"{step},{1.7e9 + 0.13 * step},{3.0},130.0,129.48" for step in range(LINES)]
    head = "step,wall_time,loss,step_time (ms),mfu(%)"
    (folder / "metrics.csv").write_text("\n".join([head, *rows]) + "\n")
    return folder


def analyzed(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    assert main(["analyze", *arguments]) == 0
    return capsys.readouterr().out


def test_the_text_has_a_line_each(logged: Path, capsys: pytest.CaptureFixture[str]) -> None:
    told = analyzed(capsys, str(logged))
    assert "reported" in told
    assert "129.5%" in told
    assert "nanoGPT" in told
    assert "needs how many layers" in told
    assert "goodput" in told
    assert "100.0% of 15 s" in told
    assert "no training uses a device like that" in told


def test_json_has_all_of_it(logged: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (run,) = json.loads(analyzed(capsys, str(logged), "--format", "json"))
    assert run["throughput"]["reported"][0]["formula"].startswith("PaLM")
    assert run["throughput"]["own"]["mfu"]["usual"] is None
    assert len(run["throughput"]["own"]["missing"]) > 3
    assert sum(part["share"] for part in run["spent"].values()) == pytest.approx(1.0)


def test_the_page_has_a_section_and_a_bar(logged: Path, capsys: pytest.CaptureFixture[str]) -> None:
    page = analyzed(capsys, str(logged), "--format", "html")
    assert "<h3>Throughput</h3>" in page
    assert 'class="spent"' in page


def test_a_peak_of_the_settings_is_checked(
    logged: Path, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    settings = tmp_path / "holter.toml"
    settings.write_text('[peaks]\nA10G = { bf16 = 70.0 }\n"H100 80GB" = { bf16 = 900, fp8 = 1800 }\n')
    assert "reported" in analyzed(capsys, str(logged), "--settings", str(settings))
    settings.write_text("[peaks]\nA10G = { bf17 = 70.0 }\n")
    assert main(["analyze", str(logged), "--settings", str(settings)]) == 2
    assert "peaks.A10G.bf17" in capsys.readouterr().err
    settings.write_text("[peaks]\nA10G = { bf16 = -1 }\n")
    assert main(["analyze", str(logged), "--settings", str(settings)]) == 2
