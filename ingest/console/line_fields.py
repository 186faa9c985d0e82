"""The numbers of a line as fields: each with its name, its total, and what the text around says of it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from holter.ingest.console.line_words import BATCHES, EPOCHS, LEVELS, OTHERS, STEPS, STOP_WORDS
from holter.ingest.console.values import SCALES
from holter.ingest.metric_names import is_metric_name
from holter.translated_words import COUNTERS, in_english

_MAX_NAME = 120
_LONGEST_SHORT_FORM = 5
_MOST_OF_LIST = 32
"""Numbers of a list that are values of a step; longer ones are a history or weights."""
_UNITS = re.compile(
    r"\s?(?:%|(?:[A-Za-z]{0,12}/){1,2}[A-Za-z]{1,12}\b(?!\.[a-z])|(?:[kKMGT]i?B?|B|m?s|secs?|seconds?|mins?|minutes?|h|hours?|days?"
    r"|its?|samples?|tokens?|images?|x|W|C)(?![\w(=:./]| ?[=:])|毫秒|秒|分钟|小时|分|初|초|сек|мс)"
)
_NO_UNIT = re.compile(r"[A-Za-z_]++\d")
_SCALE = re.compile(r"[kKMGBT](?![A-Za-z])")
_WORD = re.compile(r"[^\W\d][\w./@%+^\u2019-]*")
_DURATION = re.compile(r"\s?(?:ms|us|ns|s|sec|secs|seconds?|min|mins|minutes?|h|hours?)(?![\w/])")
_NAME_LIST = re.compile(
    r"(?<![\w.])(?:([A-Za-z_][\w.@]{0,40})\()?"
    r"((?:[A-Za-z_][\w.@]{0,40}[,/|] ?){1,15}[A-Za-z_][\w.@]{0,40})\)?\s?[:=]?\s{0,8}[\[(]?$"
)
_LABEL = re.compile(r"(?:^|[^\d\s]|\s):$")
"""A colon that is not within a time: `Losses: x 0.27`."""
_PAIR = re.compile(r",\s{1,12}")
_NAME_AND_COMMA = re.compile(r"\s*([A-Za-z]\w{0,40}(?: \w{1,20}){0,2}), ?")
_ORDINAL = re.compile(r"(?:第|제)\s?$")
_ORDINAL_NAME = re.compile(
    r"\s?(?:个|個)?\s?(epoch|step|iteration|iter|batch|"
    + "|".join(sorted(COUNTERS, key=len, reverse=True))
    + ")",
    re.IGNORECASE,
)
"""What a number counts where the name follows: `第 3 轮`."""
_COUNTED = re.compile(
    r"(epoch|batch|iter|step)(?=s?:| results:)| (batch|iteration|step|epoch)(?:e?s)?(?= \|)"
    r"|(?:st|nd|rd|th) (?:mini-?)?(epoch|batch|iteration|step)\b"
)
"""What a number counts, right after it: `1epoch:train:1-100batch:`, `| 200/2983 batches |`, `5th epoch`."""
_NAME_BEHIND = re.compile(r"\] (?!(?i:epoch|step|iter(?:ation)?|round|episode)\b)[A-Za-z_]\w{0,60}[=: ]")
_BRACKET_BEHIND = re.compile(r" \[[A-Za-z]\w{0,20} ?\w{0,20}: $")
_BRACKETS = re.compile(r"(\w{1,60})\[(?=[A-Za-z]|$)|\]")
_MODULE = re.compile(r"(?:^|[\s|])(?:(?:[A-Za-z_]\w*\.)+\w+:(?:[\w<>]+:)?|[A-Za-z_]\w*:[\w<>]+:)$")
"""What loggers print before the number of a line: `yolox.core.trainer:after_iter:249 - `."""
DATA_SPLIT = re.compile(
    r"(?<![\w./])(?:(train(?:ing)?)"
    r"|(eval(?:uation|uated?|uating)?|valid(?:ation|at(?:e|ing))?|val|test(?:ing)?|dev|cv(?= batch)))"
    r"(?![\w/-]|\.\w)",
    re.I,
)
BEFORE_MESSAGE = re.compile(
    r"(?:[^A-Za-z]|\b(?:INFO|DEBUG|WARN(?:ING)?|root|(?:__)?main(?:__)?)\b|(?<=(?:INFO|EBUG|NING):)[\w.]+:"
    r"|\b[\w.]{1,60}(?= (?:- )?(?:INFO|DEBUG|WARN)))*"
)
"""What loggers print before a message, without the digits of its time."""
_DELIMITERS = (*",;|[](){}<>\t\"'=:*│┃•·→", "  ", " - ", " / ")
_OPENING = " \t[({\"'<"

_CALL = re.compile(r"(?<![\w.])(?:(?:np|numpy|torch)\.)?(?:float|u?int|tensor|array)\d{0,2}\($")
"""What numpy and torch print around a number of a list: `[np.float32(0.5), np.float32(0.4)]`."""
_WRAPPER = re.compile(r"(?<![\w.])(?:np\.(?:float64|float32|float16|int64)|float|tensor|array)$")
"""What numpy and torch print around a number: `np.float64(0.02)`."""
_MEASURED = re.compile(
    r"(?:^|[^\w./@% -]) {0,4}([A-Za-z][\w./@%-]{0,30}(?: [\w./@%-]{1,20}){0,2})"
    r" {0,4}(?:→|->|=>|:|\||-) {0,4}$"
)
"""A metric before the names of data: `Accuracy -> Train: 0.9, Val: 0.8`."""
_TWO_COUNTERS = re.compile(
    r"(?i:\b(epoch)/(iter(?:ation)?|step|batch)[ \t]?[:=]?[ \t]?)$|\b(?:TRAIN|CV) (Batch) $"
)
"""Names of an epoch and what is counted in it, before both: `epoch/iter: 2/150`, `TRAIN Batch 2/150`."""
_AT_EPOCH = re.compile(r"(?i)\s?@ ?epoch")
_ARROW = re.compile(r" {0,4}(?:->|=>|→)$")
_CLOSING = re.compile(r"(?: ?[A-Za-z]{1,20}){0,3}\) ?[:=]\s*$")
"""What follows a number that is a part of a name: `reward (last 100 episodes): 0.5`."""
_ENCLOSED = re.compile(r" ?\(((?:[A-Za-z]{1,20} ){0,3})$")
"""What is before such a number."""
_BRACKETED_NAME = re.compile(r"\[([A-Za-z]\w{0,30})\]$")
_END_OF_KEY = re.compile(r"['\"] ?: ")
"""The end of a key of a dictionary with a number in its name: `{'Dice, class 1': 0.5}`."""
_KEY = re.compile(r"[{,] ?['\"]([A-Za-z][^'\"{},:]{0,60}(?:, [^'\"{},:]{1,60}){0,3})['\"] ?: ?[\[(]?$")
"""A key of a dictionary, which is a name as it is: `{'Dice, class 1': 0.5}`."""
_BEGIN_OF_KEY = re.compile(r"[{,] ?['\"]")
_NESTED = re.compile(r"(?<![\w.])([A-Za-z]\w{0,20}\([A-Za-z]\w{0,20}\([\w, ]{1,20}\)\))$")
"""A name such as that of a discriminator's output: `D(G(z))`."""
_RATE_BEHIND = re.compile(r" \w{1,20}/s\b")


