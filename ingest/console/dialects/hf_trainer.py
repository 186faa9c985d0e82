"""Hugging Face's Trainer, and what builds on it (TRL, Axolotl, ms-swift): a dict a log, progress bars."""

from __future__ import annotations

import re

from holter.ingest.console.dialect import ConsoleDialect, DialectState, LineKind, LineValues
from holter.ingest.console.dialects import hf_setup
from holter.ingest.console.values import parse_number

_DICT = re.compile(r"\{('[\w/() ]+': .*)\}")
_PAIR = re.compile(r"'([^']+)': ('?)([^,'}]+)\2")
_BAR = re.compile(r"^\s*\d+%\|[^|]*\| (\d+)/(\d+) \[")
_OWN_STEPS = ("global_step/max_steps", "step")  # ms-swift's; what callbacks add
_OF_A_LOG = frozenset({*_OWN_STEPS, "epoch", "loss", "eval_loss"})
_NOT_METRICS = frozenset({*_OWN_STEPS, "max_steps"})
_LOSS = "train/loss"


def _logged(line: str, memory: DialectState) -> list[LineValues] | LineValues | None:
    """`{'loss': 1.5214, 'learning_rate': 1.4e-06, 'epoch': 0.01}`, from v5 on with numbers in quotes.

    The step does not stand in it. The progress bar that follows tells; without bars the n-th record of
    the training loss stands at step n. Dicts of settings stand in such texts as well.
    """
    found = _DICT.search(line)
    if found is None:
        return None
    texts = {name: text for name, _, text in _PAIR.findall(found[1])}
    if texts.keys().isdisjoint(_OF_A_LOG):
        return None
    own = next((parse_number(texts[name].partition("/")[0]) for name in _OWN_STEPS if name in texts), None)
    values = {
        metric_name(name): value
        for name, text in texts.items()
        if name not in _NOT_METRICS and (value := parse_number(text)) is not None
    }
    if _LOSS in values:
        memory["count"] = memory.get("count", 0) + 1
        if (bar := _BAR.search(line[: found.start()])) is not None:
            memory["last"] = [int(bar[1]), int(bar[2])]
        if memory.get("last", [0, memory.get("total")])[1] != memory.get("total"):
            memory["bar"], memory["total"] = memory["last"]  # before were bars of loading or evaluating
    if own is not None:
        return LineValues(int(own), values)
    if "total" not in memory:
        return LineValues(memory.get("count", 0), values)
    return _hold(values, memory)


def _hold(values: dict[str, float], memory: DialectState) -> list[LineValues] | LineValues | None:
    """Keep a record until the bar says where it stands; one that is still kept stands at the last bar.

    Where training losses follow each other without a bar, records and bars came through buffers of their
    own: a record stands at its number then.
    """
    count = memory.get("count", 0)
    if memory.get("in bulk"):
        return LineValues(count, values)
    before = memory.get("held", {})
    if _LOSS in before and _LOSS in values:
        memory["in bulk"] = True
        del memory["held"]
        return [LineValues(count - 1, before), LineValues(count, values)]
    if before.keys() & values.keys():
        memory["held"] = values
        return LineValues(memory.get("bar", 0), before)
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


def _bar(line: str, memory: DialectState) -> LineValues | None:
    """A bar of the training: evaluations have bars of their own, of other lengths."""
    found = _BAR.search(line)
    if found is None:
        return None
    memory["last"] = [step, total] = [int(found[1]), int(found[2])]
    if memory.setdefault("total", total) != total:
        return None
    memory["bar"] = step
    memory.pop("in bulk", None)
    held = memory.pop("held", None)
    return LineValues(step, held) if held else None


DIALECT = ConsoleDialect(
    name="hf-trainer",
    tell=re.compile(rb"\{'(?:loss|eval_loss)': '?[\d.naif-]+'?, '|, 'loss': '?[\d.naif-]+'?, '"),
    kinds=(
        LineKind(mark=re.compile(rb"\{'[\w/() ]+': "), read=_logged),
        LineKind(mark=re.compile(rb" \[\d\d:\d\d"), read=_bar),
        *hf_setup.KINDS,
    ),
)
