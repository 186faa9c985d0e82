"""Console logs of any program: batches within epochs, progress bars, names with numbers."""

from __future__ import annotations

from math import isnan
from pathlib import Path
from typing import Any

import pytest

from holter.ingest.console.plain.plain_line import parse_plain_line

DATA = Path(__file__).parents[3] / "data" / "console"


@pytest.fixture
def read_sample(reading: Any) -> Any:
    return lambda name: reading.read_complete(name, (DATA / name).read_bytes())


def test_verl_shows_its_metrics_under_their_paths(read_sample: Any) -> None:
    result = read_sample("verl.log")
    assert result.values("actor/pg_loss") == [(1, -0.001), (2, 8.1e-06)]
    assert result.values("actor/grad_norm") == [(1, 0.02), (2, 0.019)]
    assert result.values("val-core/openai/gsm8k/acc/mean@1") == [(0, 0.508)]
    assert result.values("training/global_step") == []


def test_batches_continue_over_epochs_and_evaluations_are_at_the_last_one(read_sample: Any) -> None:
    result = read_sample("mmengine.log")
    assert result.values("loss") == [(10, 11.4723), (90, 1.5), (100, 1.25)]
    assert result.values("val/coco/bbox_mAP") == [(90, 0.357)]
    assert result.values("eta") == result.values("day") == []


def test_iterations_without_epochs_count_by_themselves(read_sample: Any) -> None:
    assert read_sample("xtuner.log").values("grad_norm") == [(1010, 0.0009), (1020, 0.0009)]


def test_epochs_may_count_from_zero(read_sample: Any) -> None:
    result = read_sample("imagenet.log")
    assert result.values("Loss") == [(0, 7.0172), (10, 6.9172), (500, 6.5)]
    assert result.values("Acc@1") == [(0, 0.0), (10, 0.5), (500, 1.5)]


def test_without_the_number_of_batches_epochs_continue_from_the_last(read_sample: Any) -> None:
    result = read_sample("batches-untold.log")
    assert result.values("Loss") == [(0, 4.25), (50, 4.0), (51, 3.75), (101, 3.5)]


def test_open_clips_samples_are_its_steps(read_sample: Any) -> None:
    result = read_sample("open-clip.log")
    assert [step for step, _ in result.values("Loss")] == [64, 6464, 109504]
    assert result.values("LR") == [(64, 1e-06), (6464, 2e-06), (109504, 3e-06)]
    assert result.values("Batch (t)")[0] == (64, 18.24)


def test_locations_may_are_in_round_brackets(read_sample: Any) -> None:
    assert read_sample("minimind.log").values("loss") == [(100, 6.125), (200, 5.125), (600, 4.125)]


def test_lightnings_bar_shows_a_step_once_and_repeats_no_evaluation(read_sample: Any) -> None:
    result = read_sample("lightning-bars.log")
    assert result.values("train_loss_step") == [(1, 10.5), (10, 9.44), (500, 8.5), (510, 8.44)]
    assert result.values("val_loss") == [(500, 8.25)]
    assert result.values("v_num") == []


def test_a_bar_of_an_evaluation_belongs_to_the_step_before(read_sample: Any) -> None:
    result = read_sample("tqdm.log")
    assert result.values("loss") == [(935, 6.3381), (1028, 5.3381)]
    assert result.values("val_loss") == [(935, 2.2583)]
    assert result.values("lr") == [(1028, 1e-4)]


def test_torchtune_writes_its_loss_before_the_bar(read_sample: Any) -> None:
    assert read_sample("torchtune.log").values("loss") == [(1, 2.7997918), (2, 2.7642986)]


def test_keras_shows_an_epoch_at_its_end(read_sample: Any) -> None:
    result = read_sample("keras.log")
    assert result.values("loss") == [(0, 1.2386), (1, 0.9386), (2, 0.4785)]
    assert result.values("val_loss") == [(0, 1.0457), (1, 0.9665), (2, 0.3)]


def test_a_line_an_epoch_is_enough(read_sample: Any) -> None:
    result = read_sample("epochs.txt")
    assert result.values("Train Loss")[:2] == [(1, 2.3045), (2, 1.3045)]
    assert isnan(result.values("Val Loss")[2][1])
    assert result.values("Val Acc") == [(1, 12.3), (2, 42.3), (3, 9.8)]


def test_numbers_may_are_behind_their_names_without_a_sign(read_sample: Any) -> None:
    result = read_sample("automodel.log")
    assert result.values("loss") == [(9, 0.6974), (10, 0.8534), (11, 0.6172)]
    assert result.values("tps") == [(9, 11278.56), (10, 13746.23), (11, 9808.31)]
    assert {key.metric for key in result.points} == {
        *("epoch", "loss", "grad_norm", "lr", "mem", "tps", "num_label_tokens")
    }


@pytest.mark.parametrize(
    ("text", "values"),
    [
        ("dt: 480.10ms, mem: 20.1GB, t=12.5s, speed: 3.5s/it", [480.1, 20.1, 12.5, 3.5]),
        ("tok/s: 12.5k, params: 1.2M, util=95.5%, n: 1,200", [12500, 1.2e6, 95.5, 1200]),
        ("date: 2026-05-07, version: 2.5.1, eta: 1:20:30, batch: 10/100, id: 3f2a", []),
        (
            "tflops=188.02,micro_num=4,loss=5.45,tgs (tokens/gpu/second)=4233.73,lr=7.6e-06",
            [188.02, 4, 5.45, 4233.73, 7.6e-6],
        ),
        ("loss=2.5e-3 lr:.5 x=-inf", [2.5e-3, 0.5, float("-inf")]),
    ],
)
def test_units_are_taken_off_and_what_only_begins_with_digits_is_no_number(
    text: str, values: list[float]
) -> None:
    found = parse_plain_line(f"step 7, loss: 1.5, {text}", {})
    assert found is not None
    assert (found.step, list(found.values.values())) == (7, [1.5, *values])


def test_steps_that_begin_again_with_an_epoch_continue(read_sample: Any) -> None:
    result = read_sample("key-value-epochs.log")
    assert result.values("Train Loss") == [(50, 2.5), (100, 2.25), (150, 2.0)]
    assert result.values("Val Loss") == [(50, 2.75), (100, 2.5), (150, 2.25)]
    assert result.values("tgs (tokens/gpu/second)")[0] == (50, 4100.5)
