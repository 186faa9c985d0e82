"""Hugging Face's Trainer, and what builds on it (TRL, Axolotl, ms-swift): a dict a log, progress bars."""

from __future__ import annotations

import re

from holter.ingest.console import hf_setup
from holter.ingest.console.dialect import Dialect, LineKind, Memory, Said
from holter.ingest.console.numbers import number

_DICT = re.compile(r"\{('[\w/() ]+': .*)\}")
_PAIR = re.compile(r"'([^']+)': ('?)([^,'}]+)\2")
_BAR = re.compile(r"^\s*\d+%\|[^|]*\| (\d+)/(\d+) \[")
_OWN_STEP = "global_step/max_steps"


def _logged(line: str, memory: Memory) -> Said | None:
    """`{'loss': 1.5214, 'learning_rate': 1.4e-06, 'epoch': 0.01}`, from v5 on with numbers in quotes.

    The step does not stand in it. The progress bar that follows tells; without bars the n-th record of
    the training loss stands at step n.
    """
    found = _DICT.search(line)
    if found is None:
        return None
    values, step = {}, None
    for name, _, text in _PAIR.findall(found[1]):
        if name == _OWN_STEP:
            step = number(text.partition("/")[0])
        elif (value := number(text)) is not None:
            values[metric_name(name)] = value
    if "train/loss" in values:
        memory["count"] = memory.get("count", 0) + 1
    if step is not None:
        return Said(int(step), values)
    if "total" not in memory:
        return Said(memory.get("count", 0), values)
    return _hold(values, memory)


def _hold(values: dict[str, float], memory: Memory) -> Said | None:
    """Keep a record until the bar says where it stands; one that is still kept stands at the last bar."""
    before = memory.get("held", {})
    if before.keys() & values.keys():
        memory["held"] = values
        return Said(memory.get("bar", 0), before)
    memory["held"] = before | values
    return None


def metric_name(name: str) -> str:
    """The name that the Trainer gives a value in TensorBoard."""
    if name == "epoch":
        return name
    for split in ("eval", "test"):
        if name.startswith(f"{split}_"):
            return f"{split}/{name.removeprefix(f'{split}_')}"
    return f"train/{name}"


def _bar(line: str, memory: Memory) -> Said | None:
    """A bar of the training: evaluations have bars of their own, of other lengths."""
    found = _BAR.search(line)
    if found is None or memory.setdefault("total", int(found[2])) != int(found[2]):
        return None
    memory["bar"] = int(found[1])
    held = memory.pop("held", None)
    return Said(memory["bar"], held) if held else None


DIALECT = Dialect(
    name="hf-trainer",
    tell=re.compile(rb"\{'(?:loss|eval_loss)': '?[\d.naif-]+'?, '"),
    kinds=(
        LineKind(mark=re.compile(rb"\{'[\w/() ]+': "), read=_logged),
        LineKind(mark=re.compile(rb" \[\d\d:\d\d"), read=_bar),
        *hf_setup.KINDS,
    ),
)
