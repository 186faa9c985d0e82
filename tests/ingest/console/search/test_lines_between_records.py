"""Records with other lines between them are read at once, as one after another."""

from __future__ import annotations

import gc
import io
import json
import threading
from random import Random

import pytest

from holter.ingest.console import table_records
from holter.ingest.console.console_reader import ConsoleReader
from holter.ingest.console.dialects import plain_lines
from holter.ingest.console.table_records import TableRecords
from holter.ingest.console.writers import interleaved_writers
from holter.ingest.console.writers.repeated_rows import RepeatedRows
from holter.ingest.stdout.system_text import SYSTEM_DIALECTS
from holter.ingest.uncollected import uncollected
from holter.types import Batch

DIALECT = plain_lines.OWN_TEXT.followed_by(*SYSTEM_DIALECTS).of_any_logger()
OPENING = "Setting the seed of the sampler to 7\nUsing device: cuda\nLoading the tokenizer of the model\n"
RECORDS = (
    "step: {0} loss: 0.{1} lr: 0.5\n",
    "step: {0} | throughput {1}.5 tokens/s | loss 0.{1}\n",
    "2026-03-02 10:00:01,123 INFO global_step={0}, grad_norm=0.{1}\n",
)
BETWEEN = {
    "other text": ("A shard of the data was read\n",),
    "what announces a step": ("Wrote step {0} to a disk\n",),
    "both": ("A shard of the data was read\n", "Wrote step {0} to a disk\n"),
    "the heading of an evaluation": ("Evaluating at step {0}\n", "A shard of the data was read\n"),
    "an announced step that goes back": ("Wrote step 5 to a disk\n", "A shard of the data was read\n"),
    "an evaluation": ("validation loss: 0.{1}\n", "A shard of the data was read\n"),
    "a traceback": ("A shard was read\n" * 9, "Traceback (most recent call last):\nOSError: full\n"),
    "the end of a step": ("Step {0} done\n", "A shard of the data was read\n"),
}
BREAKS = {
    "nothing": "",
    "opening lines": OPENING,
    "a checkpoint": "Resuming from the checkpoint of step 5\n",
    "a line of the first step again": "step: 1 loss: 0.25 lr: 0.5\n",
}
READ_AT_ONCE = ("other text", "what announces a step", "both")


def text_of(between: str, broken_by: str) -> bytes:
    """Records of steps in any order of their forms, with other lines; in the middle is something else."""
    random = Random(3)
    lines = [OPENING]
    for step in range(1, 1200):
        lines.append(random.choice(RECORDS).format(step, random.randint(100, 999)))
        if random.random() < 0.4:
            lines.append(random.choice(BETWEEN[between]).format(step, random.randint(100, 999)))
        if step == 700:
            lines.append(BREAKS[broken_by])
    return "".join(lines).encode()


def read(text: bytes) -> tuple[list[str], str]:
    """What the batches of a text hold, and what is known behind it."""
    reader = ConsoleReader(DIALECT, {})
    batches = [each for each in reader.read(io.BytesIO(text)) if isinstance(each, Batch)]
    held = [
        repr((each.steps.tolist(), each.times.tolist(), each.restarts, dict(each.config)))
        + repr(
            [(c.key, c.values.tolist(), None if c.rows is None else c.rows.tolist()) for c in each.columns]
        )
        for each in batches
    ]
    return held, json.dumps(reader.state(), sort_keys=True)


@pytest.mark.parametrize("broken_by", BREAKS)
@pytest.mark.parametrize("between", BETWEEN)
def test_records_between_other_lines_are_read_at_once_as_one_after_another(
    between: str, broken_by: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = text_of(between, broken_by)
    at_once = read(text)
    monkeypatch.setattr(table_records, "_FEWEST_AT_ONCE", len(text))
    monkeypatch.setattr(interleaved_writers, "_FEWEST_AT_ONCE", len(text))
    monkeypatch.setattr(TableRecords, "add_over_gaps", lambda *_: None)
    monkeypatch.setattr(RepeatedRows, "_is_of_later_steps", lambda *_: False)
    assert at_once == read(text)


@pytest.mark.parametrize("between", READ_AT_ONCE)
def test_most_records_between_lines_that_say_nothing_are_read_at_once(
    between: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    lines: list[int] = []
    add = TableRecords._add_alike
    monkeypatch.setattr(
        TableRecords,
        "_add_alike",
        lambda records, of, rows, *rest: (lines.append(len(rows)), add(records, of, rows, *rest))[1],
    )
    read(text_of(between, "nothing"))
    assert max(lines) >= 800


def test_the_search_for_garbage_goes_on_behind_a_pause_unless_it_was_off() -> None:
    was_on = gc.isenabled()
    try:
        gc.enable()
        with uncollected():
            assert not gc.isenabled()
        assert gc.isenabled()
        gc.disable()
        with uncollected():
            assert not gc.isenabled()
        assert not gc.isenabled()
    finally:
        (gc.enable if was_on else gc.disable)()


def test_threads_that_pause_the_search_for_garbage_at_once_leave_it_on() -> None:
    was_on = gc.isenabled()
    both = threading.Barrier(2)

    def pause() -> None:
        with uncollected():
            both.wait(timeout=60)

    try:
        gc.enable()
        threads = [threading.Thread(target=pause) for _ in range(2)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert gc.isenabled()
    finally:
        (gc.enable if was_on else gc.disable)()
