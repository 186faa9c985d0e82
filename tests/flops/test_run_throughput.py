"""Reported figures stay as reported, by their formula, apart from Holter's own; wrong ones are diagnosed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np
import pytest

from holter.detectors.launch_checks import run_launch_checks
from holter.flops import FORMULAS, Peaks, Precision, RunThroughput, run_throughput
from holter.flops.launch_settings import LaunchSettings
from holter.flops.levels import CurveLevel
from holter.flops.shape_from_config import parse_shape
from holter.flops.throughput import describe_formula, matching_formula, throughput_json
from holter.types import ConfigValue, Diagnostic, FloatArray, RunData, Severity
from tests.support.model_runs import LLAMA3_8B, MEGATRON_8B, NANOGPT, run, series

N = 200


def flat(value: float) -> FloatArray:
    """The same value at every point."""
    return np.full(N, value)


def per_token(name: str, config: Mapping[str, ConfigValue], recomputed: bool = False) -> float:
    """FLOPs of one token by a formula."""
    shape = parse_shape(LaunchSettings(config)).shape
    assert shape is not None
    return FORMULAS[name].per_token(shape, recomputed)


def analyze(data: RunData, peaks: Peaks | None = None) -> RunThroughput:
    """The throughput of a run."""
    return run_throughput(data, peaks or Peaks())


def level(data: RunData, name: str) -> CurveLevel:
    """The level of one of Holter's own curves."""
    own = analyze(data).own
    found = own.level(getattr(own, name))
    assert found is not None, own.missing
    return found


def codes(data: RunData) -> list[str]:
    """The codes of the diagnostics on figures of throughput."""
    return [diagnostic.code for diagnostic in _on_throughput(data)]


def only(data: RunData) -> Diagnostic:
    """The only diagnostic on figures of throughput."""
    (diagnostic,) = _on_throughput(data)
    return diagnostic


def _on_throughput(data: RunData) -> list[Diagnostic]:
    return [found for found in run_launch_checks(data) if found.code != "no-loss-recognised"]


def torchtitan(tps: float, peak: float, config: Mapping[str, ConfigValue] = LLAMA3_8B) -> RunData:
    """A run as torchtitan logs it, which divides by `peak` TFLOPS."""
    tflops = tps * per_token("torchtitan", config) / 1e12
    curves = {"throughput(tps)": flat(tps), "tflops": flat(tflops), "mfu(%)": flat(100 * tflops / peak)}
    return run(dict(config), **curves)


def megatron(seconds: float, formula: str, factor: float = 1.0, **more: ConfigValue) -> RunData:
    """A run as Megatron logs it with --log-throughput."""
    config = MEGATRON_8B | more
    tflops = per_token(formula, config) * 128 * 8192 / seconds / 64 / 1e12
    curves = {
        "elapsed time per iteration (ms)": flat(1000 * seconds),
        "throughput per GPU (TFLOP/s/GPU)": flat(factor * tflops),
        "global batch size": flat(128),
    }
    return run(config, **curves)


def test_torchtitans_figures_go_by_its_formula_and_holters_own_are_separate() -> None:
    data = torchtitan(6667, 989)
    found = analyze(data)
    mfu, tflops = found.reported
    assert (mfu.quantity, tflops.quantity) == ("MFU", "TFLOPS")
    assert mfu.level is not None
    assert mfu.level.typical == pytest.approx(0.390, abs=0.001)
    assert describe_formula(mfu, found.own) == FORMULAS["torchtitan"].title
    assert level(data, "mfu").typical == pytest.approx(6667 * 51470401536 / 989e12)
    assert run_launch_checks(data) == []


def test_the_version_of_megatron_follows_from_its_numbers() -> None:
    for name in ("megatron-0.11", "megatron-0.12"):
        data = megatron(6.0, name)
        found = analyze(data)
        assert matching_formula(found.reported[0], found.own) == name
        assert run_launch_checks(data) == []
    own = level(megatron(6.0, "megatron-0.11"), "tflops")
    assert own.typical == pytest.approx(level(megatron(6.0, "megatron-0.12"), "tflops").typical)


def test_hfu_counts_what_is_recomputed() -> None:
    nothing, full = (megatron(6.0, "megatron-0.12", recompute_granularity=word) for word in ("None", "full"))
    assert level(nothing, "hfu").typical == level(nothing, "mfu").typical
    ratio = level(full, "hfu").typical / level(full, "mfu").typical
    assert 1.3 < ratio < 4 / 3  # the output layer is not repeated
    unknown = megatron(6.0, "megatron-0.12", recompute_granularity="selective", recompute_modules="mlp")
    assert analyze(unknown).own.level(analyze(unknown).own.hfu) is None


def test_a_growing_batch_counts_step_by_step() -> None:
    data = megatron(6.0, "megatron-0.12")
    sizes = series("global batch size", np.repeat([64, 128], 100))
    half = {**data.series, sizes.key: sizes}
    own = analyze(RunData(series=half, config=data.config)).own
    assert own.tokens[-1] == pytest.approx(2 * own.tokens[0])


