"""Lines whose layout is known are read as the grammar reads each by itself, whatever their numbers are."""

from __future__ import annotations

import io
import json
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from holter.ingest.console.console_reader import ConsoleReader
from holter.ingest.console.dialect import ConsoleDialect
from holter.ingest.console.dialects import deepspeed, plain_lines
from holter.ingest.console.search import layout_index
from holter.ingest.console.table_records import TableRecords
from holter.ingest.stdout.system_text import SYSTEM_DIALECTS
from holter.types import Batch
from tests.support.format_samples import SAMPLES

WITH_LAYOUTS = plain_lines.OWN_TEXT.of_any_logger().followed_by(*SYSTEM_DIALECTS)


def without_columns(dialect: ConsoleDialect) -> ConsoleDialect:
    """The dialect whose lines are parsed one by one."""
    return replace(dialect, kinds=tuple(replace(kind, columns=None) for kind in dialect.kinds))


LINE_BY_LINE = without_columns(WITH_LAYOUTS)
OF_DEEPSPEED = deepspeed.DIALECT.followed_by(*SYSTEM_DIALECTS, plain_lines.OWN_TEXT)


def read(dialect: ConsoleDialect, text: bytes) -> tuple[list[str], str]:
    """Every row, setting and problem of a text in their order, and the state of the reader behind it."""
    reader = ConsoleReader(dialect, {})
    found = []
    for record in [*reader.read(io.BytesIO(text)), *reader.finish()]:
        if not isinstance(record, Batch):
            found.append(repr(record))
            continue
        found += [f"{step} {time}" for step, time in zip(record.steps, record.times, strict=True)]
        found += [f"{column.key} {column.rows} {column.values.tolist()}" for column in record.columns]
    return found, json.dumps(reader.state(), sort_keys=True)


COUNTS = st.one_of(st.integers(0, 12), st.integers(0, 10**4), st.integers(0, 10**11)).map(str)
VALUES = st.one_of(
    st.floats(-1e4, 1e4).map(lambda value: f"{value:.4f}"),
    st.floats(-1e4, 1e4).map(lambda value: f"{value:.3g}"),
    st.sampled_from(["nan", "-inf", "0", "5.", "+3", "1e5", "2E-05"]),
)
TIMES = st.sampled_from(["2026-05-21 02:45:36,101", "2026-05-22 12:30:05,999", "2027-01-01 00:00:00,000"])
ODD = st.sampled_from(
    [
        "+inf",
        ".5",
        "-7",
        "1,234",
        "64,000",
        "0x1f",
        "007",
        "2026",
        "05",
        "12:30:05",
        "0:13:57",
        "1.2.3",
        "2026-05-21",
    ]
)
TEXTS = st.sampled_from(
    [
        *(" ", ": ", "=", "/", " / ", "-", ":", ".", ",", ", ", "T", "x", "e", "%", "K ", "ms ", "s, ", "|"),
        *(
            "[",
            "]",
            "] [",
            "][",
            "(",
            ") ",
            " day, ",
            " days, ",
            "\t",
            " - ",
            "'",
            "\x1b[32m",
            "\x1b[0m ",
            "_",
        ),
        *("step ", "Step: ", "step-", "epoch=", "Epoch [", "iter: ", "global_step: ", "batch ", "tokens: "),
        *(
            "loss: ",
            " Loss ",
            "lr=",
            "acc@1 ",
            "val_loss: ",
            "[Eval] ",
            "train ",
            "Test: [",
            "file-07 ",
            "top",
        ),
        *(
            "INFO ",
            "[rank1]: ",
            "[1,0]<stdout>:",
            "3: ",
            "node12: ",
            "é ",
            "█",
            "loss_",
            "a--",
            "@",
            "v",
            "* ",
        ),
    ]
)


