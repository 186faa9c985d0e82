"""Values of opening lines that come again with the next launch: settings and weights, and no results."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.log_runs import read_log, steps_of

OPENING = (
    "Rank of this process: 0\n"
    "Environment of the program:\n"
    "Command line arguments: Namespace(config_file='a.yaml', resume=False)\n"
)
CONFIG = (
    "MODEL:\n  DETECTOR:\n    FOCAL_LOSS_GAMMA: 2.5\n    IN_FEATURES:\n    - p3\n    SMOOTH_LOSS_BETA: 0.1\n"
)
CRITERION = (
    "  (criterion): Criterion SetLosses\n"
    "      matcher: Matcher\n"
    "          cost_class: 2.0\n"
    "          cost_mask: 5.0\n"
    "      weight_dict: {'loss_ce': 2.0, 'loss_mask': 5.0, 'loss_ce_0': 2.0}\n"
    "      oversample_ratio: 3.0\n)\n"
)
BLOCK = "Weights of the parts\nkl_weight_ratio: 0.25\nloss_balance: 0.5\nreward_scale_acc: 1.5\n"


def iterations(last: int) -> str:
    return "".join(f"iter: {n}  loss_ce: 1.{n}  loss_mask: 2.{n}\n" for n in range(10, last + 1, 10))


@pytest.mark.parametrize("settings", [CONFIG, CRITERION, BLOCK, CONFIG + CRITERION])
def test_values_in_the_opening_of_the_next_launch_are_at_no_step_of_the_one_before(
    tmp_path: Path, settings: str
) -> None:
    opening = OPENING + settings + "Starting training from iteration 0\n"
    run = read_log(tmp_path, "".join(opening + iterations(last) for last in (80, 50, 90)))
    steps = [*range(10, 90, 10), *range(10, 60, 10), *range(10, 100, 10)]
    assert steps_of(run) == {"loss_ce": steps, "loss_mask": steps}
    assert run.attempts == 3


def test_results_of_an_evaluation_in_the_opening_of_the_next_launch_are_read(tmp_path: Path) -> None:
    opening = f"{OPENING}Starting training from iteration 0\n"
    run = read_log(tmp_path, f"{opening}{iterations(80)}{opening}Test accuracy: 0.125\n{iterations(50)}")
    assert run.attempts == 2
    assert any(name.endswith("Test accuracy") for name in steps_of(run))


def test_rates_with_their_epoch_begin_the_next_launch(tmp_path: Path) -> None:
    opening = "#### settings ####\n" + "model_kind: 3\nopt: adam\nlr: 0.0001\nwidth: 64\ndevice: cuda\n"
    opening += "define model\ndefine dataset\n#### start training ####\n"
    epochs = [[0], [0], [0, 1, 2], [0], [0, 1]]
    launches = ["".join(f"Epoch {n}, lr={n}e-05\ndata len 40\n" for n in each) for each in epochs]
    run = read_log(tmp_path, "".join(opening + launch for launch in launches))
    assert run.attempts == len(epochs)
    assert steps_of(run)["lr"] == [n for each in epochs for n in each]
