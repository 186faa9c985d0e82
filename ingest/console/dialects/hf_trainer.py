"""Hugging Face's Trainer, TRL, Axolotl and ms-swift: a dict per log call, and progress bars."""

from __future__ import annotations

import re

from holter.ingest.console.dialect import ConsoleDialect, DialectState, LineKind, LineValues
from holter.ingest.console.dialects import hf_setup
from holter.ingest.console.values import parse_number

_DICT = re.compile(r"\{('[\w/() ]{1,200}': .{0,6000})\}")
_PAIR = re.compile(r"'([^']+)': ('?)([^,'}]+)\2")
_BAR = re.compile(r"^\s*\d+%\|[^|]*\| (\d+)/(\d+) \[")
_OWN_STEPS = ("global_step/max_steps", "global_step", "step")  # ms-swift's, Paddle's; what callbacks add
_OF_A_LOG = frozenset({*_OWN_STEPS, "epoch", "loss", "eval_loss"})
_NOT_METRICS = frozenset({*_OWN_STEPS, "max_steps"})
_LOSS = "train/loss"


def _logged(line: str, state: DialectState) -> list[LineValues] | LineValues | None:
    """`{'loss': 1.5214, 'learning_rate': 1.4e-06, 'epoch': 0.01}`, from v5 on with numbers in quotes.

    The step is not in it but in the progress bar that follows; without bars the n-th record of the training
    loss is at step n. Such texts also contain dicts of settings.
    """
    match = _DICT.search(line)
    if match is None:
        return None
    texts = {name: text for name, _, text in _PAIR.findall(match[1])}
    if texts.keys().isdisjoint(_OF_A_LOG):
        return None
    own = next((parse_number(texts[name].partition("/")[0]) for name in _OWN_STEPS if name in texts), None)
    values = {
        metric_name(name): value
        for name, text in texts.items()
        if name not in _NOT_METRICS and (value := parse_number(text)) is not None
    }
    if _LOSS in values:
        state["count"] = state.get("count", 0) + 1
        if (bar := _BAR.search(line[: match.start()])) is not None:
            state["last"] = [int(bar[1]), int(bar[2])]
        if state.get("last", [0, state.get("total")])[1] != state.get("total"):
            state["bar"], state["total"] = state["last"]  # earlier bars were those of loading or evaluating
    if own is not None:
        return LineValues(int(own), values)
    if "total" not in state:
        return LineValues(state.get("count", 0), values)
    return _defer(values, state)


def _defer(values: dict[str, float], state: DialectState) -> list[LineValues] | LineValues | None:
    """Retain a record until the next bar shows its step; one still retained by then is at the last bar.

    Where training losses follow each other without a bar, records and bars came through buffers of their
    own: a record's step is its number then.
    """
    count = state.get("count", 0)
    if state.get("in bulk"):
        return LineValues(count, values)
    before = state.get("held", {})
    if _LOSS in before and _LOSS in values:
        state["in bulk"] = True
        del state["held"]
        return [LineValues(count - 1, before), LineValues(count, values)]
    if before.keys() & values.keys():
        state["held"] = values
        return LineValues(state.get("bar", 0), before)
    state["held"] = before | values
    return None


def metric_name(name: str) -> str:
    """The name that the Trainer gives a value in TensorBoard."""
    if name == "epoch":
        return name
    for split in ("eval", "test"):
        if name.startswith(f"{split}_"):
            return f"{split}/{name.removeprefix(f'{split}_')}"
    return f"train/{name}"


def _bar(line: str, state: DialectState) -> LineValues | None:
    """A bar of the training; the bars of evaluations have other lengths."""
    match = _BAR.search(line)
    if match is None:
        return None
    state["last"] = [step, total] = [int(match[1]), int(match[2])]
    if state.setdefault("total", total) != total:
        return None
    state["bar"] = step
    state.pop("in bulk", None)
    pending = state.pop("held", None)
    return LineValues(step, pending) if pending else None


DIALECT = ConsoleDialect(
    name="hf-trainer",
    signature=re.compile(
        rb"\{'(?:loss|eval_loss)': '?[\d.naif-]+'?, '"
        rb"|(?:^|[^=])\{'[^{}\n]{0,2000}, 'loss': '?[\d.naif-]+'?, '"
    ),
    kinds=(
        LineKind(pattern=re.compile(rb"\{'[\w/() ]+': "), parse=_logged),
        LineKind(pattern=re.compile(rb" \[\d\d:\d\d"), parse=_bar),
        *hf_setup.KINDS,
    ),
)