@dataclass(frozen=True, slots=True)
class NumberField:
    """A number with its name, if it has one: `marked` by a colon, an equals sign or the like."""

    index: int
    total_index: int
    name: str
    marked: bool
    bracketed: bool
    adjacent: bool
    """In brackets right after those of the number before, as the batch in `Epoch: [0][50]`."""
    opens_batches: bool
    """A bracket with two numbers, such as a batch and the number of batches, comes next."""
    clean: bool
    """Nothing but the name is between the number and the delimiter before it."""
    before: str
    """The text before the name, without what belongs to the number before."""
    scale: float
    explains: bool
    """It says what the per cent before it are of: `Acc: 20.000% (2000/10000)`."""
    is_duration: bool
    """A unit of time follows."""
    opens_pair: bool
    """It is the first of two in brackets: `[1,  2000] loss: 2.1`."""
    closes_pair: bool
    """It is the second of them."""
    ends_line: bool
    """Its total ends the line."""
    follows_percent: bool
    """Nothing but spaces is between it and the per cent before it: `8.5% 5000/58874`."""

    @property
    def english(self) -> str:
        """The name in English words, where its words are known."""
        return " ".join(in_english(self.name).split())


def number_fields(texts: tuple[str, ...]) -> Iterator[NumberField]:
    """The numbers between these texts, one after another; a number and its total are one field."""
    index, count, section = 0, len(texts) - 1, ""
    listed = listed_names(texts)
    ordinal: re.Match[str] | None = None
    last_name = carried = measured = ratio_name = ""
    opened_pair = False
    while index < count:
        text = texts[index]
        total = index + 1 if index + 1 < count and texts[index + 1].strip() in ("/", "of") else -1
        if total > 0 and (text == "/" or (texts[total + 1] == "/" and total + 1 < count)):
            total = -1  # `means: 0.5/0.4/0.3`
        if ordinal is not None:
            text = text[ordinal.end() :]
        elif index and (unit := _UNITS.match(text)) is not None:
            text = text[unit.end() :]
        ordinal = None
        for bracket in _BRACKETS.finditer(text):
            section = bracket[1] or ""
        if text.endswith("["):  # it encloses this number, not names
            section = ""
        if count == 1 and (alone := _NAME_AND_COMMA.fullmatch(text)) is not None:
            text = f"{alone[1]}: "  # `lr, 0.001`
        name, marked, before = _name(text)
        if total >= 0 and name.endswith("))"):
            total = -1  # `D(G(z)): 0.5 / 0.4`, before and after
        if index in listed:
            name, marked, before, total = listed[index], True, "", -1
        two = _TWO_COUNTERS.search(text) if total >= 0 else None
        if two is not None:
            total = -1
        last = index if total < 0 else total
        after = texts[last + 1]
        # an identifier that begins with digits, the first number of a range or of nested lists, a line of a
        # source file
        if (
            _NO_UNIT.match(after) is not None
            or after == "-"
            or _is_reference(text, after)
            or text.rstrip(" ").endswith("[[")
            or (after == "," and last + 1 < count and text[-1:] not in ("[", "("))
        ):
            name = ""
        if name and _AT_EPOCH.match(after) is not None and DATA_SPLIT.fullmatch(name):
            name, marked = f"{name} step", True  # `train: 12 @ epoch: 3`
        if name and DATA_SPLIT.fullmatch(name):
            if (of := _MEASURED.search(before)) is not None and is_metric_name(of[1]):
                measured = of[1]
            name = f"{measured}/{name}" if measured else name
        elif name:
            measured = ""
        if name and section and name != section:
            name = f"{section}/{name}"[:_MAX_NAME]
        if _ORDINAL.search(text) is not None and (ordinal := _ORDINAL_NAME.match(after)) is not None:
            name, marked, before = ordinal[1], True, _ORDINAL.sub("", text)
        elif (counted := _COUNTED.match(after)) is not None and after[counted.end() :].strip(" :="):
            name, marked = counted[1] or counted[2] or counted[3], True
        elif two is not None:
            name, marked, before = "epoch", True, text
        elif text == "/" and index and (two := _TWO_COUNTERS.search(texts[index - 1])) is not None:
            name, marked = two[2] or two[3], True
        elif not name and (_is_first(texts, index) or _is_before_rate(texts, index)):
            name, marked = "iteration", True
        elif index == 0 and after.startswith(", ") and name and not marked and DATA_SPLIT.fullmatch(name):
            name, marked = f"{name} epoch", True  # `Train 3, loss: 2.31`
        elif index == 0 and not text.strip() and after == " [" and texts[2:3] == ("/",):
            name, marked = "epoch", True  # `01 [100/445] loss 2.31`
        if carried and (_CLOSING.match(text) is not None or _END_OF_KEY.match(text) is not None):
            name, marked, before = carried, True, ""
        carried = ""
        if (named := _named_around(text, after) or _key_around(text, after)) is not None:
            carried, name = named, ""  # `Avg (10): 0.5`
        scale = SCALES[after[0]] if _SCALE.match(after) else 1.0
        bracketed = text.rstrip(" ")[-1:] in ("[", "(")
        adjacent = index > 0 and "".join(texts[index].split()) == "]["
        bare = before.rstrip(" ")
        clean = (
            bare[-1:] in ("", ",", ";", "|", "(", ")", "]", "}", "\t", "-") or _LABEL.search(bare) is not None
        )
        opens = "".join(after.split()) in ("[", "][") and "/" in (
            text.strip() for text in texts[last + 2 : last + 3]
        )
        if ratio_name and text == "=":
            name, marked = ratio_name, True  # `accuracy: 2486/10042=0.2476`
        ratio_name = name if total >= 0 and texts[total + 1] == "=" else ""
        explains = bool(last_name) and texts[index].strip() in ("% (", "%, (")
        last_name = name
        is_duration = _DURATION.match(after) is not None
        opens_pair = total < 0 and _opens_pair(texts, index)
        if opens_pair:
            name = ""
        closes_pair = opened_pair
        opened_pair = opens_pair
        ends = total >= 0 and not after.strip() and last + 1 == count
        yield NumberField(
            index,
            total,
            name,
            marked,
            bracketed,
            adjacent,
            opens,
            clean,
            before,
            scale,
            explains,
            is_duration,
            opens_pair,
            closes_pair,
            ends,
            index > 0 and texts[index].strip(" |") == "%",
        )
        index = last + 1


