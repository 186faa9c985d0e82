"""Of which data a metric is, by the first word of its name: `val_loss`, `testAcc`, but not `value_loss`."""

from __future__ import annotations

import re
from functools import lru_cache

from holter.ingest.console.line.line_words import DATA_TAG, EVALUATIONS
from holter.translated_words import in_english

_METRIC = (
    r"(?:loss|acc|err|ppl|perp|auc|m?iou|dice|f1|mae|r?mse|psnr|ssim|map|wer|cer|bleu|score|reward|return"
    r"|prec|recall|cost|nll|elbo|corr|data|set|split|epoch|step|iter|batch|num|metric)"
)
"""What may follow the data without a sign between: `valloss`, `testset`."""
_DATA = re.compile(
    rf"(?:train(?:ing)?|trn|(?P<word>{EVALUATIONS}))(?![a-z])"
    rf"|(?:train|(?P<beginning>eval|valid|val|test))(?={_METRIC})"
)
_PATH = re.compile(r"(?<![\w./~-])[~.]{0,2}/?(?:[\w.-]{1,80}/){2,30}")
_DEVICES = "/dev/"
"""A folder of the system, and of no data."""
_LAST_FOLDERS = 2
"""The folder of the data, and that of one of them: `/data/test_data/T1/`."""
_WITHIN_WORD = re.compile(r"(?<=[a-z])(?=[A-Z])")
"""Where the next word of camel case begins."""


@lru_cache(maxsize=8192)
def _data_of(name: str) -> re.Match[str] | None:
    return _DATA.match(_WITHIN_WORD.sub("_", in_english(name).strip()).lower())


def is_of_evaluation(name: str) -> bool:
    """Whether the name of a metric begins with data of an evaluation."""
    return bool(evaluation_of(name))


def names_data(name: str) -> bool:
    """Whether the name of a metric begins with data, of the training or of an evaluation."""
    return _data_of(name) is not None


def evaluation_of(name: str) -> str:
    """The data of an evaluation that the name of a metric begins with, "" if it does not."""
    found = _data_of(name)
    return "" if found is None else found["word"] or found["beginning"] or ""


def data_of_path(text: str) -> str | None:
    """The data that a folder at the end of a path names, "" if it is of the training; None without one."""
    for path in _PATH.finditer(text) if "/" in text else ():
        folders = path[0].removeprefix(_DEVICES).rstrip("/").split("/")
        for folder in reversed(folders[-_LAST_FOLDERS:]):
            if (data := DATA_TAG.fullmatch(folder)) is not None:
                return (data[2] or "").lower()
    return None