def test_nanogpts_peak_is_that_of_an_a100_on_every_device() -> None:
    seconds = 0.13
    tokens = 480 * 1024 / 8 / seconds
    config = NANOGPT | {"vocab_size": 50304}
    shape = parse_shape(LaunchSettings(config)).shape
    assert shape is not None
    mfu = FORMULAS["palm"].per_token(replace(shape, positions=0), False) * tokens / 312e12
    curves = {"loss": flat(3.0), "step_time (ms)": flat(130), "mfu(%)": flat(100 * mfu)}
    diagnostic = only(run(config, **curves))
    assert diagnostic.code == "mfu-wrong-peak"
    assert diagnostic.severity is Severity.WARNING
    assert "A100" in diagnostic.summary
    assert diagnostic.evidence["corrected_mfu"] == pytest.approx(mfu * 312 / 989)
    slower = {"loss": flat(3.0), "step_time (ms)": flat(390), "mfu(%)": flat(100 * mfu / 3)}
    assert run_launch_checks(run(config | {"gpu.name": "NVIDIA A100-SXM4-80GB"}, **slower)) == []


def test_a_sparse_peak_is_recognised() -> None:
    diagnostic = only(torchtitan(6667, 1979))
    assert diagnostic.code == "mfu-wrong-peak"
    assert "sparsity" in diagnostic.summary
    assert diagnostic.evidence["corrected_mfu"] == pytest.approx(0.390, abs=0.001)


def test_a_fallback_peak_is_recognised() -> None:
    diagnostic = only(torchtitan(6667, 312))
    assert diagnostic.code == "mfu-wrong-peak"
    assert "falls back" in diagnostic.summary


def test_fabrics_peak_of_the_h200_is_sparse() -> None:
    """Lightning Fabric 2.5.6 to 2.6.0 gives an H200 2,000 TFLOPS in bf16: half of the MFU."""
    curves = {"device/flops_per_sec": flat(400e12), "device/mfu": flat(400 / 2000)}
    diagnostic = only(run({"gpu.name": "NVIDIA H200", "precision": "bf16-mixed"}, **curves))
    assert diagnostic.code == "mfu-wrong-peak"
    assert "sparsity" in diagnostic.summary
    assert diagnostic.evidence["corrected_mfu"] == pytest.approx(400 / 989)
    nvl = {"device/flops_per_sec": flat(400e12), "device/mfu": flat(400 / 1978.8)}
    assert "sparsity" in only(run({"gpu.name": "NVIDIA H100 NVL"}, **nvl)).summary


def test_a_peak_of_the_settings_holds_for_checks_and_curves() -> None:
    data = torchtitan(6667, 900)
    peaks = Peaks({"H100": {Precision.BF16: 900.0}})
    assert [diagnostic.code for diagnostic in run_launch_checks(data)] == ["mfu-wrong-peak"]
    assert run_launch_checks(data, peaks=peaks) == []
    own = analyze(data, peaks).own
    assert own.launch.device.peak is not None
    assert own.launch.device.peak.tflops == 900


def test_impossible_figures_are_reported() -> None:
    assert "mfu-impossible" in codes(run({}, **{"train/mfu(%)": flat(130)}))
    a100 = {"gpu.name": "NVIDIA A100-SXM4-80GB"}
    assert "mfu-impossible" in codes(run(a100, **{"train/mfu": flat(1.3), "tflops": flat(150)}))
    assert codes(run({"gpu.name": "NVIDIA A100-SXM4-80GB"}, **{"tflops": flat(900)})) == ["tflops-impossible"]
    fast = codes(run(LLAMA3_8B, **{"throughput(tps)": flat(30_000)}))
    assert fast == ["own-mfu-impossible"]


@pytest.mark.parametrize(
    ("mfu", "tflops", "share"),
    [
        (flat(1.42), None, 0.0142),
        (np.where(np.arange(N) % 4, 0.8, 40.0), None, 0.008),
        (flat(0.42), None, 0.42),
        (flat(0.42), 1.3, 0.0042),
        (flat(0.42), 131.0, 0.42),
        (flat(3.1), 9.7, 0.031),
        (np.where(np.arange(N) < 3, 8.0, 0.42), None, 0.42),
    ],
    ids=[
        "above one",
        "some above one",
        "a share",
        "percents by speed",
        "a share by speed",
        "percents",
        "start",
    ],
)
def test_the_unit_of_an_mfu_without_one_is_that_of_the_run(
    mfu: FloatArray, tflops: float | None, share: float
) -> None:
    curves = {"mfu": mfu} if tflops is None else {"mfu": mfu, "tflops": flat(tflops)}
    data = run({"gpu.name": "NVIDIA A100-SXM4-80GB"}, **curves)
    (found,) = [each for each in analyze(data).reported if each.quantity == "MFU"]
    assert found.level is not None
    assert found.level.typical == pytest.approx(share)
    assert "mfu-impossible" not in codes(data)


