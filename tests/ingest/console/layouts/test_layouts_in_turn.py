"""Lines of several layouts and processes in turn are read at once, as one after another."""

from __future__ import annotations

import json

import pytest

from holter.ingest.console import table_records
from holter.ingest.console.console_reader import ConsoleReader
from holter.ingest.console.dialect import ConsoleDialect
from holter.ingest.console.dialects import deepspeed, plain_lines
from holter.ingest.console.parsed_lines import ParsedLines
from holter.ingest.console.table_records import TableRecords
from holter.ingest.stdout.system_text import SYSTEM_DIALECTS

IN_COLUMNS = deepspeed.DIALECT.followed_by(plain_lines.OWN_TEXT, *SYSTEM_DIALECTS).of_any_logger()

FORMS = {
    "two layouts at other steps": ("step: {0} loss: 0.{0}\n", "step: {1} grad_norm: 1.{0}\n"),
    "two layouts at the same step": ("step: {0} loss: 0.{0}\n", "step: {0} grad_norm: 1.{0}\n"),
    "a layout twice at a step": (
        "step: {0} loss: 0.{0}\n",
        "step: {0} loss: 1.{0}\n",
        "step: {0} grad_norm: 0.1\n",
    ),
    "global steps among steps": ("global_step={0}, grad_norm=0.{0}\n", "step: {0} loss: 0.{0}\n"),
    "two processes": ("rank-0  | step: {0} loss: 0.{0}\n", "rank-1  | step: {0} loss: 1.{0} lr: 0.1\n"),
    "a process and none": ("rank-0  | step: {0} loss: 0.{0}\n", "step: {0} accuracy: 0.{0}\n"),
    "an evaluation in turn": (
        "Epoch [2/9] [{0}/200] loss: 0.{0} lr: 0.1\n",
        "[Eval] Epoch [2/9] loss: 0.5{0} acc: 0.{1}\n",
    ),
    "an evaluation between two layouts": (
        "Epoch [2/9] [{0}/200] loss: 0.{0}\n",
        "[Eval] Epoch [2/9] loss: 0.5{0}\n",
        "Epoch [2/9] [{1}/200] grad_norm: 0.{0}\n",
    ),
    "batches that come again": (
        "Epoch [2/9] [{0}/200] loss: 0.{0}\n",
        "[Eval] Epoch [2/9] loss: 0.5{0}\n",
        "Epoch [2/9] [{0}/200] grad_norm: 0.{0}\n",
    ),
    "totals and rates": (
        "[2026-05-21 02:00:00,123] [INFO] [logging.py:96:log_dist] [Rank 0] "
        "step={0}, skipped=0, lr=[0.{0}], mom=[(0.9, 0.95)]\n",
        "[Step {0}/900] Loss: 0.{0} | Global Tokens/s: {1}.5\n",
    ),
    "epochs of two processes": (
        "rank-0  | Epoch [2/9] [{0}/200] loss: 0.{0}\n",
        "rank-1  | Epoch [2/9] [{0}/200] loss: 1.{0}\n",
        "rank-0  | [Eval] Epoch [2/9] loss: 0.5{0}\n",
        "rank-1  | [Eval] Epoch [2/9] loss: 1.5{0}\n",
    ),
    "totals": ("step {0}/900 loss: 0.{0}\n", "step: {0} lr: 0.{0}\n"),
}
LINE_BY_LINE = ("a process and none", "totals", "batches that come again")
BEHIND = (
    "",
    "Epoch 3 loss: 0.5 lr: 0.1\n",
    "step: 7 loss: 0.25\nstep: 8 loss: 0.5\n",
    "validation loss: 0.75\nEpoch 4, loss: 0.5\n",
)


def read_by(dialect: ConsoleDialect, text: str) -> tuple[str, str]:
    """The rows of a text in two blocks, and what is known behind it."""
    reader, parsed = ConsoleReader(dialect, {}), ParsedLines()
    printed = text.encode()
    middle, position = printed.rindex(b"\n", 0, len(printed) // 2) + 1, 0
    while position < len(printed):
        block = printed[position : middle if position < middle else len(printed)]
        position += reader.parse(block, parsed, position)
    return repr(parsed.rows), json.dumps(reader.state(), sort_keys=True)


def text_in_turn(forms: tuple[str, ...], steps: range) -> str:
    """The lines of each step, one of each form."""
    return "".join(form.format(step, step + 1) for step in steps for form in forms)


@pytest.mark.parametrize("behind", BEHIND)
@pytest.mark.parametrize("forms", FORMS)
@pytest.mark.parametrize("again", [0, 1])
def test_lines_of_steps_in_turn_are_read_at_once_as_one_after_another(
    forms: str, behind: str, again: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = text_in_turn(FORMS[forms], range(10, 90)) * (1 + again)
    text += behind * 8 + text_in_turn(FORMS[forms], range(90, 150)) + behind
    at_once = read_by(IN_COLUMNS, text)
    monkeypatch.setattr(table_records, "_FEWEST_AT_ONCE", len(text))
    assert at_once == read_by(IN_COLUMNS, text)


@pytest.mark.parametrize("forms", [name for name in FORMS if name not in LINE_BY_LINE])
def test_most_lines_of_steps_in_turn_are_read_at_once(forms: str, monkeypatch: pytest.MonkeyPatch) -> None:
    lines: list[int] = []
    add = TableRecords._add_alike
    monkeypatch.setattr(
        TableRecords,
        "_add_alike",
        lambda records, of, rows, *rest: (lines.append(len(rows)), add(records, of, rows, *rest))[1],
    )
    read_by(IN_COLUMNS, text_in_turn(FORMS[forms], range(10, 90)))
    assert sum(lines) >= 40
    assert min(lines) >= table_records._FEWEST_AT_ONCE
