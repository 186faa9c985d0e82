"""Throughput in `holter analyze`: reported values, missing inputs, goodput, peaks of devices."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from holter.cli.main import main

LINES = 600


@pytest.fixture
def logged(tmp_path: Path) -> Path:
    """A run with nanoGPT's metrics, 130 ms a step, whose log does not describe the launch."""
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
    report = analyzed(capsys, str(logged))
    assert "reported" in report
    assert "129.5%" in report
    assert "nanoGPT" in report
    assert "not in the logs: how many layers" in report
    assert "goodput" in report
    assert "100.0% of 78 s" in report
    assert "no training uses a device to that extent" in report


def test_a_run_of_seconds_has_no_goodput(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rows = [f"{step},{1.7e9 + 0.1 * step},3.0,0.1" for step in range(100)]
    (tmp_path / "short.csv").write_text("\n".join(["step,wall_time,loss,step_time", *rows]) + "\n")
    assert "goodput" not in analyzed(capsys, str(tmp_path / "short.csv"))


def test_json_has_all_of_it(logged: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (run,) = json.loads(analyzed(capsys, str(logged), "--format", "json"))
    assert run["throughput"]["reported"][0]["formula"].startswith("PaLM")
    assert run["throughput"]["own"]["mfu"]["usual"] is None
    assert len(run["throughput"]["own"]["missing"]) > 3
    assert sum(part["share"] for part in run["spent"].values()) == pytest.approx(1.0)


def test_the_page_has_a_section_and_a_bar(logged: Path, capsys: pytest.CaptureFixture[str]) -> None:
    page = analyzed(capsys, str(logged), "--format", "html")
    assert "<h3>Throughput</h3>" in page
    assert 'class="goodput"' in page


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


TITAN = "[titan] 2025-06-01 10:{minute:02d}:{second:02d},000 - root - INFO - "
SET_UP = """\
Building llama3 8B with TransformerModelArgs(dim=4096, n_layers=32, n_heads=32, n_kv_heads=8, \
vocab_size=128256, multiple_of=1024, ffn_dim_multiplier=1.3, norm_eps=1e-05, rope_theta=500000)
CUDA capacity: NVIDIA H100 80GB HBM3 with 79.11GiB memory
Model llama3 8B size: 8,030,261,248 total parameters
Applied full activation checkpointing to the model
Peak FLOPS used for computing MFU: {peak}
Trainer is initialized with local batch size 1, global batch size 8, gradient accumulation steps 1, \
sequence length 8192, total steps 1000 (warmup 200)
"""


@pytest.mark.parametrize(("peak", "mfu"), [("9.890e+14", "35.13%"), ("3.120e+14", "111.37%")])
def test_the_mfu_of_a_torchtitan_log_is_computed(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], peak: str, mfu: str
) -> None:
    """6,000 tokens a second on an H100: 35.1% by torchtitan's formula, 31.2% by ours."""
    lines = [TITAN.format(minute=0, second=1) + line for line in SET_UP.format(peak=peak).splitlines()]
    for step in range(1, 61):
        head = TITAN.format(minute=1 + step // 60, second=step % 60)
        speed = f"tps: 6,000  tflops: 347.49  mfu: {mfu}"
        lines.append(f"{head}step: {step:2d}  loss: 7.6  grad_norm: 2.6  memory: 40.1GiB(50.62%)  {speed}")
    (tmp_path / "titan.log").write_text("\n".join(lines) + "\n")
    (run,) = json.loads(analyzed(capsys, str(tmp_path / "titan.log"), "--format", "json"))
    own = run["throughput"]["own"]
    assert own["missing"] == []
    assert own["mfu"]["usual"] == pytest.approx(6000 * 51470401536 / 989e12)
    assert own["hfu"]["usual"] > own["mfu"]["usual"]
    assert own["precision_assumed"]
    assert "MFU by Holter&#39;s formula" in analyzed(capsys, str(tmp_path / "titan.log"), "--format", "html")
    codes = [remark["code"] for remark in run["remarks"]]
    assert codes == ([] if peak.startswith("9") else ["mfu-wrong-peak"])


def test_a_real_log_of_megatron_has_tflops(capsys: pytest.CaptureFixture[str]) -> None:
    """BigScience's 52B model on 64 V100, whose log prints no TFLOPS itself."""
    real = Path(__file__).parents[1] / "data" / "console" / "real"
    log = next(real.glob("*meg_ds_3d_gpt2_perf_n16-ds-on*"))
    (run,) = json.loads(analyzed(capsys, str(log), "--format", "json"))
    own = run["throughput"]["own"]
    assert own["parameters"] == pytest.approx(52.4e9, rel=0.01)
    assert own["tflops"]["usual"] == pytest.approx(37.7, abs=0.1)
    assert own["devices"] == 64
    assert own["missing"][0].startswith("the kind of accelerator")
