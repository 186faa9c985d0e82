"""The line of PyTorch's tutorials on texts, and how programs vary it: `[0m 12s (100 5%) 2.45]`."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.log_runs import assert_steps

FORMS = (
    "0m 1{n}s (- 3m 20s) ({n}00 1{n}%) 2.{n}4\n",
    "[0m 1{n}s ({n}00 1{n}%) 2.{n}4]\nWhat was it 3 and the\n",
    "0m 1{n}.5s ({n}00 1{n}.0%) 2.{n}4\n",
)


@pytest.mark.parametrize("form", FORMS)
def test_a_line_of_a_tutorial_has_its_loss_behind_the_times(form: str, tmp_path: Path) -> None:
    text = "Training for 900 epochs...\n" + "".join(form.format(n=n) for n in range(1, 9))
    assert_steps(tmp_path, text, {"loss": [100 * n for n in range(1, 9)]})
