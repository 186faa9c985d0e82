"""The shape of a line, that is its text without its numbers, and what each number in such a line is.

Programs print the same few shapes over and over. A shape is analysed once: which numbers count (epochs,
batches, steps), which are totals of these, which are metrics and by what names. A line then costs one split
and one look-up.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from functools import lru_cache
from zlib import crc32

from holter.ingest.console.line_counters import (
    COUNTS_DATA,
    Counter,
    CounterField,
    counter_of,
    is_length,
    is_lone_batch,
    is_lone_step,
    stage_of,
    states_amount,
)
from holter.ingest.console.line_fields import NumberField, number_fields
from holter.ingest.console.line_names import numbered, unique_name
from holter.ingest.console.line_settings import has_settings, is_setting, is_settings
from holter.ingest.console.line_tokens import is_time
from holter.ingest.console.line_words import (
    BATCHES,
    CALENDAR,
    COUNTED_ROWS,
    DATA_SPLIT,
    EPOCHS,
    INDEX_WORDS,
    LONE_UNITS,
    NOT_METRICS,
    ROUNDS,
    ROWS,
    STEPS,
)
from holter.ingest.console.number_lists import values_of_lists, without_calls
from holter.ingest.metric_names import is_metric_name
from holter.translated_words import in_english

_MANY_METRICS = 3
_TIME = re.compile(r"(?i)time|elapsed|duration|\bsec|\bmin")
"""Names of durations and times, which next to a position are no record."""


@dataclass(frozen=True, slots=True)
class MetricField:
    """A named number: its index among the numbers of a line, and by how much its unit multiplies it."""

    name: str
    index: int
    scale: float


@dataclass(frozen=True, slots=True)
class RowField:
    """A number before the metrics of a line that says which of several things they are of, and its name."""

    name: str
    index: int


@dataclass(frozen=True, slots=True)
class LineShape:
    """The numbers in lines of one shape. `split` is the data they are about, e.g. "val"; "" for training.

    `is_record`: the line has metrics of a training or an evaluation. `is_summary`: it has those of the lines
    before, and counts nothing. `is_heading`: it begins with what it counts, so that it may be the position of
    the lines below.
    """

    counters: tuple[CounterField, ...]
    metrics: tuple[MetricField, ...]
    split: str
    is_record: bool
    is_summary: bool = False
    is_heading: bool = False
    is_amount: bool = False
    """What it counts is how many there are in all: `num_epochs: 50`."""
    stage: str = ""
    """The words before `epoch` that name a part of the training: `FT Epoch [1/20]`."""
    kind: str = ""
    """The same for lines with metrics of the same names."""
    is_round: bool = False
    """It announces a round or an episode, and nothing else."""
    is_report: bool = False
    """None of its metrics is a known one: lines with these may be below it."""
    has_rates_alone: bool = False
    """The same where its metrics are known, but nothing else than rates: `Epoch 3/100, lr: 0.01`."""
    row: RowField | None = None
    """What the line is about, if it is one of several: `Class 0: acc 0.5`."""
    about: tuple[str, str] | None = None
    """The same in words: `dataset: CIFAR, dice: 0.8`."""
    may_recur: bool = False
    """It is no record by itself, but begins with what it counts and has signs between names and numbers."""
    is_settings: bool = False
    """It states settings, as the opening lines of a program do."""
    is_of_training: bool = False
    """It says that it is of the training."""
    is_best: bool = False
    """It repeats the metrics of the best step: `Best performance in epoch 3: auc: 0.9`."""


_NOTHING = LineShape((), (), "", is_record=False)
_SETTINGS = LineShape((), (), "", is_record=False, is_settings=True)

_FULL_WIDTH: dict[int, int | str] = {
    **{code: code - 0xFEE0 for code in range(0xFF01, 0xFF5F)},
    **dict(zip(map(ord, "\u3000、。【】「」《》"), " ,;[][][]", strict=True)),
}
"""Punctuation of Chinese and Japanese, which is as wide as a letter, and that of ASCII."""
_NAME_AHEAD = re.compile(r"(?<![\w.])([A-Za-z][\w -]{0,60}?) (?:at|in|after|for) ")
"""A name before what is counted: `loss at step 5: 2.3`, `Loss at epoch 0 and iteration 5 is 2.3`."""
_SOURCE_FILE = re.compile(r"\.(?:py|cc|cpp|cu|cuh|c|h|go|rs|java|js|lua|m)$")
_SOURCE_SUFFIXES = frozenset({"py", "cc", "cpp", "cu", "h"})
_ESTIMATED = re.compile(r"\bSaving dict for global step")
"""What the estimators of TensorFlow print before the metrics of an evaluation."""
_ABOUT = re.compile(
    r"(?i)(?:^|[\s,;|({\[])['\"]?(dataset|subset|task|domain|category|corpus|lang(?:uage)?|speaker|class)['\"]?"
    r"\s?[:=]\s?['\"]?([a-z][\w.+-]{0,60})(?=['\"]?(?:[\s,;|)}\]]|$))"
)
"""A word before a name that tells one of several things apart, each with lines of its own."""
_BEST = re.compile(r"(?i)\bbest\b(?![_\w-]*[=:])")
_SUMMARY = re.compile(r"\W{0,8}\* ?(?:acc|prec|mean|loss|top)|\W{0,8}\*$|\W{0,8}averaged stats:", re.I)
"""How the mean of an evaluation begins: `* Acc@1 76.1 Acc@5 92.9`, `Averaged stats: loss: 0.5`."""


def names_evaluation(name: str, split: str) -> bool:
    """Whether the name of a metric says that it is of an evaluation, of these data or of others."""
    if name.lower().startswith((split[:3], "train")):
        return True
    found = DATA_SPLIT.match(re.split(r"[/_ ]", in_english(name).strip(), maxsplit=1)[0])
    return found is not None and bool(found[2])


def shape_of_line(parts: list[str]) -> LineShape:
    """What the numbers of a line are, of which these are the texts and numbers in turn.

    Behind a time at its beginning a line is read as without it: `[2026-02-22 15:43:42] INFO - Epoch 1/3`.
    """
    texts = tuple(parts[::2])
    if len(texts) > 2 and is_time(parts[1]) and not texts[0].strip(" [(\t"):
        return _shape_behind_time(texts)
    return shape_of(texts)


@lru_cache(maxsize=8192)
def _shape_behind_time(texts: tuple[str, ...]) -> LineShape:
    """The shape of a line whose first number is a time that nothing is before."""
    shape = shape_of((texts[1].lstrip("]) \t"), *texts[2:]))
    return replace(
        shape,
        counters=tuple(
            replace(field, index=field.index + 1, total_index=field.total_index + (field.total_index >= 0))
            for field in shape.counters
        ),
        metrics=tuple(replace(field, index=field.index + 1) for field in shape.metrics),
        row=None if shape.row is None else replace(shape.row, index=shape.row.index + 1),
    )


@lru_cache(maxsize=8192)
def shape_of(texts: tuple[str, ...]) -> LineShape:
    """What the numbers between these texts are."""
    if len(texts) < 2:
        return _NOTHING
    if not all(map(str.isascii, texts)):
        texts = tuple(text.translate(_FULL_WIDTH) for text in texts)
    texts = without_calls(texts)
    counters: list[CounterField] = []
    metrics: list[MetricField] = []
    axes: list[MetricField] = []
    names: dict[str, None] = {}  # in their order
    strong, split, section, marked = False, "", "", 0
    row: RowField | None = None
    rows = 0
    is_heading = is_stated = is_amount = is_round = False
    amounts = 0
    stage = ""
    part = ""  # of the line: `[valid]` behind the numbers of the training
    unnamed: CounterField | None = None
    ratio: NumberField | None = None
    lists, names_of_lists = values_of_lists(texts), dict[int, str]()
    for field in number_fields(texts):
        if (found := DATA_SPLIT.search(in_english(field.before))) is not None:
            data = (found[2] or "train").lower()
            if not split or (found[2] and not metrics and field.before.rstrip().endswith("]")):
                split = data  # `main.py - train - [eval] loss: 0.5`
            part = data if metrics and found[2] and split != data else ""
        elif not split and _ESTIMATED.search(field.before + field.name):
            split = "eval"
        if not metrics and (name := _row_name(field)):
            row = None if rows else RowField(name, field.index)
            rows += 1
            continue
        if texts[field.index + 1].startswith("%|"):  # `Epoch 1 - Valid: 100%|####| [loss=0.5]`, of a bar
            found = DATA_SPLIT.fullmatch(field.english)
            split = split or (found[2] or "train" if found is not None else "").lower()
            continue
        counter = counter_of(field, counters)
        if counter is Counter.BATCH and unnamed is not None and not field.name and len(counters) == 1:
            counters[0] = unnamed = replace(unnamed, counter=Counter.EPOCH)  # `[0/300][10/1251]`
        if (
            counter in (Counter.STEP, Counter.BATCH)
            and field.name
            and len(counters) == 1
            and counters[0] is unnamed
        ):
            counters[0] = unnamed = replace(unnamed, counter=Counter.EPOCH)  # `[1/60] iter 10/445`
        if counter is Counter.STEP and is_length(field, counters):
            counter = None
        if counter is Counter.BATCH and field.total_index < 0 and metrics and unnamed in counters:
            continue  # `[500/9000] loss 0.5 | batch 16`, the size
        if counter is Counter.STEP and field.total_index >= 0 and is_lone_batch(counters):
            counters[0] = replace(counters[0], counter=Counter.EPOCH)  # `Train: [1/5] Step 50/335`
        if counter is Counter.STEP and field.total_index >= 0 and is_lone_step(counters):
            counters[0] = replace(counters[0], counter=Counter.EPOCH)  # `iteration:3 step:20/150`
        if counter is not None:
            if counter in (Counter.EPOCH, Counter.OTHER) and field.name not in names:
                name = "epoch" if not field.name or DATA_SPLIT.fullmatch(field.name) else field.name
                names[name] = None
                axes.append(MetricField(name, field.index, field.scale))
            if not split and (found := DATA_SPLIT.search(field.english)) is not None and found[2]:
                split = found[2].lower()
            is_round = not counters and _without_index_word(field.english).lower() in ROUNDS
            if counter is Counter.EPOCH and not counters:
                stage = stage_of(field)
            amounts += states_amount(field)
            is_amount = amounts > 0
            begins = not counters and not is_amount and field.clean and not has_settings(_names(metrics))
            is_stated |= begins
            # neither `[3/5] Loading the model` nor `num_updates: 50` is a position
            is_heading |= begins and bool(field.name) and not field.name.startswith(("num_", "max_", "n_"))
            if counter is Counter.STEP and field.total_index < 0 and COUNTS_DATA.search(field.before):
                counter = Counter.BATCH  # `Iter(val) [500]`, a number of batches
            counters.append(CounterField(counter, field.index, field.total_index, field.scale))
            if not field.name and len(counters) == 1:
                unnamed = counters[0]
        elif not field.name and field.marked and counters and not metrics:
            ahead = next(filter(None, map(_NAME_AHEAD.search, texts[: counters[0].index + 1])), None)
            if ahead is not None and is_metric_name(ahead[1]):
                metrics.append(MetricField(ahead[1], field.index, field.scale))
                strong = True
        elif ratio is not None and _is_of_ratio(field, ratio, texts):
            metrics[-1] = replace(metrics[-1], index=field.index, scale=field.scale)
        elif not field.name and lists.get(field.index) in names_of_lists:
            name = numbered(names_of_lists[lists[field.index]], names)
            names[name] = None
            metrics.append(MetricField(name, field.index, field.scale))
        elif _is_metric(field):
            stated = field.name if not part or DATA_SPLIT.search(field.english) else f"{part}/{field.name}"
            name, section = unique_name(stated, section, names)
            names[name] = None
            names_of_lists[field.index] = name
            if part and field.before.endswith(f"({part})"):
                part = ""  # it was that of one name: `Loss(train): 0.5, Loss(val): 0.4, alpha: 0.1`
            metrics.append(MetricField(name, field.index, field.scale))
            # `Epoch 3, train = 0.5, val = 0.6`
            is_clear = (is_stated and field.marked) or (bool(counters) and field.clean)
            strong |= is_metric_name(name) or (is_clear and _is_of_data(field))
            marked += field.marked and _TIME.search(name) is None
        ratio = (
            field if field.total_index >= 0 and metrics[-1:] and metrics[-1].index == field.index else None
        )
    first = next((fields[0].index for fields in (metrics, counters) if fields), 0)
    names_of_metrics = _names(metrics)
    if amounts > 1 or is_settings(texts, first + 1, names_of_metrics, is_amount=is_amount):
        return _SETTINGS  # `Epochs: 25, Iters: 4675` are some, too
    if len(counters) > 2 and unnamed is not None:  # `(0/8)`, a rank, before the epoch and the batch
        counters.remove(unnamed)
    is_of_training = split == "train"
    split = "" if is_of_training else split
    measures = strong or (bool(split) and not has_settings(names_of_metrics))
    is_report = _is_report(counters, metrics, marked=marked if is_stated else 0)
    is_record = bool(counters) and bool(metrics) and (measures or is_report)
    is_summary = not counters and bool(metrics) and (bool(split) or _is_summary(texts[0], metrics[0].name))
    if len(counters) > 1:  # what else counts is an axis that people may want
        metrics = [*axes, *metrics]
    about = _about(texts) if metrics else None
    if about is not None:  # `Category: person Accuracy 0.2`
        words = f"{about[1]} "
        metrics = [replace(field, name=field.name.removeprefix(words)) for field in metrics]
    kind = str(crc32("\n".join(field.name for field in metrics).encode()))
    return LineShape(
        *(tuple(counters), tuple(metrics), split, is_record, is_summary, is_heading, is_amount, stage, kind),
        is_round=is_round and is_heading,
        is_report=is_record and not measures,
        has_rates_alone=is_record and measures and all(map(is_setting, names_of_metrics)),
        is_of_training=is_of_training,
        row=row,
        about=about,
        may_recur=is_stated and marked > 0 and not (is_record or split or has_settings(names_of_metrics)),
        is_best=bool(counters) and _BEST.search("".join(texts[: counters[0].index + 1])) is not None,
    )


def _about(texts: tuple[str, ...]) -> tuple[str, str] | None:
    """What a line says that it is about, if it is one of several things with names."""
    match = next(filter(None, map(_ABOUT.search, texts)), None)
    return None if match is None or DATA_SPLIT.fullmatch(match[2]) else (match[1].lower(), match[2])


def _is_of_ratio(field: NumberField, ratio: NumberField, texts: tuple[str, ...]) -> bool:
    """Whether a number is the quotient of the two before it: `Accuracy: 9821/10000 (98.2%)`, `= 0.982`."""
    is_next = not field.name and field.index == ratio.total_index + 1
    return is_next and texts[field.index].strip() in ("=", "(", ": (", "->", "→")


def _is_of_data(field: NumberField) -> bool:
    """Whether nothing but the data is the name of a metric."""
    return DATA_SPLIT.fullmatch(field.english) is not None


def _is_summary(text: str, name: str) -> bool:
    """Whether a line whose first text and name are these has the means of an evaluation."""
    found = DATA_SPLIT.match(name)
    return _SUMMARY.match(text) is not None or (found is not None and bool(found[2]))


def _is_report(counters: list[CounterField], metrics: list[MetricField], *, marked: int) -> bool:
    """Whether unknown names are of metrics: none is that of a setting.

    One with a sign is enough in a line that begins with an epoch, else three; `marked` says how many there
    are in a line that begins with what it counts. Three without are enough with an epoch and its batch.
    """
    counted = {field.counter for field in counters}
    several = len(metrics) >= _MANY_METRICS and len(counted) > 1
    is_stated = marked >= (1 if Counter.EPOCH in counted else _MANY_METRICS)
    return (is_stated or several) and not has_settings(field.name for field in metrics)


def _row_name(field: NumberField) -> str:
    """The name of what a number tells apart, if it does: `Class 0: acc 0.5`, `[Client 3] loss 0.5`."""
    if not field.name or field.explains or field.is_duration:
        return ""
    words = field.english.lower().replace("_", " ").split()
    if words[1:] and words[-1].rstrip(".:") in INDEX_WORDS:
        words.pop()
    if len(words) != 1 or words[0] not in (COUNTED_ROWS if field.marked else ROWS):
        return ""  # `Class: 0.5` is a loss
    return words[0]


def _names(metrics: list[MetricField]) -> list[str]:
    return [field.name for field in metrics]


def _without_index_word(name: str) -> str:
    """A name without `number` or the like at its end: `Round number`."""
    words = name.split()
    return " ".join(words[:-1]) if words[1:] and words[-1].lower().rstrip(".:") in INDEX_WORDS else name


def _is_metric(field: NumberField) -> bool:
    name = field.name
    lower = field.english.lower().replace("_", " ")
    if (
        not lower.strip()
        or (name in LONE_UNITS and not (field.clean and field.before.strip()))
        or name[-1] in "/-"  # a part of a path
        or lower.rpartition("/")[2] in NOT_METRICS
        or name.rpartition(" ")[2] in CALENDAR
        or (name in _SOURCE_SUFFIXES and field.index and not field.before.strip("."))  # `123.py:45`
        or (field.total_index >= 0 and not (field.marked and is_metric_name(name)))
        or _SOURCE_FILE.search(name)
    ):
        return False
    last = lower.split()[-1]
    if (last in STEPS and lower != "steps") or last in EPOCHS or last in BATCHES:  # `warm-up steps: 100`
        return False
    return field.marked or field.clean or is_metric_name(name) or name[:1].isupper()
