"""Several trainings of which the first has no heading: it has no label, and the others have theirs."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.log_runs import read_log, steps_of

E = range(1, 5)
TRAININGS = {
    "lines": "".join(f"epoch {n}: loss {2 / n:.3f}\n" for n in E),
    "blocks": "".join(f"Epoch {n}\nloss: {2 / n:.3f}\n" for n in E),
}


@pytest.mark.parametrize("opening", ["", "Using device cuda\nLoading the recordings\n"])
@pytest.mark.parametrize("training", TRAININGS)
@pytest.mark.parametrize(
    ("heading", "label"),
    [
        ("Training model {}", "model"),
        ("Now fitting the fold {}", "fold"),
        ("Start training on view {}", "view"),
        ("Run {}", "run"),
        ("-- seed {} --", "seed"),
    ],
)
def test_trainings_behind_an_unnamed_one_have_the_label_of_their_heading(
    tmp_path: Path, opening: str, training: str, heading: str, label: str
) -> None:
    lines = TRAININGS[training]
    run = read_log(tmp_path, opening + lines + "".join(f"{heading.format(n)}\n{lines}" for n in (2, 3)))
    assert run.attempts == 1
    assert steps_of(run) == {"loss": [*E], **{f"loss/{label}={n}": [*E] for n in (2, 3)}}


@pytest.mark.parametrize("training", TRAININGS)
def test_a_phase_behind_an_unnamed_training_has_its_label(tmp_path: Path, training: str) -> None:
    run = read_log(tmp_path, f"{TRAININGS[training]}Fine-tuning the model...\n{TRAININGS[training]}")
    assert run.attempts == 1
    assert steps_of(run) == {"loss": [*E], "loss/phase=fine-tuning": [*E]}
