"""The name of a number: what the text before it ends with."""

from __future__ import annotations

import re
from typing import NamedTuple

from holter.ingest.console.line.line_words import (
    BATCHES,
    DATA_SPLIT,
    EPOCHS,
    LEVELS,
    OTHERS,
    SHORT_DATA,
    STEPS,
    STOP_WORDS,
    SUFFIXES_OF_FILES,
)
from holter.ingest.console.line.numbers_of_names import AT_THRESHOLD
from holter.ingest.metric_names import is_metric_name

MAX_NAME = 120
_LONGEST_SHORT_FORM = 5
_WORD = re.compile(
    r"(?:\d{1,4}(?:\.\d{1,2}|_)?-?)?[^\W\d][\w./@%+^~\u2019-]*|\u2207\w{0,20}|\d{1,2}%(?= )"
    r"|\d{1,4}(?= (?:ep(?:isode)?s? |mean |avg |average |total )?"
    r"(?:[rR]eward|[rR]eturn|[sS]core|[lL]oss|acc|length))"
    rf"|0?\.\d{{1,2}}(?= {AT_THRESHOLD})"
)
"""A word of a name; digits at its beginning are part of it, else they would be a number of their own.

So are those of how many values a mean is of: `avg 5 reward`.
"""
_MISREAD_DASHES = (" ù ", " û ", " ñ ")
"""What dashes between spaces become in another code page: `Best model saved ù Val Acc: 0.8`."""
_DELIMITERS = (*",;|[](){}<>\t\"'=:*│┃•·→", "  ", " - ", " / ", *_MISREAD_DASHES)
_NO_BEGINNING = frozenset({"of", "and", "the", "has", "got", "setting", "metrics"})
"""Words with which no name begins: `saved a checkpoint with mean score: 0.5`."""
_REST_OF_SENTENCE = re.compile(r"(?i)^.{0,80} (?:and (?:the|an?|its)|our|my) (?=\S)")
"""What is before the last name of a sentence: `done and the best AP is 0.5`, `so far our best AP: 0.5`."""
_UNITS_AT_END = frozenset({"s.", "ms.", "sec.", "secs.", "SPS.", "FPS."})
"""Units at the end of a sentence: `Time Elapsed: 12.3 s. Mean Reward: 1.2`."""
_FILE = re.compile(rf"\w\.(?:{SUFFIXES_OF_FILES})$")
"""The end of the name of a file."""
_OPENING = " \t[({\"'<$€£¥₹₽"