@st.composite
def texts_of_few_layouts(draw: st.DrawFn) -> bytes:
    """Lines of a few layouts: the same texts with other numbers between them, mixed with any bytes."""
    slots = st.sampled_from([COUNTS, VALUES, TIMES, ODD])
    starts = st.sampled_from(["", "step ", "Epoch [", "[Eval] epoch ", "loss: "])
    forms: list[list[Any]] = [
        [draw(starts), COUNTS, " loss: ", VALUES, *draw(st.lists(st.one_of(TEXTS, slots), max_size=10))]
        for _ in range(draw(st.integers(1, 3)))
    ]
    lines = []
    for _ in range(draw(st.integers(4, 30))):
        form = forms[draw(st.integers(0, len(forms) - 1))]
        odd = draw(st.integers(0, 3 * len(form)))
        numbers = (ODD if index == odd else piece for index, piece in enumerate(form))
        lines.append("".join(piece if isinstance(piece, str) else draw(piece) for piece in numbers).encode())
        if draw(st.integers(0, 30)) == 0:
            lines.append(draw(st.binary(max_size=30)))
    return draw(st.sampled_from([b"\n", b"\r\n", b"\r"])).join([*lines, b""])


@pytest.fixture(autouse=True, scope="module")
def layouts_of_single_lines() -> Iterator[None]:
    """Every line that is parsed makes a layout, so that few lines suffice for a test."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(layout_index, "_MIN_LINES", 1)
        yield


@settings(max_examples=150, deadline=None)
@given(texts_of_few_layouts())
@example(
    b"7 loss: nan\nstep 10 loss: 2E-05\n1 loss: .5\nstep 219 loss: 1\nstep 3503 loss: 5.1\nstep 1 loss: 1\n"
)
@example(b"+inf loss: 0.0\nstep 0 loss: -7\n+inf0 loss: 0.0\nstep 0 loss: 0.0\nstep 0 loss: +inf\n")
def test_known_layouts_do_not_change_what_is_read(text: bytes) -> None:
    assert read(WITH_LAYOUTS, text) == read(LINE_BY_LINE, text)


@pytest.mark.parametrize("line_end", ["\n", "\r\n", "\r"])
def test_lines_of_one_layout_are_parsed_together(monkeypatch: pytest.MonkeyPatch, line_end: str) -> None:
    parsed: list[bytes] = []
    learn = layout_index.LayoutIndex.learn
    monkeypatch.setattr(
        layout_index.LayoutIndex, "learn", lambda index, line: (parsed.append(line), learn(index, line))[1]
    )
    lines = [f"\x1b[32mstep {step}/90000\x1b[0m loss: {1 / (1 + step):.5g} lr: 1e-05" for step in range(500)]
    saved = [f"saved step {step} to /data/step-{step:06d}.pt" for step in range(500)]
    text = line_end.join([*lines, *saved, ""]).encode()
    assert read(WITH_LAYOUTS, text) == read(LINE_BY_LINE, text)
    assert len(parsed) <= 4


@pytest.mark.parametrize(
    "name", sorted(name for name, (_, content) in SAMPLES.items() if b"\0" not in content)
)
def test_samples_are_read_alike(name: str) -> None:
    content = SAMPLES[name][1][:100_000]
    assert read(WITH_LAYOUTS, content) == read(LINE_BY_LINE, content)


@pytest.mark.parametrize("prefix", ["[default{rank}]:", "{rank}: ", "trainer-{rank}  | ", "[rank{rank}]: "])
def test_lines_of_several_processes_in_turn_are_read_as_each_by_itself(prefix: str) -> None:
    lines = ["Loading the tokenizer and the model", "Training begins"]
    for step in range(60):
        for rank in range(5):
            shown = prefix.format(rank=rank)
            lines.append(f"{shown}step: {step} loss: {rank}.{step} lr: 0.1")
            if step % 20 == 9 and rank < 2:
                lines.append(f"{shown}[Eval] step: {step} acc: 0.{step}{rank}")
        if step == 30:
            lines.append("Saving the checkpoint")
    text = "\n".join([*lines, *lines[:40], ""]).encode()
    assert read(WITH_LAYOUTS, text)[0] == read(LINE_BY_LINE, text)[0]


@pytest.mark.parametrize("end", ["\n", "\r\n", "\n\n"])
def test_lines_of_several_layouts_between_others_are_read_as_each_by_itself(end: str) -> None:
    lines = []
    for step in range(80):
        lines.append(f"step: {step} loss: 0.{step} lr: 1e-4")
        lines += [f"Loading shard {step} from disk"] * (step % 3 == 0)
        lines += [f"global_step={step}, grad_norm=1.{step}, scale=2.0"] * (step % 2)
        lines += ["val_loss: 0.4"] * (step % 10 == 9)
        lines += [f"step: {step} loss: nan lr: 1e-4"] * (step % 7 == 0)
    text = "".join(line + end for line in lines).encode()
    assert read(WITH_LAYOUTS, text) == read(LINE_BY_LINE, text)


def deepspeed_lines(step: int, *, rates: int, prefix: str = "") -> list[str]:
    """Some lines of DeepSpeed and of a script between them, at one step."""
    time = f"2026-05-21 02:{step % 60:02}:{step * 7 % 60:02},123"
    printed = f"{prefix}[{time}] [INFO] [logging.py:96:log_dist] "
    shown = [f"{step}.5e-06", "0.001", "nan", "1e-05"][:rates]
    lines = [
        f"{printed}[Rank 0] step={step}, skipped={step // 9}, lr=[{', '.join(shown)}], mom=[(0.9, 0.95)]",
        f"{prefix}[Step {step}/9000] Loss: 2.{step} | Global Tokens/s: {step}.25",
    ]
    if step % 6 == 5:
        lines.append(f"{prefix}Saving the model to /data/{step}")
    if step % 5 == 4:
        lines.append(f"{prefix}[Eval] step {step} acc: 0.{step}")
    if step % 7 == 6:
        speed = f"RunningAvgSamplesPerSec={step}.5, CurrSamplesPerSec=4.25, MemAllocated=1.5GB"
        lines.append(f"{prefix}[Rank 0] step={step}, skipped=0, lr=[1,200], mom=[0.9]")
        lines.append(f"{printed}[Rank 0] epoch=0/micro_step={step}/global_step={step}, {speed}")
    return lines


@pytest.mark.parametrize("rates", [0, 1, 2, 4])
@pytest.mark.parametrize("prefix", ["", "trainer-1  | ", "2026-05-21T02:00:00.25Z "])
@pytest.mark.parametrize("engines", [1, 2])
def test_learning_rates_of_deepspeed_are_read_in_columns_as_each_by_itself(
    rates: int, prefix: str, engines: int
) -> None:
    lines = ["Namespace(epochs=3, lr=0.1)", "Loading the tokenizer", "Building the model", "Training begins"]
    for step in range(1, 80):
        of_step = deepspeed_lines(step, rates=rates, prefix=prefix)
        lines += [*of_step[:1] * (engines - 1), *of_step]
    text = "\n".join([*lines, "epoch: 3 loss: 0.5", *lines[:60], ""]).encode()
    assert read(OF_DEEPSPEED, text) == read(without_columns(OF_DEEPSPEED), text)


def test_learning_rates_of_deepspeed_make_one_table_with_lines_of_the_script(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    tables: list[int] = []
    add = TableRecords.add
    monkeypatch.setattr(
        TableRecords,
        "add",
        lambda records, found, parsed: (tables.append(len(found.starts)), add(records, found, parsed))[1],
    )
    lines = [line for step in range(300) for line in deepspeed_lines(step, rates=1)[:2]]
    read(OF_DEEPSPEED, "\n".join([*lines, ""]).encode())
    assert sum(tables) > 590
    assert len(tables) <= 4
