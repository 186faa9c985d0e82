"""Differences of settings, axes of tokens and samples, and comparisons of runs in memory."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pytest

from holter.detectors.compare.axes import AxisSource, StepMap, XAxis, counter_scale, step_map
from holter.detectors.compare.run_diff import DiffInput, diff_runs
from holter.detectors.compare.settings import SettingCategory, category_of, compare_settings
from holter.types import ConfigKey, ConfigValue, FloatArray, RunData, Series, SeriesKey


def series(metric: str, values: FloatArray, attempt: int = 0) -> Series:
    """A series over steps 0, 1, 2, ... of one attempt."""
    count = len(values)
    return Series(
        key=SeriesKey(metric),
        attempt=np.full(count, attempt),
        step=np.arange(count),
        time=1.7e9 + np.arange(count, dtype=np.float64),
        value=np.asarray(values, dtype=np.float64),
    )


def run_data(config: Mapping[str, ConfigValue], **values: FloatArray) -> RunData:
    """A run of one attempt."""
    return RunData(
        series={SeriesKey(name): series(name, each) for name, each in values.items()},
        config={ConfigKey(name): {0: value} for name, value in config.items()},
    )


def axis_of(run: RunData, axis: XAxis) -> StepMap:
    """The axis of a run in memory."""
    return step_map(axis, run.series, run.series.__getitem__, run.config, None)


def test_settings_of_two_frameworks_are_compared_under_one_name() -> None:
    compared = compare_settings(
        [{"lr": 3e-4, "wd": 0.1}, {"optimizer.learning_rate": 1e-4, "weight_decay": "0.10"}]
    )
    (difference,) = compared.differences
    assert difference.name == "learning_rate"
    assert difference.names == ("lr", "optimizer.learning_rate")
    assert difference.values == (3e-4, 1e-4)
    assert compared.equal == 1


@pytest.mark.parametrize(
    ("first", "second"),
    [
        (1e-4, "0.0001"),
        (True, "True"),
        ("bf16", "torch.bfloat16"),
        ("[1, 2]", "[1,2]"),
        (1, 1.0),
        ("None", "null"),
    ],
)
def test_values_that_only_look_different_are_equal(first: ConfigValue, second: ConfigValue) -> None:
    compared = compare_settings([{"x": first}, {"x": second}])
    assert compared.equal == 1


def test_what_only_one_run_states_is_folded_if_it_may_be_a_default() -> None:
    compared = compare_settings([{"z_loss": 0.0, "qk_norm": True}, {}])
    assert {each.name: each.folded for each in compared.differences} == {"z_loss": True, "qk_norm": False}


@pytest.mark.parametrize(
    ("name", "category"),
    [
        ("learning_rate", SettingCategory.CONFIGURATION),
        ("data_path", SettingCategory.CONFIGURATION),
        ("tensor_parallel_size", SettingCategory.LAUNCH),
        ("num_nodes", SettingCategory.LAUNCH),
        ("environment/packages/torch", SettingCategory.ENVIRONMENT),
        ("nccl.version", SettingCategory.ENVIRONMENT),
        ("gpu.name", SettingCategory.HARDWARE),
        ("output_dir", SettingCategory.IDENTITY),
        ("run_name", SettingCategory.IDENTITY),
        ("environment/host", SettingCategory.IDENTITY),
    ],
)
def test_settings_have_categories(name: str, category: SettingCategory) -> None:
    assert category_of(name) is category


@pytest.mark.parametrize(
    ("metric", "scale"),
    [
        ("tokens", 1.0), ("consumed_tokens", 1.0), ("train/num_input_tokens_seen", 1.0),
        ("total tokens", 1.0), ("tokens_seen_(B)", 1e9), ("tokens_per_s", None), ("loss", None),
    ],
)  # fmt: skip
def test_counters_of_tokens_are_known_by_name(metric: str, scale: float | None) -> None:
    assert counter_scale(XAxis.TOKENS, SeriesKey(metric)) == scale


def test_a_logged_counter_is_preferred_and_interpolated() -> None:
    run = run_data({"global_batch_size": 4, "seq_length": 10}, loss=np.zeros(5), tokens=100.0 * np.arange(5))
    axis = axis_of(run, XAxis.TOKENS)
    assert (axis.source, axis.metric) == (AxisSource.LOGGED, "tokens")
    assert axis.x(0, np.array([1, 4, 6]), np.zeros(3)).tolist() == [100, 400, 600]


def test_tokens_are_derived_from_the_batch_and_the_formula_is_stated() -> None:
    run = run_data({"global_batch_size": 4, "seq_length": 10}, loss=np.zeros(5))
    axis = axis_of(run, XAxis.TOKENS)
    assert axis.source is AxisSource.DERIVED
    assert axis.formula == "step x global batch size 4 x sequence length 10"
    assert axis.x(0, np.array([0, 3]), np.zeros(2)).tolist() == [0, 120]
    assert axis_of(run, XAxis.SAMPLES).x(0, np.array([3]), np.zeros(1)).tolist() == [12]


def test_a_batch_that_grows_is_summed() -> None:
    run = run_data({}, loss=np.zeros(6), batch_size=np.array([2.0, 2, 2, 8, 8, 8]))
    samples = axis_of(run, XAxis.SAMPLES).x(0, np.array([0, 3, 5]), np.zeros(3))
    assert samples.tolist() == [0, 6, 22]


def test_an_axis_that_is_not_known_has_a_reason() -> None:
    axis = axis_of(run_data({}, loss=np.zeros(5)), XAxis.TOKENS)
    assert axis.source is AxisSource.MISSING
    assert axis.reason is not None
    assert "sequence length" in axis.reason
    assert np.isnan(axis.x(0, np.array([1]), np.zeros(1))).all()


def test_runs_with_other_batches_are_aligned_by_tokens() -> None:
    trend = 2 + 6 * (np.arange(2000) + 20.0) ** -0.35
    shape = {"seq_length": 128}
    small = DiffInput(name="small", data=run_data({**shape, "global_batch_size": 8}, loss=trend))
    large = DiffInput(name="large", data=run_data({**shape, "global_batch_size": 16}, loss=trend[::2]))
    diff = diff_runs(small, large)
    assert diff.axis is XAxis.TOKENS
    assert "different numbers of tokens" in diff.axis_reason
    content = diff.as_json()
    assert content["verdict"] == "none"
    assert content["configuration"] == "global_batch_size 16 instead of 8."


def test_a_run_without_the_metric_is_not_comparable_but_its_settings_are() -> None:
    one = DiffInput(name="a", data=run_data({"lr": 1.0}, loss=np.ones(100)))
    other = DiffInput(name="b", data=run_data({"lr": 2.0}, accuracy=np.ones(100)))
    content = diff_runs(one, other).as_json()
    assert content["verdict"] == "unknown"
    assert content["difference"] is None
    assert content["configuration"] == "learning_rate 2 instead of 1."
