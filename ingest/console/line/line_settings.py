"""Recognises lines and names of settings, which are no metrics."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from functools import lru_cache

from holter.ingest.metric_names import is_metric_name
from holter.translated_words import in_english

_SETTINGS = re.compile(
    r"(?:\bNamespace|[Cc]onfig|[Aa]rg(?:ument)?s|[Hh]param(?:eter)?s|[Hh]yperparameters|[Oo]ptions)\s?[(:={]"
    r"|(?i:\b(?:sizes?|shapes?|dim(?:ension)?s?) ?[:=] ?\{['\"]?[a-z])"  # `Feature size: {'node': 25}`
    r"|^(?:[ \t]{0,40}\([\w.-]{1,40})?\): (?!\w{0,40}(?:Loss|Score|Acc|Metric))[A-Z]\w{0,40}\("
    # a part of a network: `(fc1): Linear(in_features=400, out_features=10)`, `(0): Linear(..)`
)
_SIGNS = (
    (re.compile(r"(?:^|\s)--[a-z][\w-]*"), 2),  # options of a command line
    (re.compile(r"[=:] ?(?:True|False|None)\b"), 2),  # flags
    (
        re.compile(
            r"\w['\"]?\s?[=:]\s?(?:True|False|None|true|false|null|'[A-Za-z][^']{0,80}'|\"[A-Za-z][^\"]{0,80}\")"
            r"(?![\w'\"])"
        ),
        3,  # words as values: `{'mode': 'train', 'loss': 0.5}` is a record
    ),
)
"""What settings have in them, and how often no record has it."""
_WORD_AS_VALUE = re.compile(r"(?<![\w.])[A-Za-z]\w{0,30}[:=] ?[A-Za-z][\w.-]{0,60}(?=[ ,;|]|$)")
_LEAST_WORDS = 2
_PER_STEP = ("/iter", "/step", "/batch", "/epoch")
_MANY_SETTINGS = 4
"""Names of settings from which on a metric among four names is one, too: `iou=0.7`."""
_RATE = re.compile(r"(?i)\blr\b|learning.?rate|decay|dropout")
_LEARNING_RATE = re.compile(r"(?i)^(?:(?:current|new|now) )?(?:lr|learning[ _-]?rate)(?:[ _-]?\d{1,2})?$")
_OF_METRIC = (
    r"(?!(?:imum)?[ _.-](?:\w{1,20}[ _.-]){0,2}(?:loss|err|reward|return|acc|score)"
    r"|(?:imum)? val(?:ue)? (?:in|of) )"
)
"""What makes `max` and `min` the extremes of a metric: `max l1_error`, or of values: `Max val in depth`."""
_NAMES_MORE = r"(?:(?<!^m[ai][xn])(?<!val m[ai][xn])(?<!test m[ai][xn])(?<!train m[ai][xn])|(?!$))"
"""What makes `max` and `min` a part of a name.