def without_calls(texts: tuple[str, ...]) -> tuple[str, ...]:
    """The texts without what numpy and torch print around each number of a list."""
    found = list(texts)
    for index in range(len(found) - 1):
        if found[index + 1].startswith(")") and (call := _CALL.search(found[index])) is not None:
            found[index], found[index + 1] = found[index][: call.start()], found[index + 1][1:]
    return tuple(found)


def _opens_pair(texts: tuple[str, ...], index: int) -> bool:
    """Whether a number is the first of two in brackets that begin a message: `[1,  2000]`, `[1,  50/ 90]`."""
    if texts[index][-1:] != "[" or _PAIR.fullmatch(texts[index + 1]) is None:
        return False
    behind = texts[index + 2 : index + 4]
    if behind[:1] and behind[0].strip() == "/":
        behind = behind[1:]
    is_first = BEFORE_MESSAGE.fullmatch("".join(texts[: index + 1])) is not None
    return is_first and bool(behind) and behind[0].startswith("]")


def _key_around(text: str, after: str) -> str | None:
    """The name of a key of a dictionary that ends in a number; None of other numbers."""
    if _END_OF_KEY.match(after) is None:
        return None
    key = re.split(r"[{,] ?['\"]", text)[-1].strip(" ,:=_-") if _BEGIN_OF_KEY.search(text) else ""
    return key[:_MAX_NAME] if key and "'" not in key and '"' not in key else None


