"""The data that a line is about, of the training or of an evaluation, by the words around its numbers."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence

from holter.ingest.console.line.data_names import evaluation_of, is_of_evaluation
from holter.ingest.console.line.line_counters import Counter, CounterField
from holter.ingest.console.line.line_settings import is_learning_rate, is_setting
from holter.ingest.console.line.line_shapes import LineShape, MetricField
from holter.ingest.console.line.line_words import DATA_SPLIT, DATA_TAG, EVALUATIONS
from holter.ingest.metric_names import is_metric_name

_BEHIND_METRICS = re.compile(rf"(?i)%?[\s,;|-]{{0,8}}[\[(](?:(train(?:ing)?|trn)|({EVALUATIONS}))[\])]\s*")
"""The data at the end of a line: `Epoch 3 loss 0.5 (val)`."""
_BEHIND_COUNTER = re.compile(
    r"(?i)[\s,;:|\])>*=\u2013\u2014-]{0,8}[\[(]?"
    r"(?:(?:start|begin)(?:n?ing)? (?:the )?|(?:phase|mode)[:=]? ?)?"
    r"(?:(?:results?|metrics|scores?|performance) (?:on|for|of) (?:the )?)?"
    rf"(?:(train(?:ing)?|trn)|({EVALUATIONS}))"
    r"(?: (?:set|data))?"
    r"(?: (?:stage|phase|mode|loop|metrics|results?|scores?|stat(?:istic)?s|summary|report))?"
    r"[^\w/]{0,80}"
)
"""The same at the end of a heading: `Epoch [3/10] [validation stage]`, `Epoch 3 - Validation Metrics:`."""

_DICTIONARY = re.compile(
    r"(?i)(?<![\w./'\"-])(?:(?:avg|average|mean|final|epoch)[_ ])?"
    rf"(?:(train(?:ing)?|trn)|({EVALUATIONS}))_"
    r"(?:metrics?|results?|res|scores?|stat(?:istic)?s?|scalars?|loss(?:es)?|logs?|report|summary|dict|info|out(?:puts?)?)"
    r"(?:_dict)?\s?[:=]?\s?$"
)
"""The name of a dictionary that is that of the values of data: `avg_test_scalars {'loss': 0.5}`."""
_SUMMARY = re.compile(r"\W{0,8}\* {0,4}(?:acc|prec|mean|loss|top)|\W{0,8}\*$|\W{0,8}averaged stats:", re.I)
"""How the mean of an evaluation begins: `* Acc@1 76.1 Acc@5 92.9`, `Averaged stats: loss: 0.5`."""
_END_OF_EPOCH = re.compile(
    r"(?i)(?:epoch|轮|輪|エポック|에포크) ?(?:is )?"
    r"(?:(?:finished|ended|done|completed?|over)\b|完成|结束|結束|終了|完了|완료)"
)
"""What states that an epoch is over, without its number: `Epoch finished in 31 s, mean PSNR: 24.5`."""


def tag_before(text: str) -> re.Match[str] | None:
    """The word for data in the text before a number.

    Behind one for the training it is the last one if a colon follows that: `Train: none | Valid: loss=0.5`.
    """
    found = DATA_TAG.search(text)
    if found is None or not found[1]:
        return found
    last = [*DATA_TAG.finditer(text)][-1]
    return last if text[last.end() :].strip() == ":" else found


def data_before(found: re.Match[str]) -> str:
    """The data that words before a number name: `Evaluating test: L1 0.03` are those of the test."""
    word = (found[2] or "train").lower()
    if word.startswith("evaluat") and (of := DATA_SPLIT.match(found.string, found.end() + 1)) is not None:
        return of[2].lower() if of[2] else "eval/train"
    return word


def data_of_dictionary(before: str, text: str) -> re.Match[str] | None:
    """The data in the name of a dictionary whose first value follows a text; `before` is before its key."""
    return _DICTIONARY.search(before) if text[len(before) :].startswith("{") else None


def data_behind(text: str, *, is_heading: bool) -> str:
    """The data that the text behind the last number of a line names, `is_heading` if none is of a metric."""
    stated = _BEHIND_COUNTER.fullmatch(text) if is_heading else None
    stated = stated or _BEHIND_METRICS.fullmatch(text)
    if stated is None:
        return ""
    return "train" if stated[1] else stated[2].lower()


def data_ahead(counters: Sequence[CounterField], metrics: Sequence[MetricField]) -> str:
    """The data of the evaluation that a line may be of, as its first metric and all known ones are.

    The others may be of it as well: `Epoch 3: valid_loss 0.5 | num_tokens 13.8 | valid_perplexity 1.6`.
    """
    places = {field.index for field in counters if field.counter is not Counter.OTHER}
    measured = sorted((field for field in metrics if field.index not in places), key=lambda each: each.index)
    data = evaluation_of(measured[0].name) if measured else ""
    others = [field.name for field in measured if data and not is_of_evaluation(field.name)]
    is_shared = bool(others) and not any(is_metric_name(name) and not is_setting(name) for name in others)
    return data if is_shared else ""


def names_behind_data(shape: LineShape, known: Collection[str]) -> dict[str, str]:
    """The names that numbers of such a line have where a line of the training at its step has the same ones.

    `known` are the names of the lines of this step.
    """
    if not any(is_metric_name(name) and not (is_setting(name) or is_of_evaluation(name)) for name in known):
        return {}
    places = {field.index for field in shape.counters if field.counter is not Counter.OTHER}
    return {
        field.name: f"{shape.data_ahead}/{field.name}"
        for field in shape.metrics
        if field.name in known and field.index not in places
        if not (is_of_evaluation(field.name) or is_learning_rate(field.name))
    }


def is_summary(text: str, name: str) -> bool:
    """Whether a line whose first text and name are these has the means of an evaluation."""
    found = DATA_SPLIT.match(name)
    return _SUMMARY.match(text) is not None or (found is not None and bool(found[2]))


def ends_epoch(line: str, names: Sequence[str]) -> bool:
    """Whether a line that counts nothing states that an epoch is over, and has something measured in it."""
    is_measured = any(is_metric_name(name) and not is_setting(name) for name in names)
    return is_measured and _END_OF_EPOCH.search(line) is not None