Alone or behind the data, as in `eval max`, they are the extremes of what is next to them.
"""
_OF_EPISODE = (
    r".*(?<![a-z])(?:ep|eps|episodes?|games?|trajector(?:y|ies)|traj|rollouts?|mean|average|avg|std|train|eval|test)"
    r"(?![a-z])"
)
"""Words beside `length` in the names of what is measured: `ep_length_mean`, `train_length`."""
_OF_OUTCOMES = (
    r"(?!(?:ber)?(?:[ _.-]of)?[ _.-](?:[a-z]{1,12}[ _.-]){0,2}?"
    r"(?:(?:in)?correct(?:ly)?|wrong|right|misclassified|mistakes|errors|hits|successes|successful|wins|solved)"
    r"(?![a-z]))"
)
"""What makes numbers those of outcomes, which are measured: `Number of correct items: 12`, `num_wins`."""
_SETTING = re.compile(
    r"(?i)size|(?<!bits per )(?<!bits/)dim|layer|heads(?![a-z])|head$"
    # `(min)` is a unit or an extreme
    rf"|(?<!\()max{_NAMES_MORE}{_OF_METRIC}(?!.?mem)|(?<!\()min\b{_NAMES_MORE}{_OF_METRIC}"
    rf"|warm|seed|worker|hidden|vocab|param|num{_OF_OUTCOMES}|interval|version|every|freq"
    rf"|^(?!{_OF_EPISODE}).*length"
)
_OF_MODEL = re.compile(
    r"(?i:(?:(?<![a-z])every|_freq(?:uency)?|_interval|_size|_dim|_weight|parameters|params|_thresh(?:old)?|resolution"
    r"|(?:patience|early[ _-]?stop(?:ping)?)(?:[ _-]?count(?:er)?)?)$)"
    r"|^(?!.*(?:LOSS|ACC|REWARD|SCORE|AUC|DICE|RMSE|RECALL|PRECISION|PSNR|SSIM)|.*_(?:[KMG]I?B|MS|SECS?)$)[A-Z][A-Z\d]*(?:_[A-Z\d]+)+$"
)
"""Names that end like settings, are written like constants: `BASE_LR`, or count what stops a training."""
ROW_OF_MODEL = r"\s{0,8}\d{1,3}\s+\|\s+[\w.]+\s+\|\s+[A-Za-z_]\w*\s+\|"
"""A row of Lightning's summary of a model, as a pattern: `0 | train_acc | Accuracy | 0 | train`."""
_ROW_OF_MODEL = re.compile(ROW_OF_MODEL)


def is_settings(texts: Sequence[str], before: int, names: Sequence[str], *, is_amount: bool) -> bool:
    """Whether a line states settings: in its words, by flags, or several and at most a learning rate besides.

    `texts` are those around its numbers, the first `before` of them up to its first field; `names` are those
    of its numbers. One setting is enough next to a number of epochs or steps in all, `is_amount`.
    """
    if any(_SETTINGS.search(text) is not None for text in texts[:before]):
        return True
    if any(sum(len(sign.findall(text)) for text in texts) >= least for sign, least in _SIGNS):
        return True
    return _are_settings(names, is_amount=is_amount)


def are_settings_of(texts: Sequence[str], names: Sequence[str]) -> bool:
    """Whether a line that begins with a number states settings of it: `[7] optim:adam net:mlp lr:0.1`.

    Two words are values, and nothing else than rates is measured.
    """
    words = sum(len(_WORD_AS_VALUE.findall(text)) for text in texts)
    return words >= _LEAST_WORDS and not any(is_metric_name(name) and not is_setting(name) for name in names)


def _are_settings(names: Sequence[str], *, is_amount: bool) -> bool:
    """Whether names are those of settings; see `is_settings`."""
    names = [in_english(name) for name in names]
    settings = sum(_SETTING.search(name) is not None for name in names)
    measured = sum(
        is_metric_name(name) and not _RATE.search(name) and not name.lower().endswith(_PER_STEP)
        for name in names
    )
    if settings >= _MANY_SETTINGS and measured * _MANY_SETTINGS < len(names):
        return True  # `iou=0.7` among dozens
    is_nothing_else = settings > 0 and len(names) > settings and all(map(is_setting, names))
    is_amount_and_rates = is_amount and any(map(_RATE.search, names))
    return (settings > int(not is_amount) or is_nothing_else or is_amount_and_rates) and not measured


def has_settings(names: Iterable[str]) -> bool:
    """Whether one of these names is that of a setting, other than a rate."""
    return any(_SETTING.search(in_english(name)) for name in names)


@lru_cache(maxsize=4096)  # asked for each record
def is_setting(name: str) -> bool:
    """Whether a name is that of a setting, such as a learning rate."""
    name = in_english(name)
    return _SETTING.search(name) is not None or _RATE.search(name) is not None


def is_learning_rate(name: str) -> bool:
    """Whether a name is that of a learning rate, which programs state in their settings and in each epoch."""
    return _LEARNING_RATE.match(name) is not None


def is_row_of_model(line: str) -> bool:
    """Whether a line is a row of Lightning's summary of a model.

    Its first number and that of its parameters are no position and no metric.
    """
    return _ROW_OF_MODEL.match(line) is not None


def is_of_model(name: str) -> bool:
    """Whether a name is that of a setting or of the size of a model, whatever else is in it."""
    return _OF_MODEL.search(name) is not None
