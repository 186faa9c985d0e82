"""Short headings above each of several trainings in one launch: `view1:`, `model A`, `Dataset: iris`."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.log_runs import read_log, steps_of

E = range(1, 5)
LINES = "".join(f"epoch {n}: train loss {2 / n:.3f}\n" for n in E)
BLOCKS = "".join(f"Epoch {n}\ntrain loss: {2 / n:.3f}\n" for n in E)
BATCHES = "".join(f"Epoch [{n}/4] batch [{b}/20] train loss {2 / n:.3f}\n" for n in E for b in (10, 20))
HEADINGS = {
    "view": ("view1:", "view2:", "view5:"),
    "patient": ("=== patient 01 ===", "=== patient 02 ===", "=== patient 03 ==="),
    "model": ("model A", "model B", "model C"),
    "site": ("Site A:", "Site B:", "Site C:"),
    "member": ("ensemble member 1", "ensemble member 2", "ensemble member 3"),
}
NAMES = [
    ("Dataset: iris", "Dataset: wine", "Dataset: glass"),
    ("[lstm]", "[gru]", "[rnn]"),
    ("# head 0", "# head 1", "# head 2"),
    ("noise level 0.1", "noise level 0.2", "noise level 0.5"),
    ("target: height", "target: weight", "target: age"),
    ("rat b01", "rat b02", "rat b07"),
]


def _text(headings: tuple[str, ...], training: str) -> str:
    return "".join(f"{heading}\n{training}" for heading in headings)


@pytest.mark.parametrize("training", [LINES, BLOCKS, BATCHES], ids=["lines", "blocks", "batches"])
@pytest.mark.parametrize("word", HEADINGS)
def test_a_heading_with_a_known_word_labels_the_training_below_it(
    tmp_path: Path, word: str, training: str
) -> None:
    run = read_log(tmp_path, _text(HEADINGS[word], training))
    labels = {tuple(dict(key.labels)) for key in run.data.series}
    assert (run.attempts, labels) == (1, {(), (word,)})
    assert len({tuple(steps) for steps in steps_of(run).values()}) == 1
    assert len([key for key in run.data.series if key.metric == "train loss"]) == 3


@pytest.mark.parametrize("training", [LINES, BLOCKS, BATCHES], ids=["lines", "blocks", "batches"])
@pytest.mark.parametrize("headings", NAMES)
def test_a_first_line_with_another_name_heads_the_next_training(
    tmp_path: Path, headings: tuple[str, ...], training: str
) -> None:
    run = read_log(tmp_path, _text(headings, training))
    losses = [dict(key.labels) for key in run.data.series if key.metric == "train loss"]
    assert run.attempts == 1
    assert sorted(map(str, losses)) == sorted(map(str, ({}, {"training": "2"}, {"training": "3"})))


@pytest.mark.parametrize("headings", [*HEADINGS.values(), *NAMES])
def test_the_same_headings_from_the_first_on_are_those_of_another_launch(
    tmp_path: Path, headings: tuple[str, ...]
) -> None:
    assert read_log(tmp_path, _text(headings, LINES) * 2).attempts == 2


@pytest.mark.parametrize(
    "headings",
    [("Config: small", "Config: large"), ("Device: cpu", "Device: cuda"), ("Job 48213", "Job 48307")],
)
def test_a_first_line_about_the_launch_heads_no_training(tmp_path: Path, headings: tuple[str, ...]) -> None:
    assert read_log(tmp_path, _text(headings, LINES)).attempts == 2
