"""What a line with a progress bar states: its position, what is named around it, and of which data.

Before a bar is its description, which is read as any line is: `Epoch: 1. Train. Loss: 0.5:  33%|##  | 20/60`.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import NamedTuple

from holter.ingest.console.line.cached_shapes import shape_of_line
from holter.ingest.console.line.data_names import is_of_evaluation
from holter.ingest.console.line.line_counters import Counter
from holter.ingest.console.line.line_shapes import measured_values
from holter.ingest.console.line.line_tokens import split_numbers
from holter.ingest.console.line.line_words import DATA_SPLIT
from holter.ingest.console.plain.plain_line import counts_of
from holter.ingest.console.steps.line_counts import Counts
from holter.ingest.console.text.values import parse_numbers
from holter.ingest.metric_names import is_metric_name

_BAR = re.compile(
    r"(?:\||\d%)\s*+(?P<at>\d++)(?:\.\d{1,2})?/(?P<total>\d++)(?:\.\d{1,2})? "
    r"\[[^,\]]{0,60}+(?:,\s*+[\d.?]++\s*+(?P<rate>\w++/s|s/\w++))?(?:,\s*+(?P<behind>[^\]]{0,2000}+))?(?:\]|$)",
    re.IGNORECASE,
)
_BAR_OF_SIGNS = re.compile(
    r"(?<!\d)(?P<at>\d++)/(?P<total>\d++) \[[=>.]++\] (?:- ETA: [\d:]++s?|[\d.]++m?s/step)"
    r" {2,4}(?P<rate>)(?P<behind>(?:[A-Za-z]\w{0,40}+: -?\d[\d.e+-]{0,20}+(?: - |,? {0,4}+)){1,20}+)"
)
"""A bar in the shape of those of Keras, with the values of a batch: `3/9 [==>...] - ETA: 2s  loss: 2.1`."""
_DRAWING_OF_RICH = "\u2501\u2578\u257a"
_TIME_OF_RICH = r"(?:\u2022 )?(?:\d{1,3}:\d\d:\d\d|-:--:--)"
_BAR_OF_RICH = re.compile(
    rf"[{_DRAWING_OF_RICH}] {{1,200}}(?:\d{{1,3}}% {{1,4}})?(?P<at>\d++)/(?P<total>\d++)"
    rf"(?: {_TIME_OF_RICH}){{1,2}}"
    r"(?: (?:\u2022 )?[\d.]{1,12} ?(?P<rate>\w{1,9}/\w{1,9}))?,? {1,4}(?P<behind>[A-Za-z].{0,2000}+)"
)
"""A bar of rich: `Epoch 0/4 \u2501\u2501\u2501 5/20 0:00:00 \u2022 0:00:01 12.3it/s v_num: 0 loss: 1.75`."""
_PAIR = re.compile(
    r"([A-Za-z_][\w./ @()-]{0,100}+)['\"]?\s*+[=:]\s*+['\"]?"
    r"([-+]?\d{1,3}(?:,\d{3})++(?:\.\d++)?(?![\w.])|[-+\w.%]*[\w%])"
)
_DASHED_PAIR = re.compile(r"(?:^|, )([A-Za-z_][\w./@]{0,60}) - (-?\d[\d.e+-]{0,20})(?=,|$)")
"""A pair with a dash for a sign: `dice_loss - 0.5, iou_score - 0.4`."""
_FRACTION = r"-?\d{1,9}\.\d{1,20}(?:[eE][-+]?\d{1,3})?"
_DIVIDED = re.compile(rf"(?<![\w/)])([A-Za-z]\w{{0,30}} ?[:=] ?)({_FRACTION}(?:/{_FRACTION})+)(?![\w/.])")
"""Fractions behind a name with slashes between, of which none is a total: `rim: 1.75e-03/4.5e-04`."""
_COUNTS_EPOCHS = re.compile(r"(?i)\bepochs?\W{0,4}$")
_EPOCH_AHEAD = re.compile(r"^\s*(\d{1,9})/(\d{1,9}) \* Epoch \(")
"""The epoch before a bar of Catalyst: `3/10 * Epoch (train): 100% 391/391`."""
_NAMES_STEPS = re.compile(r"(?i)step|iter|update")
_CLIENT = re.compile(
    r"(?i)(?<!\w)(?:local )?(?:client|pari?ticipant|party)[ _#-]{0,2}(?P<number>\d{1,6})(?![\w/.])"
)
"""One of those that take part in a round, whose bar it is: `Local participant 3 loss = 0.5:  33%|`."""
_NUMBER_ALONE = re.compile(r"\s*-?\d{1,9}\.\d{1,20}(?:e-?\d{1,3})?\s*", re.IGNORECASE)
"""What is nothing but a number before or behind a bar, the loss: `pbar.set_description(f"{loss:.4f}")`."""
_NOT_METRICS = frozenset({"v_num", "step", "global_step", "epoch", "iteration", "iter", "itr", "it"})


class Bar(NamedTuple):
    """A progress bar: `at` a count of a `total`, with the values that are named before and behind it.

    `counts` has what else it states of its position, `split` the data of an evaluation.
    """

    at: int
    total: int
    description: str
    counts: Counts
    values: dict[str, float]
    split: str
    is_of_training: bool
    counts_epochs: bool
    version: str | None
    """The version of a run of Lightning, which no other program states."""
    client: str = ""
    """The number of the client whose bar it is."""


def parse_bar(line: str) -> Bar | None:
    """The progress bar of a line, None if it has none."""
    match = _BAR.search(line) or _BAR_OF_SIGNS.search(line)
    if match is None and _DRAWING_OF_RICH[0] in line:
        match = _BAR_OF_RICH.search(line)
    if match is None:
        return None
    description = _description(line[: match.start("at")])
    described = _described(description)
    pairs = _pairs(match["behind"] or "")
    counts, values = described.counts, described.values
    if pairs:
        values = values | _metrics(pairs)
        if (epoch := _stated_epoch(pairs)) is not None:
            counts = {**counts, Counter.EPOCH: epoch}
    return Bar(
        at=int(match["at"]),
        total=int(match["total"]),
        description=description,
        counts=counts,
        values=values if values and _are_measured(described.numbers | dict(pairs)) else {},
        split=described.split,
        is_of_training=described.is_of_training,
        counts_epochs=described.counts_epochs or "epoch" in (match["rate"] or "").lower(),
        version=next((number for name, number in pairs if name == "v_num"), None),
        client=described.client,
    )


def _description(text: str) -> str:
    """What is before a bar, without its drawing and its per cent: `Epoch 1:  33%|###       | `."""
    text = text.rstrip()
    if text.endswith("|"):
        text = text[: max(0, text.rfind("|", 0, -1))]
    if text.endswith("%"):
        text = text[:-1].rstrip("0123456789.")
    return text.rstrip(f" :|{_DRAWING_OF_RICH}")


class _Description(NamedTuple):
    """What a description counts, and its named numbers with their texts; the others as in a `Bar`."""

    counts: Counts
    values: dict[str, float]
    numbers: dict[str, str]
    split: str = ""
    is_of_training: bool = False
    counts_epochs: bool = False
    client: str = ""


@lru_cache(maxsize=1024)
def _described(text: str) -> _Description:
    if _NUMBER_ALONE.fullmatch(text) is not None:
        return _Description({}, {"loss": float(text)}, {"loss": text})
    if "/" in text:
        text = _DIVIDED.sub(_as_list, text)
    if (client := _CLIENT.search(text)) is not None:
        text = f"{text[: client.start()]}: {text[client.end() :]}"
    parts = split_numbers(text)
    shape, numbers = shape_of_line(parts), parts[1::2]
    counts = {counter: (abs(number), total) for counter, (number, total) in counts_of(shape, numbers).items()}
    if any(numbers[field.index].rstrip(".").count(".") for field in shape.counters):
        counts = {}  # `Epoch 1.00` is a part of the epochs
    if (ahead := _EPOCH_AHEAD.match(text)) is not None:
        counts = {Counter.EPOCH: (int(ahead[1]), int(ahead[2]))}
    elif Counter.STEP in counts and counts[Counter.STEP][1] and _NAMES_STEPS.search(text) is None:
        counts = {Counter.EPOCH: counts[Counter.STEP]}  # `[1/100] Loss_D: 0.5`
    counted = {field.index for field in shape.counters}
    metrics = [field for field in shape.metrics if field.index not in counted]
    values = {
        field.name: value for field, value in measured_values(shape, numbers) if field.index not in counted
    }
    # a word within a name states of which data the bar is only if all are: `loss 0.5, val loss 0.4`
    are_of_data = all(is_of_evaluation(field.name) for field in metrics)
    end = len(text) if are_of_data else sum(map(len, parts[: 2 * metrics[0].index + 1]))
    data = DATA_SPLIT.search(text, 0, end)
    return _Description(
        counts,
        values,
        {field.name: numbers[field.index] for field in metrics if field.name in values},
        split=(data[2] or "").lower() if data is not None else "",
        is_of_training=data is not None and not data[2],
        counts_epochs=_COUNTS_EPOCHS.search(text) is not None,
        client="" if client is None else str(int(client["number"])),
    )


def _as_list(match: re.Match[str]) -> str:
    return f"{match[1]}[{match[2].replace('/', ', ')}]"


def named_metrics(text: str) -> dict[str, float]:
    """The named numbers of a text that are no positions."""
    return _metrics(_pairs(text))


def _metrics(pairs: list[tuple[str, str]]) -> dict[str, float]:
    return parse_numbers(pair for pair in pairs if pair[0].lower() not in _NOT_METRICS)


def _pairs(text: str) -> list[tuple[str, str]]:
    """The named numbers behind a bar, or one without a name."""
    if _NUMBER_ALONE.fullmatch(text) is not None:
        return [("loss", text.strip())]
    pairs = _PAIR.findall(text)
    if " - " in text:
        pairs += _DASHED_PAIR.findall(text)
    return [(_without_opened(name).strip(), number) for name, number in pairs]


def _stated_epoch(pairs: list[tuple[str, str]]) -> tuple[int, int] | None:
    """The epoch that is stated behind a bar: `epoch=3, loss=0.5`."""
    stated = next((number for name, number in pairs if name.lower() == "epoch"), "")
    return (int(stated), 0) if stated.isdecimal() else None


def _are_measured(texts: dict[str, str]) -> bool:
    """Whether named numbers are of a training: a known metric or two fractions are among them."""
    fractions = sum("." in number and number.rstrip("%")[-1:].isdigit() for number in texts.values())
    return fractions > 1 or any(map(is_metric_name, texts))


def _without_opened(name: str) -> str:
    """A name without what is before it: `(loss=0.7`."""
    return name.rpartition("(")[2] if name.count("(") > name.count(")") else name
