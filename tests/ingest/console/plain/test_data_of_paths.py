"""Results of one of several, whose path names the data that it is of."""

from __future__ import annotations

from pathlib import Path

import pytest

from holter.ingest.console.line.data_names import data_of_path
from tests.support.log_runs import read_log, steps_of


@pytest.mark.parametrize(
    ("text", "data"),
    [
        ("'Item':/mnt/disk/test_data/P7/ '", "test"),
        ("sets/valid/P7/ ", "valid"),
        ("~/sets/val_set/: ", "val"),
        ("/mnt/train_data/P7/ ", ""),
        ("/home/test/project/sets/P7/ ", None),
        ("/dev/shm/P7/ ", None),
        ("train/val ", None),
    ],
)
def test_a_path_names_its_data_by_one_of_its_last_folders(text: str, data: str | None) -> None:
    assert data_of_path(text) == data


def test_results_are_of_the_data_of_their_path_and_not_of_the_line_above(tmp_path: Path) -> None:
    def items(data: str, *names: str) -> str:
        return "".join(f"'Item':/mnt/{data}_data/{name}/ 'SSIM': 0.5, 'MSE': 0.1:\n" for name in names)

    epochs = "".join(f"epoch: {n}\ntrain loss:0.{n}\n'SSIM': 0.{n}, 'MSE': 0.{n}5\n" for n in (1, 2, 3))
    text = (
        f"{epochs}{items('valid', 'P1', 'P2')}Valid Total: 'SSIM': 0.6, 'MSE': 0.2\n"
        f"{items('test', 'Q1', 'Q2')}Test Total: 'SSIM': 0.7, 'MSE': 0.3\n"
    )
    steps = steps_of(read_log(tmp_path, text))
    of_items = {
        f"{name}/{data}" for name, data in (("P1", "valid"), ("P2", "valid"), ("Q1", "test"), ("Q2", "test"))
    }
    assert {name.rpartition("/")[0] for name in steps} - {"train"} == {"", "valid", "test", *of_items}
    assert all(steps[f"{item}/SSIM"] == [3] for item in of_items)