def listed_names(texts: tuple[str, ...]) -> dict[int, str]:
    """The names of numbers whose names are listed before: `loss_a,loss_b 7.1 5.5`, `loss/acc: 0.5/0.8`."""
    listed: dict[int, str] = {}
    for index, text in enumerate(texts[:-1]):
        if (match := _NAME_LIST.search(text)) is None:
            continue
        names, signs = re.split(r"[,/|] ?", match[2]), set(re.findall(r"[,/|]", match[2]))
        if match[1]:  # `Loss(text/kernel): 0.4/0.1`
            names = [f"{match[1]}/{name}" for name in names]
        if any(name.endswith(".") for name in names) or (
            DATA_SPLIT.fullmatch(names[0]) and _counts(names[1])
        ):
            continue  # `Training.., epoch: 0, 0/1875`
        between = {separator.strip() for separator in texts[index + 1 : index + len(names)]}
        behind = texts[index + len(names)].strip() if len(texts) > index + len(names) else None
        is_last = behind == "" and len(texts) == index + len(names) + 1
        is_run = between in (signs, {""})
        if is_run and behind is not None and (is_last or behind not in between):
            listed |= {index + offset: name for offset, name in enumerate(names)}
    return listed


def _named_around(text: str, after: str) -> str | None:
    """The name that a number between these texts is a part of, None if it is in no brackets or counts."""
    enclosed = _ENCLOSED.search(text) if _CLOSING.match(after) is not None else None
    if enclosed is None or (enclosed[1] and _counts(enclosed[1])):
        return None
    name, _, _ = _name(text[: enclosed.start()])
    return None if not name or _counts(name) else name


def _counts(name: str) -> bool:
    """Whether the last word of a name counts something."""
    word = name.lower().split()[-1]
    return any(word in words for words in (STEPS, BATCHES, EPOCHS, OTHERS))


def _last_of_run(texts: tuple[str, ...], index: int, between: tuple[str, ...]) -> int:
    """The last of some numbers with nothing but such texts between them."""
    while index + 2 < len(texts) and texts[index + 1].strip() in between:
        index += 1
    return index


def values_of_lists(texts: tuple[str, ...]) -> dict[int, int]:
    """The first number of the list that a number is in: `acc: [0.5, 0.4]`; `IoU: 0.9 0.8` ends its line."""
    firsts: dict[int, int] = {}
    index, count = 0, len(texts) - 1
    while index < count:
        last = max(_last_of_run(texts, index, ("", ",")), _last_of_run(texts, index, ("/",)))
        if texts[last] == "/" and last - index == 1:  # a total
            last = index
        before, behind = texts[index].rstrip(" "), texts[last + 1].lstrip(" ")
        is_closed = before.endswith(("[", "(")) and behind.startswith(("]", ")"))
        is_end = before.endswith((":", "=")) and not behind.strip() and last + 1 == count
        if last - index < _MOST_OF_LIST and (is_closed or is_end):
            firsts |= dict.fromkeys(range(index + 1, last + 1), index)
        index = last + 1
    return firsts


