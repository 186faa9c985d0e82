"""What the numbers of a line are, by the text around them."""

from __future__ import annotations

from pathlib import Path

import pytest

from holter.ingest.offline.read_run import OfflineRun, read_run

N = range(1, 4)


def read(tmp_path: Path, text: str) -> OfflineRun:
    file = tmp_path / "train.log"
    file.write_text(text)
    return read_run(file)


def steps_of(run: OfflineRun) -> dict[str, list[int]]:
    """The steps of each series."""
    return {key.metric: series.step.tolist() for key, series in run.data.series.items()}


@pytest.mark.parametrize(
    "prefix",
    [
        "[2026-01-02 10:00:0{}] INFO - ",
        "[2026-01-02 10:00:0{}] ",
        "2026-01-02 10:00:0{},123 | INFO | ",
        "[10:00:0{}] ",
        "(2026-01-02T10:00:0{}) ",
    ],
)
def test_metrics_behind_a_time_belong_to_the_epoch_above(tmp_path: Path, prefix: str) -> None:
    lines = [
        line
        for n in N
        for line in (f"Epoch {n}/3", f"  Train loss: 0.{n}  acc: 0.5", f"  Eval  acc: 0.{n}  loss: 0.7")
    ]
    text = "".join(f"{prefix.format(second)}{line}\n" for second, line in enumerate(lines))
    steps = steps_of(read(tmp_path, text))
    assert steps == {name: [*N] for name in ("Train loss", "acc", "eval/acc", "eval/loss")}


@pytest.mark.parametrize("name", ["Epoch", "Episode", "Round"])
@pytest.mark.parametrize("time", ["", "2026_01_02_10_00_0{0} ", "2026-01-02-10-00-0{0} ", "10:00:0{0} "])
def test_names_in_brackets_are_those_of_the_numbers_behind_them(tmp_path: Path, name: str, time: str) -> None:
    text = "".join(f"{time.format(n)}[{name}] 00{n} [Loss] total_loss 0.{n} box_loss 1.0\n" for n in N)
    assert steps_of(read(tmp_path, text)) == {"total_loss": [*N], "box_loss": [*N]}


@pytest.mark.parametrize("part", ["last 100", "last 100 episodes", "100 ep avg", "over last 5"])
def test_a_number_may_be_a_part_of_a_name_with_words_around_it(tmp_path: Path, part: str) -> None:
    text = "".join(f"Episode {n}\tMean reward ({part}): 0.{n}\n" for n in N)
    assert steps_of(read(tmp_path, text)) == {"Mean reward": [*N]}


def test_a_bar_without_counts_names_its_data(tmp_path: Path) -> None:
    text = "".join(
        f"Epoch {n}/3\nEpoch {n} - Train: 100%|####| [-sisdr=-8.{n}, sdr=8.1]\nTrain  -SI-SDRi: -8.{n}\n"
        f"Epoch {n} - Valid: 100%|####| [-sisdr=-9.{n}, sdr=9.1]\nValid  -SI-SDRi: -9.{n}\n"
        f"Save the best model (SI-SDRi=10.{n})\n"
        for n in N
    )
    run = read(tmp_path, text)
    names = {"sisdr", "sdr", "SI-SDRi", "valid/sisdr", "valid/sdr", "valid/SI-SDRi", "best/SI-SDRi"}
    assert steps_of(run) == {name: [*N] for name in names}
    values = {key.metric: series.value.tolist() for key, series in run.data.series.items()}
    assert values["SI-SDRi"] == [-8.1, -8.2, -8.3]


def test_lines_between_bars_that_count_less_than_these_are_of_epochs(tmp_path: Path) -> None:
    bars = [
        "".join(
            f"\r{at / 3:.0f}%|##| {at}/300 [00:01<00:10,  1.00it/s, loss={epoch}.{at}]"
            for at in (0, 150, 300)
        )
        for epoch in range(1, 7)
    ]
    text = "".join(f"{bar}\n[{n}] loss: 2.{n}\ntest average ELBO= -3.{n}\n" for n, bar in enumerate(bars, 1))
    run = read(tmp_path, text)
    ends = [300 * n for n in range(1, 7)]
    assert run.attempts == 1
    assert steps_of(run) == {
        "loss": [*range(0, 1801, 150)],
        "epoch/loss": ends,
        "test average ELBO": ends,
    }


@pytest.mark.parametrize("count", ["[Batch:  {0}] ", "Step {0} ", "Iter {0}: "])
def test_steps_without_a_total_begin_anew_behind_a_line_of_an_epoch(tmp_path: Path, count: str) -> None:
    text = "".join(
        f"{count.format(1000)}loss: 2.{n}\n{count.format(2000)}loss: 1.{n}\n"
        f"Epoch {n} [BEST] valid_loss = 0.{n}\nTraining loss: 0.4, Valid loss: 0.5\n"
        for n in range(1, 10)
    )
    run = read(tmp_path, text)
    assert run.attempts == 1
    assert steps_of(run)["loss"] == [*range(1000, 18001, 1000)]
    assert steps_of(run)["valid_loss"] == steps_of(run)["Training loss"] == [*range(2000, 18001, 2000)]


def test_weights_of_losses_are_settings(tmp_path: Path) -> None:
    text = '{\n  "qa_loss_factor": 1.0,\n  "CENTER_LOSS_WEIGHT": 0.5,\n  "reward coef": 0.1\n}\n'
    lines = "".join(f"Epoch {n}, loss: 0.{n}\n" for n in N)
    assert steps_of(read(tmp_path, lines + text)) == {"loss": [*N]}