_BRACKETS = tuple("[](){}")
_BRACKETS_BEHIND_SIGN = re.compile(r"(?<=[:=])[ \t]{0,4}[\])}]{1,3}[\[({]{0,2}$")
"""Brackets that nothing has opened: `acc: ][93.0]`."""
_SUFFIX = re.compile(
    r"(?: {0,12}\((?:[^\W\d]|[%\u00b5\u00b0])(?:\w|[/ .+-]){0,23}"
    r"(?: ?[=@>]=? ?\d{0,4}(?:\.\d{1,4})?)?\)| \(\d{1,3}(?:\.\d{1,4})?%\)"
    r"| ?\(0?\.\d{1,2}:0?\.\d{1,2}\)"
    r"|(?<=\w) \[(?:[^\W\d]|[%/\u00b5\u00b0 ]){1,12}\]|(?<=\w)\[%\])$"
)
"""A unit or the like behind a name: `loss (MSE)`, `acc [%]`, `accuracy (Top-1)`, `mAP (0.5:0.95)`.

Blanks may align it with those above and below: `Recall     (benign)`.
"""
_OTHER_BRACKETS = re.compile(r"(?<=\w) ?[\[{]([A-Za-z]{2,12})[\]}]$")
"""A word in other brackets, which may be that of data: `loss[train]`, `acc {val}`."""
_EPOCH = re.compile(r"(?:^| )[eE]$")
"""A letter right before a number: `E1 trn 0.5 loss`."""
_HYPHEN = re.compile(r"(?<=[A-Za-z])-$|(?<=poch)\.$")
_WRAPPER = re.compile(r"(?<![\w.])(?:np\.(?:float64|float32|float16|int64)|float|(?:tf\.T|t)ensor|array)$")
"""What numpy, torch and TensorFlow print around a number: `np.float64(0.02)`."""
_EMPTY = re.compile(r" ?\(\)(?=\s?[:=]\s{0,8}$)")
"""Brackets with nothing in them between a name and a sign."""
_EXPLAINED = re.compile(r"(?<=\w) <[A-Za-z_]\w{0,30}>(?=\s?[:=]\s{0,8}$)")
"""The name of a class in angle brackets between a name and a sign: `train loss <loss>=2.3`."""
_ARROW = re.compile(r" {0,4}(?:-{1,3}>|={1,3}>|(?<![>\w])>{2,3}|→)$")
OF_EPOCH = r" (?:(?:(?:over|for|in) )?(?:this|the)|over) epoch"
"""What a metric is of, where no number follows that counts: `Training acc over epoch: 0.31`."""
_ENDS_WITH_EPOCH = re.compile(r"(?<=[\w)\]])" + OF_EPOCH + "$")
_DASHED = re.compile(r"([A-Za-z][\w@-]{0,30}(?: [\w@-]{1,30}){0,2}) -$")
"""A metric before a dash: `LOSS - 8.96, TOP-5 ACCURACY - 30.5`."""
_BRACKETED_NAME = re.compile(r"\[([A-Za-z][\w-]{0,30}(?: [A-Za-z]\w{0,20}){0,3})\]$")
_KEY = re.compile(r"[{,] ?['\"]([A-Za-z][^'\"{},:]{0,60}(?:, [^'\"{},:]{1,60}){0,3})['\"] ?: ?[\[(]?$")
"""A key of a dictionary, which is a name as it is: `{'Dice, class 1': 0.5}`."""
_TUPLE = re.compile(
    r"[(,] ?['\"](?: |\\t|[-:,;|]){0,4}([A-Za-z][^'\"(){},]{0,60}?) ?[:=]? ?['\"], ?"
    r"(?:\[?(?:(?:np\.)?(?:array|tensor|float\d\d)\()?|['\"])$"
)
"""A name in a tuple with its number: `[('loss_att', 1.2), ('acc', 0.1)]`, `('epoch: ', 3, 'loss', 1.2)`."""
_LEADERS = re.compile(r" ?\.{4,80} ?$")
"""Dots that lead from a name to its number: `loss ...... 0.5`."""
_NESTED = re.compile(
    r"(?<![\w.])([A-Za-z]\w{0,20}\([A-Za-z]\w{0,20}\([\w, ]{1,20}\)\)(?:[_-]\w{1,20})?"
    r"|[A-Za-z]\w{0,20}\(\w{1,8}\)[_-][A-Za-z]\w{0,20}"
    r"|(?:dev |test )?[a-z]{2,12}\[\d{1,3}[a-z]\])$"
)
"""A name such as a discriminator's output, `D(G(z))`, `D(x)_loss`, or with a tokenizer: `bleu[13a]`."""

_SPACED_AT = re.compile(r"(?<=[\w)]) ?@ ?(?=\d{1,4}\s?[:=]\s*$)")
"""What is between a metric and its rank where blanks are around the sign: `Recall @ 10: 0.4`."""
_LETTER = r"[^\W\d]\w?"
_WITH_SIGNS = re.compile(
    r"(?<![\w.])(?:"
    + "|".join(
        (
            # `E[x]`, `acc[0]`, `avg(100)`
            rf"[^\W\d]\w{{0,20}}(?:\[(?:{_LETTER}|\d{{1,2}})\]|\(\d{{1,4}}\))",
            rf"[^\W\d]\w{{0,20}}\({_LETTER}(?:\|{{1,2}}|[,;]){_LETTER}\)",  # `KL(q||p)`
            # `mse(prediction, target)`
            r"[A-Za-z_]\w{0,30}\([A-Za-z_][\w.]{0,30}(?:, ?[A-Za-z_][\w.]{0,30}){1,3}\)",
            # `max|w|`, `||r||`
            r"(?:[^\W\d]\w{0,12})?(?:\|[^|\s:=]{1,20}\||\|\|[^|\s:=]{1,20}\|\|(?:_\w{1,4})?)",
            r"(?:[^\W\d]\w{0,12})?‖[^‖\s:=]{1,20}‖(?:_\w{1,4})?|⟨[^⟨⟩\n]{1,40}⟩",  # `‖g‖`, `⟨cos(a, b)⟩`
            r"[A-Za-z][\w-]{0,20} ?\([A-Za-z][\w -]{0,20}\) ?@ ?\d{1,4}",  # `Hits (filtered) @1`
            r"[A-Za-z][\w-]{0,12}@\[?0?\.\d{1,2}:0?\.\d{1,2}\]?",  # `mAP@0.5:0.95`, `AP@[.5:.95]`
            r"[^\W\d]\w{0,12}[<>]\d?\.\d{1,3}(?:\^\d)?",  # `delta<1.25`
            r"[lL]ast \d{1,4} [a-z]{3,8}",  # `last 100 avg`
            # `Accuracy with alpha = 0.1`
            r"(?:[A-Za-z][\w-]{0,20} ){1,4}(?:with|for|at) [A-Za-z]\w{0,11} ?= ?\d?\.\d{1,6}",
            r"[A-Z]{2,4}@[A-Z]{2,4}=[\d.e-]{1,8}",  # `TAR@FAR=1e-4`
        )
    )
    + r")(?=\s?[:=]\s*$)"
)
"""Names with signs in them that else are between names."""
_RANKED = re.compile(
    r"(?<![\w.])([Tt]op \d{1,2}(?:-[A-Za-z]{2,10}| (?i:acc|err|prec)[a-z]{0,9})"
    r"|(?:[A-Za-z]\w{0,20} ){0,3}(?i:loss|acc|accuracy|dice|dc|iou|error|(?<= )(?:player|agent)) #?\d{1,2}"
    r"|(?:[A-Za-z]\w{0,20} ){0,2}(?i:precision|recall|hits?|n?dcg|m?ap|mrr) at \d{1,4}"
    r"|[A-Za-z]\w{0,20} \d{1,2})$"
)
"""A name with a number in it: `Top 1-err 60.1`, `Top 5 Acc: 0.4`, `Stage 0 = 39.1`, `Train Sup Loss 1: 2`."""


