"""Arrays that numpy and torch print over several lines are lists of values."""

from __future__ import annotations

import io
from pathlib import Path

import pytest

from holter.ingest.array_lines import join_arrays, without_open_array
from holter.ingest.lines import read_text_block
from tests.support.log_runs import read_log

EPOCHS = range(1, 5)
ARRAY = "[0.1 0.25\n 0.3 0.4\n 0.5]"
LIST = "tensor([0.1, 0.25,\n        0.3, 0.4, 0.5])"


@pytest.mark.parametrize("array", [ARRAY, LIST, ARRAY.replace("\n", "\r\n")], ids=["numpy", "torch", "CRLF"])
@pytest.mark.parametrize(
    "form",
    ["Epoch {n} loss: 2.{n}\niou: {array}\nmiou: 0.31\n", "Epoch {n} loss: 2.{n} iou: {array} miou: 0.31\n"],
    ids=["on lines of its own", "within a line"],
)
def test_all_values_of_an_array_are_read(form: str, array: str, tmp_path: Path) -> None:
    run = read_log(tmp_path, "".join(form.format(n=n, array=array) for n in EPOCHS))
    values = {key.metric: series.value.tolist() for key, series in run.data.series.items()}
    names = ["iou", "iou 2", "iou 3", "iou 4", "iou 5"]
    assert [values[name] for name in names] == [[value] * 4 for value in (0.1, 0.25, 0.3, 0.4, 0.5)]
    assert values["miou"] == [0.31] * 4


@pytest.mark.parametrize(
    "text",
    ["counts [[3 4]\n [5 6]]\n", "Epoch [1\n 2 and more\n", "loss [0.5]\n 1 2 3]\n", "names [a\n 2]\n",
     "Epoch [1/5]\n  3 0.5\n"],
)  # fmt: skip
def test_what_is_no_array_of_one_dimension_stays(text: str) -> None:
    assert join_arrays(text.encode()) == text.encode()


def test_the_length_of_a_text_stays() -> None:
    text = f"iou: {ARRAY}\nacc: {ARRAY}\nloss 0.5\n".encode()
    joined = join_arrays(text)
    assert len(joined) == len(text)
    assert joined.count(b"\n") == 3


def test_lines_wait_for_the_end_of_their_array() -> None:
    begin, end = b"loss 0.5\niou: [0.1 0.2\n 0.3 0.4\n", b" 0.5]\n"
    assert without_open_array(begin) == b"loss 0.5\n"
    stream = io.BytesIO(begin)
    assert read_text_block(stream) == b"loss 0.5\n"
    assert read_text_block(stream) is None
    stream = io.BytesIO(begin + end)
    stream.seek(9)
    assert read_text_block(stream) == b"iou: [0.1 0.2\x0b 0.3 0.4\x0b 0.5]\n"


def test_an_array_that_never_ends_holds_nothing_back() -> None:
    text = b"weights: [0.1 0.2\n" + b" 0.3 0.4\n" * 1000
    assert without_open_array(text) == text


@pytest.mark.parametrize("end", ["", "\n", " 0.25\n", "\n 0.25\n"])
def test_a_text_that_ends_within_an_array_is_read(end: str, tmp_path: Path) -> None:
    text = "".join(f"Epoch {n} loss: 0.{n} iou: [0.5{n} 0.75]\n" for n in range(1, 7))
    run = read_log(tmp_path, f"{text}Epoch 7 loss: 0.7 iou: [0.5{end}")
    [loss] = [series for key, series in run.data.series.items() if key.metric == "loss"]
    assert loss.step.tolist() == [*range(1, 8)]
    assert not run.unreadable
