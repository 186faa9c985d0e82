"""Splits a line into its texts and numbers; times, versions and the like are one token each."""

from __future__ import annotations

import re
from itertools import product
from zlib import crc32

from holter.ingest.console.line.numbers_of_names import NUMBER_OF_NAME

# neither of the two in `[1,100] loss: 2.1` has a thousands separator
# `0.25f0` and `1.5f-5` are numbers of single precision in Julia
_NUMBER = (
    r"[-+]?(?:(?<=\[)\d++(?=,\d{1,9}\])|\d++(?:,\d{3}(?!\d))*+(?:\.\d*+)?+|\.\d++)"
    r"(?:[eE][-+]?\d++|(?<=\d)f-?\d{1,2}(?![\w.]))?+"
)
_GLUED = "|".join(
    rf"(?<=^{word})|(?<=[\s\[(|{marks}]{word})"
    for words, marks in (("[iI]ter|[sS]tep", ",:-"), ("[iI]teration|[eE]pisode|[rR]ound", ""))
    for word in words.split("|")
)
"""What counts, right before its number: `iter120 loss 0.5`; `batch32` may name a training by its setting."""
_CHAINED = "|".join(
    rf"(?<={begin}[eE]poch\d{{{digits}}}[_-]{data}{word})"
    for begin, digits, data, word in product(
        ("^", r"[\s\[(|,:@-]"),
        range(1, 5),
        ("", "train[_-]", "val[_-]", "valid[_-]", "test[_-]", "eval[_-]"),
        ("step", "iter", "iteration", "batch"),
    )
)
"""What counts within an epoch before it, in a chain with a name: `Epoch1-train_step20-loss=0.5`.

No name of a file in a folder begins so: `out/epoch1-step20-loss=0.5.ckpt`.
"""
_METRICS = (
    "loss",
    "acc",
    "accuracy",
    "perplexity",
    "ppl",
    "error",
    "reward",
    "score",
    "recall",
    "precision",
)
_GLUED_METRICS = "|".join(rf"(?<=[\s,;(|\d][{word[0]}{word[0].upper()}]{word[1:]})" for word in _METRICS)
"""What is measured, right before its number: `loss2.5 perplexity90.5`."""
_GLUED_RATE = r"(?<=\s[lL][rR])"
"""A rate right before its number, between blanks: `lr0.0099  loss 0.5`, no part of a name as `_lr0.01`."""
_GLUED_NAMES = "|".join(rf"(?<=[a-z]{word.capitalize()})|(?<=_{word})" for word in _METRICS)
"""The same with words before it, where no file may be named so: `trainLoss0.5`, `val_acc0.9`."""
_EPOCH_AHEAD = "|".join(rf"(?<=^[eE]poch{sign})" for sign in (" ", ":", ": ", r"\[", r" \["))
"""An epoch at the beginning of a line, whose number is no hour before a colon: `Epoch 1:20 loss 0.5`."""
# times, durations, versions, addresses and hexadecimal numbers are tokens, too, so that no part of them is
# taken for a number; but the time of all steps so far in a bar has other units in most lines, which are none:
# `Step: 75ms | Tot: 45s885ms | Loss: 0.5`
_TOKEN = re.compile(
    r"(?=[-+.\dnNiI])"  # how each of them begins: most places of a text are passed over here
    r"(?:(?<![0-9A-Za-z_.@^\u00c0-\u1fff])(?<![A-Za-z][-+~])(?<![0-9]e\+)"
    rf"(?!{NUMBER_OF_NAME})"
    rf"|(?=\d{{1,9}}(?:[,:\s\])|]|$))(?:{_GLUED})"
    r"|(?:(?<=^[eE]poch)|(?<=[\s\[(|,:@-][eE]poch)|(?<=^[eE]poch_)|(?<=[\s\[(|,:-][eE]poch_))(?![-.])"
    # the word alone is looked for first: few numbers have it
    r"|(?=\d{1,9}[_-][A-Za-z][\w-]{0,60} ?[:=])(?:(?<=step)|(?<=iter)|(?<=ation)|(?<=batch))"
    rf"(?:{_CHAINED})"
    rf"|(?=\d{{1,9}}\.\d)(?:{_GLUED_METRICS})"
    rf"|(?=\d{{1,9}}\.\d{{1,20}}(?:[eE]-\d{{1,3}})?(?:[\s,;:|)\]]|$))(?:{_GLUED_NAMES}|{_GLUED_RATE})"
    r"|(?<=[eE]poch\.)(?=\d{1,6}(?:[:,\s\])|]|$))"
    r"|(?<=[ _][nN]o\.)(?=\d)|(?<=[eE]poch-)(?=\d{1,6}(?:[:,\s\])|]|$))"
    r"|(?:(?<=\s[sS]tep_)|(?<=^[sS]tep_)|(?<=\s[iI]ter_)|(?<=^[iI]ter_))(?=\d{1,9}: {0,4}[A-Za-z])"
    r"|(?<![^\s|(]\[[eE])(?<=\[[eE])(?=\d{1,6}\])"
    r"|(?<=[\s\[(|][A-Za-z])(?=\d{1,6}/\d{1,6}(?:[ :,\])|]|$))|(?<=[\s\[(|][eE]p)(?=\d{1,6}/\d)"
    r"|(?:(?<=^[eE])|(?<= [eE]))(?=\d{1,6} {1,8}(?:trn|train|val|test))|(?<=^[eE])(?=\d{1,6}(?:: | {1,4}\| ))"
    r"|(?<=^[eE])(?=\d{1,6} {1,4}[A-Za-z][\w/.-]{0,30}[=:])"
    r"|(?:(?<=[\s\[(|,:-][eE][pP])|(?<=^[eE][pP]))(?=\d{1,6}(?:[,:\s\])|]|$)))("
    r"\d{4}(?:(?:_\d\d){2}[_ -]\d\d(?:_\d\d){2}|(?:-\d\d){2}[_ -]\d\d(?:-\d\d){2})(?![-_\w])"
    r"|\d{4}[-/]\d\d[-/]\d\d(?:[ T,]\d\d:\d\d:\d\d(?:[.,]\d{1,9})?+)?+"
    r"|\d\d?[-/]\d\d?(?:[-/]\d{4})? \d\d:\d\d(?::\d\d(?:[.,]\d{1,9})?+)?+(?: ?(?:[AP]M|[ap]\.?m)\b\.?)?+"
    r"|\d\d?/\d\d?/\d{4}(?:-{1,2}\d\d:\d\d(?::\d\d)?)?(?![\d/])"
    r"|\d{1,3} days?, \d\d?:\d\d:\d\d"
    r"|(?<! \| Tot: )(?:\d{1,4} ?h(?:ours?)? ?)?\d{1,4} ?m(?:in(?:ute)?s?)? ?"
    r"\d{1,2}(?:\.\d{1,9})? ?s(?:ec(?:ond)?s?)?(?![\w/])"
    rf"|(?=\d{{1,4}}:\d\d)(?!(?:{_EPOCH_AHEAD})\d{{1,4}}:\d\d(?![\d:]))"
    r"\d{1,4}(?::\d\d){1,2}+(?:[.,]\d{1,9})?+(?:(?: ?(?:[AP]M|[ap]\.?m)\b\.?)|(?!\w))"
    r"|\d++(?:\.\d++){2,}+"
    r"|0[xX][0-9a-fA-F]++"
    rf"|{_NUMBER}"
    r"|[-+]?(?:nan|NaN|NAN|inf(?:inity)?|Inf(?:inity)?|INF)(?!\w)"
    r")"
)
_MAX_NUMBERS = 400
_SINGLE = re.compile(r"[-+]?[\d.,]+f-?\d+")
_DURATION = re.compile(r"(?:(\d+) ?h[a-z]* ?)?(\d+) ?m[a-z]* ?([\d.]+) ?s[a-z]*")
_FULL_WIDTH: dict[int, int | str] = {
    **{code: code - 0xFEE0 for code in range(0xFF01, 0xFF5F)},
    **dict(zip(map(ord, "\u3000、。【】「」《》"), " ,;[][][]", strict=True)),
}
"""Punctuation of Chinese and Japanese, which is as wide as a letter, and that of ASCII."""