def _is_reference(text: str, after: str) -> bool:
    """Whether a number is that of a line, as in `(trainer:737) INFO` and `yolox.core.trainer:246 - `."""
    if after.startswith((" - ", " | ")) and _MODULE.search(text) is not None:
        return True
    return after.startswith(")") and text.endswith(":") and text.rpartition("(")[2][:-1].isidentifier()


def _is_before_rate(texts: tuple[str, ...], index: int) -> bool:
    """Whether a number is alone between dashes, before a rate: ` -    1135 -   56.12 sent/s - `."""
    return (
        texts[index].strip() == "-"
        and texts[index + 1].startswith(" - ")
        and len(texts) > index + 2
        and _RATE_BEHIND.match(texts[index + 2]) is not None
    )


def _is_first(texts: tuple[str, ...], index: int) -> bool:
    """Whether a number is that of the round at the beginning of a line of boosting.

    `[10]\ttrain-logloss:0.48` of XGBoost and LightGBM, `10:\tlearn: 0.64` of CatBoost, `[100] loss=0.5`,
    `100 [D loss: 0.6] [G loss: 0.7]`.
    """
    before, after = texts[index], texts[index + 1]
    if not before:
        return after.startswith((":\tlearn", ":\ttest")) or (
            len(texts) > index + 2 and _BRACKET_BEHIND.match(after) is not None
        )
    if not before.endswith("["):
        return False
    if before == "[" and after == " | " and len(texts) > index + 2 and texts[index + 2].startswith("]"):
        return True  # `[10 | 12.34] loss=3.21`, the seconds behind the step
    begins = before == "[" or before.endswith("] [")
    return after.startswith("]\t") or (
        begins and _NAME_BEHIND.match(after) is not None and len(texts) > index + 2
    )


def _name(text: str) -> tuple[str, bool, str]:
    """The name at the end of a text, whether a sign follows it, and the text before it."""
    if (key := _KEY.search(text)) is not None:
        return key[1].strip(), True, text[: key.start()]
    text = text.rstrip(_OPENING).replace("'s ", "\u2019s ")
    bare = _ARROW.sub("", text.rstrip(" :=#|\"'")).removesuffix(" is").removesuffix("为")
    marked = len(bare) < len(text)
    if (nested := _NESTED.search(bare)) is not None:
        return nested[1], marked, bare[: nested.start(1)]
    if (wrapper := _WRAPPER.search(bare)) is not None:
        bare = bare[: wrapper.start()].rstrip(" :=(\"'")
    suffix = ""
    if bare.endswith(")") and 0 <= (opening := bare.rfind("(")) < len(bare) - 2:
        inner = bare[opening + 1 : -1]
        if len(inner) <= 24 and inner.replace("/", "").replace(" ", "").isalpha():
            suffix, bare = f" ({inner})", bare[:opening].rstrip()
    cut = max(_end_of_last(bare, sign) for sign in _DELIMITERS)
    words: list[str] = []
    begin = len(bare)
    for match in reversed(list(_WORD.finditer(bare, cut))[-12:]):
        word = match.group()
        if match.end() != begin and bare[match.end() : begin].strip(" "):
            break  # something else is between the words
        if word in LEVELS or (words and _is_end_of_sentence(word)):
            break  # the end of a sentence, and no short form such as `Val.`
        if len(words) == (5 if marked else 3) or (not marked and word.lower() in STOP_WORDS):
            break
        words.insert(0, word)
        begin = match.start()
    bracketed = None if words else _BRACKETED_NAME.search(bare)
    if bracketed is not None and (_counts(bracketed[1]) or is_metric_name(bracketed[1])):
        return bracketed[1], marked, bare[: bracketed.start()]  # `[Epoch] 3 [Loss] 0.5`
    if bare[begin:].strip() and not words:
        return "", marked, bare
    name = " ".join(words).replace("\u2019", "'")
    if suffix and DATA_SPLIT.fullmatch(suffix[2:-1]):  # Epoch(val) names the data
        return name, marked, bare[:begin] + suffix
    return (name + suffix)[:_MAX_NAME] if name else "", marked, bare[:begin]


def _is_end_of_sentence(word: str) -> bool:
    """Whether a word ends with a full stop, and is no short form such as `Val.` or `Event@Avg.`."""
    return word.endswith(".") and len(word) - word.rfind("@") - 1 > _LONGEST_SHORT_FORM


def _end_of_last(text: str, sign: str) -> int:
    """Where the last occurrence of a sign ends, 0 without any."""
    position = text.rfind(sign)
    return position + len(sign) if position >= 0 else 0