_PHRASE = re.compile(
    r"(?<![\w.])((?:0?\.\d{1,2} )?(?:(?!(?i:the|an?|with|and|best|info|debug) )[A-Za-z][\w-]{1,20} )?"
    r"(?:[Aa]ccuracy|[Ll]oss|[Pp]recision|[Rr]ecall|[Ee]rror)"
    r"(?: rate| score)? (?:of|on|for)(?: class:)?"
    r"(?: {1,8}(?!epoch|step|batch|iter|training batch)(?:\d{2,6} )?[A-Za-z][\w-]{0,20}){1,8})$"
)
"""A metric and what it is of: `Accuracy of the network on the test images: 97 %`."""


class NumberName(NamedTuple):
    """The name of a number: whether a sign has `marked` it, and the text `before` it."""

    name: str
    marked: bool
    before: str


def name_before(text: str) -> NumberName:
    """The name at the end of a text, whether a sign follows it, and the text before it."""
    if (key := _KEY.search(text) or _TUPLE.search(text)) is not None:
        return NumberName(key[1].strip(), True, text[: key.start()])
    if _EPOCH.search(text) is not None:
        return NumberName("epoch", False, text[:-1])
    if text.endswith((".... ", "....")):
        text = _LEADERS.sub(":", text)
    text = _EMPTY.sub("", text) if "()" in text else text  # `loss (): 2.5`, the shape of a scalar
    text = _EXPLAINED.sub("", text) if ">" in text else text
    text = _BRACKETS_BEHIND_SIGN.sub("", text) if text.endswith(_BRACKETS) else text
    text = text.rstrip(_OPENING).removesuffix(" /").replace("'s ", "\u2019s ")
    if "@" in text:
        text = _SPACED_AT.sub("@", text)
    signed = _WITH_SIGNS.search(text) if text.endswith((":", "=")) else None
    if signed is not None and not _names_data(signed[0]):
        return NumberName(signed[0], True, text[: signed.start()])
    bare = _ARROW.sub("", text.rstrip(" :=#|*\"'~≈")).removesuffix(" is").rstrip(" ").removesuffix(" was")
    if not bare.endswith((" up to", "Up to")):  # `for up to 40 epochs` counts none of them
        bare = bare.removesuffix(" to")
    bare = bare.removesuffix("为")
    if text.endswith((":", "=")):
        bare = _ENDS_WITH_EPOCH.sub("", bare)
    if bare.endswith(" reached"):  # `'val_loss' reached 0.51`
        bare = bare.removesuffix(" reached").rstrip("'\"")
    if (dashed := _DASHED.search(text)) is not None and is_metric_name(dashed[1]):
        bare = text[: dashed.end(1)]
    bare = _HYPHEN.sub("", bare)  # `Epoch-1: loss=0.5`, `Epoch.1 loss=0.5`
    marked = len(bare) < len(text)
    if (nested := _NESTED.search(bare)) is not None:
        return NumberName(nested[1], marked, bare[: nested.start(1)])
    if marked and (phrase := phrase_before(bare)) is not None:
        return phrase
    if (ranked := _RANKED.search(bare)) is not None:
        return NumberName(ranked[1], marked, bare[: ranked.start(1)])
    if (wrapper := _WRAPPER.search(bare)) is not None:
        bare = bare[: wrapper.start()].rstrip(" :=(\"'")
    suffix, bare = _split_suffix(bare)
    cut = max(_end_of_last(bare, sign) for sign in _DELIMITERS)
    words: list[str] = []
    begin = len(bare)
    for match in reversed(list(_WORD.finditer(bare, cut))[-12:]):
        word = match.group()
        if match.end() != begin and bare[match.end() : begin].strip(" "):
            break  # something else is between the words
        is_data = SHORT_DATA.fullmatch(word) is not None and not bare[cut : match.start()].strip()
        if word in LEVELS or (words and not is_data and _is_end_of_sentence(word, words[0])):
            break  # the end of a sentence, and no short form such as `Val.`
        if words and _FILE.search(word) is not None:
            break  # the value of another name: `image: cat.jpg iter: 10`
        if len(words) == (5 if marked else 3) or (not marked and _is_stop_word(word)):
            break
        words.insert(0, word)
        begin = match.start()
    sign = bare[cut - 1 : cut] if len(words) > 1 and begin == cut else ""
    if sign == "=" or (sign == ":" and counts(words[-1])):
        begin += len(words.pop(0)) + 1  # the value of another name: `model=cnn epoch=1`
    bracketed = None if words else _BRACKETED_NAME.search(bare)
    if bracketed is not None:
        # `[Epoch] 3 [Loss] 0.5`, and with a sign behind another number: ` [den]: 24.2`
        is_name = counts(bracketed[1]) or is_metric_name(bracketed[1])
        is_behind = text.endswith((":", "=")) and bare[: bracketed.start()].isspace()
        if is_name or (is_behind and DATA_SPLIT.fullmatch(bracketed[1]) is None):
            return NumberName(bracketed[1], marked, bare[: bracketed.start()])
    if marked and not words and is_metric_name(suffix):  # `Epoch 3 >> (mean accuracy): 0.5`
        return NumberName(suffix.strip(" ()"), marked, bare)
    if bare[begin:].strip() and not words:
        return NumberName("", marked, bare)
    if "with" in words[:-1]:  # `saved the best model with loss: 0.5`
        words = words[words.index("with") + 1 :]
    while len(words) > 1 and words[0] in _NO_BEGINNING:
        words.pop(0)
    name = _REST_OF_SENTENCE.sub("", " ".join(words)).replace("\u2019", "'")
    if name.endswith(".."):  # `loss.....: 0.5`
        name = name.rstrip(".")
    if suffix and (DATA_SPLIT.fullmatch(suffix.strip(" ()[]")) or _names_data_twice(name, suffix)):
        # Epoch(val) names the data, and so does `Test (on val set)`
        return NumberName(name, marked, bare[:begin] + suffix)
    return NumberName((name + suffix)[:MAX_NAME] if name else "", marked, bare[:begin])