def with_ascii_punctuation(texts: tuple[str, ...]) -> tuple[str, ...]:
    """Texts with the punctuation of ASCII for that which is as wide as a letter."""
    return texts if all(map(str.isascii, texts)) else tuple(text.translate(_FULL_WIDTH) for text in texts)


def split_numbers(line: str) -> list[str]:
    """The texts and numbers of a line in turn: texts at even, numbers at odd indices."""
    return _TOKEN.split(line, maxsplit=_MAX_NUMBERS)


def number_at(start: int, end: int, parts: list[str]) -> int:
    """The index of the number that has these characters of a line, -1 if none has all of them."""
    position = 0
    for index, part in enumerate(parts):
        if position <= start and end <= position + len(part):
            return index // 2 if index % 2 else -1
        position += len(part)
    return -1


def template_of(parts: list[str]) -> int:
    """A number for the texts of a line, of which these are the texts and numbers in turn."""
    return crc32("".join(parts[::2]).encode(errors="replace"))


def is_time(number: str) -> bool:
    """Whether a number of a line is a time, or a date with it."""
    return ":" in number or (number[4:5] in ("-", "/", "_") and number[:4].isdecimal())


def value_of(text: str) -> float | None:
    """The number in a token, a duration in seconds; None if it is a time, a version or the like."""
    try:
        return float(text.replace(",", ""))
    except ValueError:
        duration = _DURATION.fullmatch(text)
    if duration is None and _SINGLE.fullmatch(text) is not None:
        return float(text.replace(",", "").replace("f", "e"))
    if duration is None:
        return None
    hours, minutes, seconds = duration.groups()
    return 3600 * int(hours or 0) + 60 * int(minutes) + float(seconds)
