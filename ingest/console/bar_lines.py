"""What a line with a progress bar states: its position, what is named around it, and of which data.

Before a bar is its description, which is read as any line is: `Epoch: 1. Train. Loss: 0.5:  33%|##  | 20/60`.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from holter.ingest.console.line_counters import Counter
from holter.ingest.console.line_names import is_of_evaluation
from holter.ingest.console.line_tokens import split_numbers, value_of
from holter.ingest.console.line_words import DATA_SPLIT
from holter.ingest.console.plain_line import counts_of
from holter.ingest.console.shape_reader import shape_of_line
from holter.ingest.console.step_axis import Counts
from holter.ingest.console.values import parse_numbers
from holter.ingest.metric_names import is_metric_name

_BAR = re.compile(
    r"(?:\||\d%)\s*+(?P<at>\d++)(?:\.\d{1,2})?/(?P<total>\d++)(?:\.\d{1,2})? "
    r"\[[^,\]]{0,60}+(?:,\s*+[\d.?]++\s*+(?P<rate>\w++/s|s/\w++))?(?:,\s*+(?P<behind>[^\]]{0,2000}+))?(?:\]|$)",
    re.IGNORECASE,
)
_PAIR = re.compile(r"([A-Za-z_][\w./ @()-]{0,100}+)['\"]?\s*+[=:]\s*+['\"]?([-+\w.%]*[\w%])")
_DASHED_PAIR = re.compile(r"(?:^|, )([A-Za-z_][\w./@]{0,60}) - (-?\d[\d.e+-]{0,20})(?=,|$)")
"""A pair with a dash for a sign: `dice_loss - 0.5, iou_score - 0.4`."""
_COUNTS_EPOCHS = re.compile(r"(?i)\bepochs?\W{0,4}$")
_EPOCH_AHEAD = re.compile(r"^\s*(\d{1,9})/(\d{1,9}) \* Epoch \(")
"""The epoch before a bar of Catalyst: `3/10 * Epoch (train): 100% 391/391`."""
_NUMBER_ALONE = re.compile(r"\s*-?\d{1,9}\.\d{1,20}(?:e-?\d{1,3})?\s*", re.IGNORECASE)
"""What is nothing but a number before or behind a bar, the loss: `pbar.set_description(f"{loss:.4f}")`."""
_NOT_METRICS = frozenset({"v_num", "step", "global_step", "epoch", "iteration"})


class Bar(NamedTuple):
    """A progress bar: `at` a count of a `total`, with the values that are named before and behind it.

    `counts` has what else it states of its position, `split` the data of an evaluation.
    """

    at: int
    total: int
    counts: Counts
    values: dict[str, float]
    split: str
    is_of_training: bool
    counts_epochs: bool
    version: str | None
    """The version of a run of Lightning, which no other program states."""
    description: str


def parse_bar(line: str) -> Bar | None:
    """The progress bar of a line, None if it has none."""
    match = _BAR.search(line)
    if match is None:
        return None
    description = _description(line[: match.start("at")])
    described = _described(description)
    pairs = _pairs(match["behind"] or "")
    texts = described.numbers | dict(pairs)
    values = described.values | _metrics(pairs)
    counts = described.counts
    if (epoch := _stated_epoch(description, pairs)) is not None:
        counts = {Counter.EPOCH: epoch, **counts}
    data = DATA_SPLIT.search(description, 0, described.end_of_words)
    return Bar(
        at=int(match["at"]),
        total=int(match["total"]),
        counts=counts,
        values=values if _are_measured(texts) else {},
        split=(data[2] or "").lower() if data is not None else "",
        is_of_training=data is not None and not data[2],
        counts_epochs="epoch" in (match["rate"] or "").lower()
        or _COUNTS_EPOCHS.search(description) is not None,
        version=dict(pairs).get("v_num"),
        description=description,
    )


def _description(text: str) -> str:
    """What is before a bar, without its drawing and its per cent: `Epoch 1:  33%|###       | `."""
    text = text.rstrip()
    if text.endswith("|"):
        text = text[: max(0, text.rfind("|", 0, -1))]
    if text.endswith("%"):
        text = text[:-1].rstrip("0123456789.")
    return text.rstrip(" :|")


class _Description(NamedTuple):
    """What a description counts, its named numbers with their texts, and where the words about it end."""

    counts: Counts
    values: dict[str, float]
    numbers: dict[str, str]
    end_of_words: int


def _described(text: str) -> _Description:
    if _NUMBER_ALONE.fullmatch(text) is not None:
        return _Description({}, {"loss": float(text)}, {"loss": text}, 0)
    parts = split_numbers(text)
    shape, numbers = shape_of_line(parts), parts[1::2]
    counts = {counter: (abs(number), total) for counter, (number, total) in counts_of(shape, numbers).items()}
    if any(numbers[field.index].rstrip(".").count(".") for field in shape.counters):
        counts = {}  # `Epoch 1.00` is a part of the epochs
    counted = {field.index for field in shape.counters}
    metrics = [field for field in shape.metrics if field.index not in counted]
    values = {
        field.name: value * field.scale
        for field in metrics
        if (value := value_of(numbers[field.index])) is not None
    }
    # a word within a name says of which data the bar is only if all are: `loss 0.5, val loss 0.4`
    are_of_data = all(is_of_evaluation(field.name) for field in metrics)
    end = len(text) if are_of_data else sum(map(len, parts[: 2 * metrics[0].index + 1]))
    texts = {field.name: numbers[field.index] for field in metrics if field.name in values}
    return _Description(counts, values, texts, end)


def named_metrics(text: str) -> dict[str, float]:
    """The named numbers of a text that are no positions."""
    return _metrics(_pairs(text))


def _metrics(pairs: list[tuple[str, str]]) -> dict[str, float]:
    return parse_numbers(pair for pair in pairs if pair[0].lower() not in _NOT_METRICS)


def _pairs(text: str) -> list[tuple[str, str]]:
    """The named numbers behind a bar, or one without a name."""
    if _NUMBER_ALONE.fullmatch(text) is not None:
        return [("loss", text.strip())]
    pairs = _PAIR.findall(text) + _DASHED_PAIR.findall(text)
    return [(_without_opened(name).strip(), number) for name, number in pairs]


def _stated_epoch(description: str, pairs: list[tuple[str, str]]) -> tuple[int, int] | None:
    """The epoch of a bar where its description is no line of an epoch: before an asterisk, or behind it."""
    if (ahead := _EPOCH_AHEAD.match(description)) is not None:
        return int(ahead[1]), int(ahead[2])
    stated = next((number for name, number in pairs if name.lower() == "epoch"), "")
    return (int(stated), 0) if stated.isdecimal() else None


def _are_measured(texts: dict[str, str]) -> bool:
    """Whether named numbers are of a training: a known metric or two fractions are among them."""
    fractions = sum("." in number and number.rstrip("%")[-1:].isdigit() for number in texts.values())
    return fractions > 1 or any(map(is_metric_name, texts))


def _without_opened(name: str) -> str:
    """A name without what is before it: `(loss=0.7`."""
    return name.rpartition("(")[2] if name.count("(") > name.count(")") else name