def phrase_before(text: str) -> NumberName | None:
    """A metric and what it is of at the end of a text: `accuracy of the network on the test images`."""
    phrase = _PHRASE.search(text)
    return phrase and NumberName(" ".join(phrase[1].split())[:MAX_NAME], True, text[: phrase.start(1)])


def _split_suffix(name: str) -> tuple[str, str]:
    """The unit or the like in brackets at the end of a name, and the name before: `loss (MSE)`, `acc [%]`."""
    other = _OTHER_BRACKETS.search(name)
    if other is not None and DATA_SPLIT.fullmatch(other[1]) is not None:
        return f" ({other[1]})", name[: other.start()]
    match = _SUFFIX.search(name)
    if match is None or len(name) - len(match[0]) == 0:
        return "", name
    blank = " " if match[0].startswith(" ") else ""
    return blank + match[0].lstrip(" "), name[: match.start()]


def _is_stop_word(word: str) -> bool:
    is_acronym = len(word) > 1 and word.isupper()  # `IS` and `PER` are metrics
    return word.lower() in STOP_WORDS and not is_acronym


def _names_data(name: str) -> bool:
    """Whether a name with brackets is that of data, or what is in these: `loss(train)`, `Epoch(val)`."""
    return any(DATA_SPLIT.fullmatch(word) is not None for word in re.split(r"[\[\]()|]", name))


def _names_data_twice(name: str, suffix: str) -> bool:
    return DATA_SPLIT.fullmatch(name) is not None and DATA_SPLIT.search(suffix) is not None


def counts(name: str) -> bool:
    """Whether the last word of a name counts something."""
    word = name.lower().split()[-1]
    return any(word in words for words in (STEPS, BATCHES, EPOCHS, OTHERS))


def _is_end_of_sentence(word: str, behind: str) -> bool:
    """Whether a word ends with a full stop, and is no short form such as `Val.` or `Event@Avg.`.

    One in capitals before a word that counts is none, if that has no capitals: `on data METR-LA. Iter: 50`.
    """
    if word.lower() == "done." or word in _UNITS_AT_END:
        return True
    last = re.split("[@-]", word)[-1]
    if last.isupper() and not behind.isupper() and counts(behind):
        return word.endswith(".")
    return word.endswith(".") and len(last) > _LONGEST_SHORT_FORM


def _end_of_last(text: str, sign: str) -> int:
    """Where the last occurrence of a sign ends, 0 without any."""
    position = text.rfind(sign)
    return position + len(sign) if position >= 0 else 0