@pytest.mark.parametrize(
    ("factor", "reason"),
    [
        (4 / 3, "HFU"),
        (64, "all 64 devices"),
        (1000, "off by 1,000"),
        (0.5, "counted as one"),
        (1.7, "No formula"),
    ],
)
def test_a_figure_that_no_formula_gives_is_reported_with_the_likely_reason(
    factor: float, reason: str
) -> None:
    data = megatron(20.0, "megatron-0.12", factor)
    diagnostic = next(
        diagnostic
        for diagnostic in run_launch_checks(data)
        if diagnostic.code in {"throughput-disagrees", "tflops-impossible"}
    )
    if diagnostic.code == "throughput-disagrees":
        assert reason.replace("counted as one", "count as one") in diagnostic.summary
    else:
        assert factor >= 64


def test_other_formulas_within_the_known_ones_are_no_disagreement() -> None:
    for name in ("megatron-0.11", "torchtitan", "nanotron", "holter"):
        tflops = per_token(name, LLAMA3_8B) * 6000 / 1e12
        assert (
            run_launch_checks(
                run(LLAMA3_8B, **{"throughput(tps)": flat(6000), "device/tflops": flat(tflops)})
            )
            == []
        )


def test_steps_that_are_timed_too_early_are_reported() -> None:
    times = np.concatenate([np.full(3, 12.0), [900.0], np.full(N, 130.0)])
    diagnostic = only(run({}, **{"step_time (ms)": times}))
    assert diagnostic.code == "async-first-steps"
    assert diagnostic.severity is Severity.INFO
    assert diagnostic.evidence["last_step"] == 2
    assert diagnostic.evidence["times_as_fast"] == pytest.approx(130 / 12)
    slow = np.concatenate([np.full(3, 900.0), np.full(N, 130.0)])
    assert run_launch_checks(run({}, **{"step_time (ms)": slow})) == []  # compilation takes its time


def test_the_first_points_of_attempts_do_not_count() -> None:
    times = np.concatenate([np.full(3, 60_000.0), np.full(40, 6000.0)])
    data = run(MEGATRON_8B, **{"elapsed time per iteration (ms)": times})
    assert level(data, "mfu").typical == level(megatron(6.0, "megatron-0.12"), "mfu").typical


def test_missing_settings_are_listed_and_nothing_is_assumed() -> None:
    found = analyze(run({}, **{"tokens_per_sec": flat(1000)}))
    assert np.isnan(found.own.tflops).all()
    assert any("how many layers" in word for word in found.own.missing)
    assert any("how many devices" in word for word in found.own.missing)
    assert any("kind of accelerator" in word for word in found.own.missing)
    unknown = analyze(run(LLAMA3_8B | {"gpu.name": "NVIDIA A10G"}, **{"throughput(tps)": flat(1000)})).own
    assert np.isfinite(unknown.tflops).all()
    assert np.isnan(unknown.mfu).all()
    assert any("NVIDIA A10G" in word for word in unknown.missing)


def test_an_assumed_precision_is_marked() -> None:
    config = {name: value for name, value in LLAMA3_8B.items() if "precision" not in name}
    assert analyze(run(config, **{"throughput(tps)": flat(1000)})).own.launch.device.precision_assumed


def test_each_attempt_uses_its_own_number_of_devices() -> None:
    first, second = series("tokens_per_sec", flat(64_000), 0), series("tokens_per_sec", flat(64_000), 1)
    both = replace(
        first,
        attempt=np.concatenate([first.attempt, second.attempt]),
        step=np.concatenate([first.step, second.step + N]),
        time=np.concatenate([first.time, second.time + N]),
        value=np.concatenate([first.value, second.value]),
    )
    data = run(LLAMA3_8B)
    config = {**data.config, next(key for key in data.config if key.name == "world_size"): {0: 8, 1: 16}}
    own = analyze(RunData(series={both.key: both}, config=config)).own
    assert own.tokens[0] == 8000
    assert own.tokens[-1] == 4000


def test_the_result_is_json_able() -> None:
    answer = throughput_json(analyze(torchtitan(6667, 989)))
    assert answer["own"]["mfu"]["usual"] == pytest.approx(0.347, abs=0.001)
    assert answer["own"]["peak_tflops"] == 989
    assert answer["reported"][0]["framework"] == "torchtitan"
    assert throughput_json(analyze(RunData(series={})))["own"]["mfu"] == {
        "newest": None,
        "usual": None,
        "best": None,
    }


def test_non_finite_values_raise_nothing() -> None:
    odd = np.array([np.nan, np.inf, -np.inf, 0.0, -1.0, 1e308, 5e-324] * 30)
    names = ["mfu(%)", "tflops", "throughput(tps)", "step_time (ms)", "global batch size", "loss"]
    for config in ({}, LLAMA3_8B, NANOGPT):
        data = run(dict(config), **dict.fromkeys(names, odd))
        with np.errstate(all="raise"):
            run_launch_checks(data)


def test_numbers_near_the_limits_of_a_float_are_no_speed() -> None:
    for speed in (1e-319, 1e-310, 1e300):
        data = run(LLAMA3_8B, **{"throughput(tps)": flat(speed), "tflops": flat(speed)})
        assert "throughput-disagrees" not in codes(data)
