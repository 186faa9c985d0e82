"""Lines of an epoch and its rate that come again: of launches that ended early, or of a program."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.log_runs import read_log, steps_of

RATE = "[Epoch 1]\tLearning rate: 5.00e-5\n"


def _rows(steps: range, total: int, *, epoch: int = 1) -> str:
    return "".join(f"[{step}/{total}]\t[L1: 0.{step}][KL: 0.0{epoch}5]\t{step}.5s\n" for step in steps)


@pytest.mark.parametrize(
    ("rows", "steps"),
    [
        ((range(100, 501, 100), 6000, range(100, 301, 100), 6000), [100, 200, 300, 400, 500, 100, 200, 300]),
        ((range(100, 201, 100), 6000, range(300, 1501, 600), 9000), [100, 200, 300, 900, 1500]),
        ((range(100, 301, 100), 6000, range(900, 2101, 600), 6000), [100, 200, 300, 900, 1500, 2100]),
        ((range(700, 701), 6000, range(300, 901, 300), 9000), [700, 300, 600, 900]),
    ],
)
@pytest.mark.parametrize("before", [1, 3, 12])
@pytest.mark.parametrize("between", [1, 2, 12])
def test_rates_behind_steps_begin_a_launch_whose_steps_do_not_go_on(
    tmp_path: Path, rows: tuple[range, int, range, int], steps: list[int], before: int, between: int
) -> None:
    first, total, second, other = rows
    text = before * RATE + _rows(first, total) + between * RATE + _rows(second, other)
    run = read_log(tmp_path, text)
    assert run.attempts == 2
    assert steps_of(run)["L1"] == steps
    assert steps_of(run)["Learning rate"] == [1, second[0]]
    [series] = [each for key, each in run.data.series.items() if key.metric == "L1"]
    assert series.attempt.tolist() == [0] * len(first) + [1] * len(second)


@pytest.mark.parametrize("rates", [1, 4])
def test_rates_between_steps_that_go_on_begin_nothing(tmp_path: Path, rates: int) -> None:
    text = "".join(
        (rates * RATE).replace("Epoch 1", f"Epoch {epoch}")
        + "".join(
            _rows(range(step, step + 201, 100), 1200, epoch=epoch)
            + RATE.replace("Epoch 1", f"Epoch {epoch}")
            + f"Test PSNR: 3{epoch}.5 SSIM: 0.8{epoch}\n"
            for step in range(100, 1200, 300)
        )
        for epoch in range(1, 4)
    )
    run = read_log(tmp_path, text)
    assert run.attempts == 1
    assert steps_of(run)["L1"] == [*range(100, 3601, 100)]


def test_a_rate_of_an_epoch_that_differs_is_read(tmp_path: Path) -> None:
    text = "".join(
        f"[Epoch {n}]\tLearning rate: {n}.5e-5\n" + _rows(range(100, 301, 100), 300) for n in (1, 2, 3)
    )
    run = read_log(tmp_path, text)
    assert run.attempts == 1
    assert len(steps_of(run)["Learning rate"]) == 3


def epochs_with(rate: str) -> str:
    """Epochs whose rate is in a line of its own below the heading, first the same and then another one."""
    return "".join(
        f"Epoch {n}/6\n{rate.format(lr=f'0.{min(50, 53 - n)}')}\n"
        + "".join(f"Epoch: [{n}][{at}/40] Loss 1.{n}{at}\n" for at in (0, 20, 40))
        for n in range(6)
    )


@pytest.mark.parametrize(
    ("rate", "name"),
    [
        ("Adjusted learning rate to {lr}", "learning rate"),
        ("Adjusting learning rate of group 0 to {lr}.", "learning rate"),
        ("=> lr was set to: {lr}", "lr"),
        ("learning rate of group 1 set to {lr}", "learning rate_1"),
        ("learning rate: {lr}", "learning rate"),
    ],
)
@pytest.mark.parametrize("settings", ["", "SGD (\n    lr: 0.5\n    momentum: 0.9\n)\n"])
def test_a_rate_that_is_set_at_each_epoch_is_a_series(
    tmp_path: Path, rate: str, name: str, settings: str
) -> None:
    run = read_log(tmp_path, settings + epochs_with(rate))
    values = {str(key): points.value.tolist() for key, points in run.data.series.items()}
    assert values.keys() == {"Epoch", "Loss", name}
    assert values[name] == [0.5, 0.5, 0.5, 0.5, 0.49, 0.48]


def test_a_rate_that_stays_the_same_for_long_is_complete(tmp_path: Path) -> None:
    text = "".join(
        f"E=1 B={n}0 ppl=9.{n:02}\nCheckpoint [{n}]\tLearning-rate=0.{1 if n < 60 else 2}\n"
        for n in range(10, 70)
    )
    run = read_log(tmp_path, text)
    assert {str(key): len(points.value) for key, points in run.data.series.items()}["Learning-rate"] == 60


def gan_epochs(change: str) -> str:
    """Epochs of 200 steps, with a changed rate above each."""
    return "".join(
        f"{change.format(old=f'0.0{9 - n}', new=f'0.0{8 - n}')}\n"
        + "".join(
            f"(epoch: {n + 1}, iters: {at}, time: 0.4) D_A: 0.{n}{at} G_A: 1.{at}\n" for at in (100, 200)
        )
        + f"End of epoch {n + 1} / 4 \t Time Taken: 101 sec\n"
        for n in range(4)
    )


@pytest.mark.parametrize(
    ("change", "name"),
    [
        ("learning rate {old} -> {new}", "learning rate"),
        ("lr: {old} => {new}", "lr"),
        ("Learning rate reduced from {old} to {new}.", "Learning rate"),
        ("lr was lowered from {old} to {new}", "lr"),
    ],
)
def test_of_a_change_the_new_rate_is_read_each_time(tmp_path: Path, change: str, name: str) -> None:
    run = read_log(tmp_path, gan_epochs(change))
    assert run.attempts == 1
    [rates] = [points for key, points in run.data.series.items() if str(key) == name]
    assert [*zip(rates.step.tolist(), rates.value.tolist(), strict=True)] == [
        (100, 0.08),
        (200, 0.07),
        (400, 0.06),
        (600, 0.05),
    ]


def test_the_range_of_a_search_changes_no_rate(tmp_path: Path) -> None:
    text = "Searching lr from 1e-5 to 1e-2\n" + "".join(f"step {n}: loss 1.{n}\n" for n in range(1, 9))
    assert steps_of(read_log(tmp_path, text)) == {"loss": [*range(1, 9)]}


def _settings(launch: int, rate: str) -> str:
    """What a launch prints before its first epoch."""
    rows = (
        "######\tconfig\t######",
        "model_version: 3",
        f"lr: {rate}",
        "weight_decay: 1e-05",
        "batch_size: 48",
        "epochs: 40",
        "seed: 17",
        "define the model",
        "######\tstart training\t######",
    )
    return "".join(f"[2024-03-0{launch} 12:01:46,539] {row}\n" for row in rows)


def _epochs(launch: int, epochs: int) -> str:
    at = f"[2024-03-0{launch} 13:0%d:0%d,539] "
    return "".join(
        at % (epoch, 1) + f"Epoch {epoch}, lr={epoch / 500}\n" + at % (epoch, 5) + f"ACC=0.{launch}{epoch}5\n"
        for epoch in range(epochs)
    )


@pytest.mark.parametrize("rates", [("0.0003",) * 4, ("0.0003", "0.02", "0.0003", "0.02")])
def test_the_rate_of_the_first_epoch_alone_is_a_launch_behind_settings(
    tmp_path: Path, rates: tuple[str, ...]
) -> None:
    first = "[2024-03-0{0} 12:01:50,539] Epoch 0, lr=0\n"
    text = "".join(_settings(n, rate) + first.format(n) for n, rate in enumerate(rates, 1))
    text += "".join(_settings(n, rates[0]) + _epochs(n, 4) for n in (5, 6))
    run = read_log(tmp_path, text)
    assert run.attempts == 6
    assert steps_of(run)["lr"] == [0, 0, 0, 0, 0, 1, 2, 3, 0, 1, 2, 3]
    assert steps_of(run)["ACC"] == [0, 1, 2, 3, 0, 1, 2, 3]
