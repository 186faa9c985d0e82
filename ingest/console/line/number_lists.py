"""Numbers of which several belong together: lists of values, and lists of their names."""

from __future__ import annotations

import re

from holter.ingest.console.line.class_figures import is_before_support
from holter.ingest.console.line.data_names import names_data
from holter.ingest.console.line.line_words import ALL_DATA, DATA_SPLIT
from holter.ingest.console.line.number_names import counts
from holter.ingest.console.line.numbers_behind import values_behind
from holter.ingest.metric_names import is_metric_name

_MOST_OF_LIST = 32
"""Numbers of a list that are values of a step; longer ones are a history or weights."""
_NAME_LIST = re.compile(
    r"(?<![\w.])(?:([A-Za-z_][\w.@]{0,40}) ?\()?"
    r"((?:[A-Za-z_][\w.@]{0,40}(?: ?/|[,|]) ?){1,15}[A-Za-z_][\w.@]{0,40})\)?\s?[:=]?\s{0,8}[\[(]?$"
)
_NAMES_IN_BRACKETS = re.compile(
    r"()\[((?:['\"]?[A-Za-z_][\w.@ -]{0,40}['\"]?, ?){1,15}['\"]?[A-Za-z_][\w.@ -]{0,40}['\"]?)\]"
    r"\s?[:=]?\s{0,8}[\[(]$"
)
"""The same with words in brackets: `[Avg. Loss, Loss]: [0.5, 0.4]`, `['loss', 'acc'] [0.5, 0.4]` of Keras."""
_NAMES_OF_ONE = re.compile(
    r"(?<![\w./])((?:[A-Za-z]{2,20} ?/ ?){1,3}[A-Za-z]{2,20}) ([A-Za-z][\w-]{1,20})\s?[:=]?\s{0,4}$"
)
"""The same before a word that all have in common: `mean/median reward 12.5/11.0`."""
_DATA_OF_ONE = re.compile(
    rf"(?i)(?<![\w./])({ALL_DATA})(?: ?[,&+] ?| and )({ALL_DATA}) "
    r"([A-Za-z][\w-]{1,20}(?: [A-Za-z]\w{1,20})?)\s?[:=]?\s{0,4}[\[(]?$"
)
"""Two words for data before what both have: `train, val loss: 0.5, 0.4`, `train and test acc: 0.8 / 0.7`."""
_BETWEEN_DATA = frozenset({",", "/", "|", "&", "", "and"})
_WORDS = r"[A-Za-z][\w.-]{0,20}(?: [A-Za-z][\w.-]{0,20}){1,2}"
_NAMES_OF_WORDS = re.compile(rf"(?<![\w./] )(?<![\w./])((?:{_WORDS} ?/ ?){{1,3}}{_WORDS})\s?[:=]?\s{{0,4}}$")
"""Names of several words each: `train loss / val loss: 0.5 / 0.6`."""
_STATISTICS = re.compile(r"(?<![\w.])([A-Za-z]\w{0,20}) ?: ?([\u00b5\u03bc\u03c3mM]{2,4})\s?:? $")
"""Letters, Greek ones for mean and deviation, of what is computed of a metric: `return:mM 0.2 0.9`."""
_NAMES_OF_STATISTICS = {"\u00b5": "mean", "\u03bc": "mean", "\u03c3": "std", "m": "min", "M": "max"}
_DATA_IN_BRACKETS = re.compile(r"\[([A-Za-z]{2,12})\]:? $")
_METRIC_AHEAD = re.compile(r"(?<![\w.])([A-Za-z][\w@.-]{0,30}) $")
_DATA_AHEAD = re.compile(r"(?<![\w./])([A-Za-z]{2,12})[\])]?[ :|-]{1,3}$")
_RANKS = re.compile(
    r"(?<![\w.])([A-Za-z][\w-]{0,20}[@-])(\d{1,3}(?:/\d{1,3}){0,4}/(?:\d{1,3}|L))\s?[:=]?\s{0,8}$"
)
"""Names of which only the first is written out: `Recall@1/5/10: 0.1/0.2/0.3`, `ROUGE-1/2/L: 38/16/35`."""
_RANGE = re.compile(
    r"(?<![\w.])([A-Za-z_]{1,20})(\d{1,2}) ?[-,]? ?\.{2,3} ?[-,]? ?\1(\d{1,2})((?: [A-Za-z]{1,20})?)"
    r"\s?[:=]\s{0,8}\[$"
)
"""The first and the last name of numbered ones: `top1 - ... - top5 accuracy: [0.3, 0.4, 0.5, 0.6, 0.7]`."""
_NAME = r"[A-Za-z][\w-]{0,20}(?: [A-Za-z][\w-]{0,20}){0,3}"
_NAME_IN_BRACKETS = re.compile(
    rf"(?<![\w.])({_NAME}) ?\(({_NAME})\)((?: [A-Za-z]\w{{0,20}})?)\s?[:=]\s{{0,4}}$"
)
"""A name with a second one in brackets, `critic accuracy (loss)`, `train (val) loss`."""
_HISTORY = re.compile(r"['\"](?:val_)?loss['\"] ?: ?\[[-+.\w]{1,30},")
_UNIT = re.compile(r"^[A-Za-z]\w*")
"""A unit right behind a number, which is no name: `mem 10.2GB, loss 2.1`."""
_QUOTED_LISTS = ("['", '["')
_QUOTED = r"['\"][-+]?\d[\d.]{0,20}(?:[eE][-+]?\d{1,3})?['\"]"
_QUOTED_LIST = re.compile(rf"\[{_QUOTED}(?:, ?{_QUOTED}){{0,200}}\]")
_NO_QUOTES = str.maketrans("", "", "'\"")
_ORDERED = "OrderedDict([("
_NUMBER = r"[-+]?(?:\d[\d.]{0,20}(?:[eE][-+]?\d{1,3})?|nan|inf)"
_NUMBERED_PARTS = re.compile(
    r"(?:(?<![\w.])(?P<of>[A-Za-z](?:[A-Za-z_ ./-]|\(\w{1,5}\)){0,40}?) ?[:=] ?(?=[\[({]))?[\[({]?"
    rf"(?<![\w.])(?P<first>(?P<word>[A-Za-z][A-Za-z-]{{1,20}}) \d{{1,3}} ?[:=] ?{_NUMBER}%?)"
    rf"(?P<others>(?: ?[,;|]? {{1,2}}(?P=word) \d{{1,3}} ?[:=] ?{_NUMBER}%?)+)[\])}}]?"
)
"""Values of several of one kind, distinguished by their numbers: `Q loss: [agent 0: 0.5, agent 1: 0.4]`."""
_NUMBERED_PART = re.compile(rf"(?<![A-Za-z-])([A-Za-z-]{{2,21}} \d{{1,3}}) ?[:=] ?({_NUMBER})%?")
_NUMBER_AND_VALUE = re.compile(r"[A-Za-z] \d{1,3} ?[:=] ?[-+.\dni]")
"""What each of them has, which few lines have."""
_LIST_OF_ONE = re.compile(rf"(?<=['\"])( ?: ?)\[ ?({_NUMBER}) ?\](?=\s?[,}}])")
"""A list of one number behind a key: `{'D1': [0.1], 'loss': 0.5}`."""
_IN_LIST = ": ["
_BETWEEN_LISTS = "]: ["
_RANKED_LISTS = re.compile(
    r"(?P<name>[A-Za-z][\w-]{0,20}@)\[(?P<ranks>\d{1,4}(?:, ?\d{1,4}){1,15})\](?P<rest>)"
    r": \[(?P<values>[^\[\]\n]{1,400})\]"
)
"""A list of ranks before that of the values at them: `Hit@[5, 10]: [0.21, 0.34]`."""
_BETWEEN_RANKS = "-["
_RANKS_OF_METRIC = re.compile(
    r"(?P<name>(?:[A-Za-z][\w-]{0,20} ){0,4}[A-Za-z]\w{0,20}-)\[(?P<ranks>\d{1,4}(?:, ?\d{1,4}){1,15})\]"
    r"(?P<rest>(?: [A-Za-z][\w-]{0,20}){0,8}?)(?: is| ?[:=]) {0,4}"
    r"\[?(?P<values>[-+.\d%]{1,20}(?:, {0,4}[-+.\d%]{1,20}){1,15})\]?\s*$"
)
"""Ranks within a name: `Accuracy of top-[1,5] neighbours is 61.7, 72.4`."""

_END_OF_BRACKETS = ("): ", ") = ", ")=", "):")
"""What is behind names in brackets, between which commas may be where slashes are between the numbers."""
_LOSS_BEFORE = re.compile(r"(?i)(?:loss(?:es)?|perplexity|\bppl|\br?mse|\bmae)[:=]? {0,4}$")
"""The name of what is no share of anything, right before a number."""
_SHARE_BEFORE = re.compile(r"(?i)(?:acc(?:uracy)?|f1|auc|m?iou|dice)[:=]? {0,4}$")
_BEHIND_PAIR = re.compile(r"\s{0,4}(?:$|[,;|)\]]|\s[A-Za-z][\w@/-]{0,30}(?: [\w@-]{1,30}){0,3}[:= ])")
"""What is behind a pair of numbers: the end, a sign or the next name."""
_NEXT_NAME = re.compile(r",\s{0,4}[A-Za-z_](?:[\w./@%-]| (?! )){0,60}[:=]\s{0,4}$")
"""A comma and the name of the next number, with its sign."""
_EPOCH_LETTER = re.compile(r"(?:^|[\s\]|:])E[= ]$")


def listed_names(texts: tuple[str, ...]) -> dict[int, str]:
    """The names of numbers whose names are listed before: `loss_a,loss_b 7.1 5.5`, `loss/acc: 0.5/0.8`."""
    listed: dict[int, str] = {}
    for index, text in enumerate(texts[:-1]):
        if index:
            text = _UNIT.sub("", text)
        if (data := _data_in_brackets(texts, index)) is not None:
            listed |= data
            continue
        if (pair := _pair_of_names(texts, index) or _pair_of_data(texts, index)) is not None:
            listed |= dict(zip((index, index + 1), pair, strict=True))
            continue
        if (match := _STATISTICS.search(text)) is not None:
            names, signs = [f"{match[1]} ({_NAMES_OF_STATISTICS[letter]})" for letter in match[2]], {""}
        elif (match := _NAMES_OF_WORDS.search(text)) is not None and all(
            map(is_metric_name, named := re.split(" ?/ ?", match[1]))
        ):
            names, signs = named, {"/"}
        elif (match := _NAMES_OF_ONE.search(text)) is not None:
            names, signs = [f"{name} {match[2]}" for name in re.split(" ?/ ?", match[1])], {"/"}
        elif (match := _RANKS.search(text)) is not None:
            names, signs = [f"{match[1]}{rank}" for rank in match[2].split("/")], {"/"}
        elif (match := _RANGE.search(text)) is not None:
            numbers, signs = range(int(match[2]), int(match[3]) + 1), {","}
            names = [f"{match[1]}{number}{match[4]}" for number in numbers]
        elif (match := _NAME_LIST.search(text) or _NAMES_IN_BRACKETS.search(text)) is not None:
            names = [name.strip("'\"") for name in re.split(r" ?[,/|] ?", match[2])]
            signs = set(re.findall(r"[,/|]", match[2]))
            if of := match[1] or _metric_of_data(text[: match.start()], names):
                names = [f"{of}/{name}" for name in names]  # `Loss(text/kernel): 0.4/0.1`
            elif of := _data_of_list(text[: match.start()], names):
                names = [f"{of} {name}" for name in names]  # `Val loss/acc: 0.5/0.8`
        else:
            continue
        if (
            len(names) < 2
            or any(name.endswith(".") for name in names)
            or (DATA_SPLIT.fullmatch(names[0]) and counts(names[1]))
            or (counts(names[0]) and names[1].lower() == "total")
        ):
            continue  # `Training.., epoch: 0, 0/1875`, `Epoch / total: 3 / 90`
        between = {separator.strip() for separator in texts[index + 1 : index + len(names)]}
        behind = texts[index + len(names)].strip() if len(texts) > index + len(names) else None
        is_last = behind == "" and len(texts) == index + len(names) + 1
        is_run = between in (signs, {""}) or (between == {"/"} and text.endswith(_END_OF_BRACKETS))
        if is_run and behind is not None and (is_last or behind not in between):
            listed |= {index + offset: name for offset, name in enumerate(names)}
    return listed


def _pair_of_names(texts: tuple[str, ...], index: int) -> tuple[str, str] | None:
    """The names of a number and of the one in brackets behind it: `critic accuracy (loss): 0.5 (1.3)`.

    An acronym in brackets is a kind of what is named, and the number there its mean: `loss (MSE): 0.5 (0.4)`.
    """
    if texts[index + 1].strip(" %") != "(" or not "".join(texts[index + 2 : index + 3]).startswith(
        (")", "%)")
    ):
        return None
    match = _NAME_IN_BRACKETS.search(texts[index])
    if match is None:
        return None
    name, other, rest = match.groups()
    if rest:  # `train (val) loss`
        is_pair = DATA_SPLIT.fullmatch(name) is not None and DATA_SPLIT.fullmatch(other) is not None
        return (f"{name}{rest}", f"{other}{rest}") if is_pair else None
    if not (is_metric_name(name) and is_metric_name(other)) or other.isupper():
        return None
    qualifier, _, _ = name.rpartition(" ")
    return name, other if " " in other else f"{qualifier} {other}".strip()


def _pair_of_data(texts: tuple[str, ...], index: int) -> tuple[str, str] | None:
    """The names of two numbers behind what both have for different data: `train, val loss: 0.5, 0.4`."""
    if texts[index + 1].strip() not in _BETWEEN_DATA or index + 2 >= len(texts):
        return None
    match = _DATA_OF_ONE.search(texts[index])
    return None if match is None else (f"{match[1]} {match[3]}", f"{match[2]} {match[3]}")


def _data_in_brackets(texts: tuple[str, ...], index: int) -> dict[int, str] | None:
    """The names of two numbers that are those of data in brackets: `[train] 0.5 [validation] 0.4`."""
    behind = texts[index + 1] if index + 2 < len(texts) else ""
    pair = [_DATA_IN_BRACKETS.search(text) for text in (texts[index], behind)]
    if any(match is None or DATA_SPLIT.fullmatch(match[1]) is None for match in pair):
        return None
    is_next = behind.strip(" ,|;").startswith("[")
    return {index + at: match[1] for at, match in enumerate(pair) if match} if is_next else None


def _data_of_list(text: str, names: list[str]) -> str:
    """The word for data at the end of a text, if the names behind it say of none: `Val loss/acc`."""
    match = _DATA_AHEAD.search(text)
    if match is None or DATA_SPLIT.fullmatch(match[1]) is None or any(map(names_data, names)):
        return ""
    return match[1]


def _metric_of_data(text: str, names: list[str]) -> str:
    """The metric at the end of a text, if the names behind it are all those of data: `acc train/val`."""
    match = _METRIC_AHEAD.search(text) if all(map(DATA_SPLIT.fullmatch, names)) else None
    return match[1] if match is not None and is_metric_name(match[1]) else ""


def is_history(line: str) -> bool:
    """Whether a dictionary has the losses of all epochs, as Keras' history: `{'loss': [1.2, 1.1]}`."""
    return _HISTORY.search(line) is not None


def with_words(texts: tuple[str, ...]) -> tuple[str, ...]:
    """The texts with words for the letters of an epoch and its batch: `E=0 B=500 ppl=20.5`, `E 0 B 500`."""
    for index in range(len(texts) - 2):
        if texts[index + 1].strip(" ,") in ("B=", "B") and _EPOCH_LETTER.search(texts[index]) is not None:
            return (*texts[:index], f"{texts[index][:-2]}Epoch=", " Batch=", *texts[index + 2 :])
    return texts


def written_out(line: str) -> str:
    """The line with ordered dictionaries as dictionaries, and each value right behind its name.

    `OrderedDict([('AP', 0.4), ('AP50', 0.7)])`, `Hit@[5, 10]: [0.21, 0.34]`, `top-[1,5] acc is 61.7, 72.4`.
    """
    if _BETWEEN_LISTS in line:
        line = _RANKED_LISTS.sub(_with_ranks, line)
    if _BETWEEN_RANKS in line:
        line = _RANKS_OF_METRIC.sub(_with_ranks, line)
    if _IN_LIST in line:
        line = _LIST_OF_ONE.sub(r"\1\2", line)
    if _NUMBER_AND_VALUE.search(line) is not None:
        line = _NUMBERED_PARTS.sub(_as_keys, line)
    if _ORDERED not in line:
        return line
    line = re.sub(r"(\w['\"]), ", r"\1: ", line.replace(_ORDERED, "{").replace(")])", "}"))
    return line.replace("), (", ", ")


def _as_keys(match: re.Match[str]) -> str:
    """Values of several of one kind as a dictionary, whose keys are names as they are."""
    of, word = match["of"], match["word"]
    if counts(word) or is_metric_name(word):
        return match[0]  # `Epoch 3: 0.5`; `Loss 1: 0.5` is a name as any other
    pairs = _NUMBERED_PART.findall(match["first"] + match["others"])
    keys = ", ".join(f"'{f'{of}/' if of else ''}{key}': {value}" for key, value in pairs)
    return f"{{{keys}}}"


def without_quotes(line: str) -> str:
    """The line without quotes around the numbers of its lists: `IoU: ['93.1', '84.6']`."""
    if not any(begin in line for begin in _QUOTED_LISTS):
        return line
    return _QUOTED_LIST.sub(lambda found: found[0].translate(_NO_QUOTES), line)


def _with_ranks(match: re.Match[str]) -> str:
    """Values with their names, in which each has its rank, where there are as many as ranks."""
    ranks, values = match["ranks"].split(","), match["values"].split(",")
    if len(ranks) != len(values):
        return match[0]
    pairs = zip(ranks, values, strict=True)
    return ", ".join(
        f"{match['name']}{rank.strip()}{match['rest']}: {value.strip()}" for rank, value in pairs
    )


_RUNS = (("", ","), (";",), ("/",), ("|",), ("%",), ("%,",), ("% /", "%/"), ("% |",), ("=", "+"))
"""What may be between the numbers of a list."""
_BETWEEN_NUMBERS = {text: run for run in _RUNS for text in run}


def _last_of_run(texts: tuple[str, ...], index: int) -> int:
    """The last of some numbers with nothing but the same signs between them."""
    between = _BETWEEN_NUMBERS.get(texts[index + 1].strip(), ())
    while index + 2 < len(texts) and texts[index + 1].strip() in between:
        index += 1
    return index


def is_pair_of_losses(texts: tuple[str, ...], index: int) -> bool:
    """Whether a number and the one behind its slash are two losses, which have no total: `loss: 0.5/0.4`.

    So are two shares in a line with such losses: `loss: 0.5/0.4 acc: 0.8/0.7`.
    """
    if texts[index + 1].strip() != "/" or _BEHIND_PAIR.match(texts[index + 2]) is None:
        return False
    if _LOSS_BEFORE.search(texts[index]) is not None:
        return True
    if _SHARE_BEFORE.search(texts[index]) is None:
        return False
    pairs = (at for at in range(len(texts) - 2) if texts[at + 1] == texts[index + 1])
    return any(_LOSS_BEFORE.search(texts[at]) is not None for at in pairs)


def _is_data_alone(text: str) -> bool:
    """Whether a text is nothing but a word for data."""
    return DATA_SPLIT.fullmatch(text.strip()) is not None


def values_of_lists(texts: tuple[str, ...]) -> dict[int, int]:
    """The first number of the list that a number is in: `acc: [0.5, 0.4]`; `IoU: 0.9 0.8` ends its line.

    So does `acc: 50.5% 60.5%`, with commas, bars or slashes between them, too, and with commas it ends before
    the next name: `acc: 0.5, 0.6, loss: 2`. So do two losses with a slash between them, which are no share. A
    sum is one with its terms: `train==[0.5=0.4 + 0.1]`. How far values vary is one with their mean,
    `5.1 ± 0.3`, and so are numbers right behind a metric: `loss 0.5 0.6, acc 0.9`. Those of a line with
    nothing else but a word for data are one: `Val 1.35 0.45`.
    """
    firsts: dict[int, int] = {}
    index, count = 0, len(texts) - 1
    while index < count:
        last = _last_of_run(texts, index)
        is_end = last - index == 1 and is_pair_of_losses(texts, index)
        if texts[last] == "/" and last - index == 1 and not is_end:  # a total
            last = index
        before, behind = texts[index].rstrip(" "), texts[last + 1].lstrip(" ")
        is_closed = before.endswith(("[", "(")) and behind.startswith(("]", ")"))
        is_end |= before.endswith((":", "=")) and behind.strip() in ("", "%") and last + 1 == count
        is_end |= (
            not index and last > 0 and last + 1 == count and _is_data_alone(before) and not behind.strip()
        )
        is_next = behind.startswith(";")
        is_next |= texts[index + 1].strip() == "," and _NEXT_NAME.match(behind) is not None
        is_end |= before.endswith((":", "=")) and is_next  # `RMSE: 28.5, 26.9; MAE: 18`
        if last - index == 1 and last + 1 == count and is_before_support(texts, index):
            pass  # what is counted is no metric
        elif last - index < _MOST_OF_LIST and (is_closed or is_end):
            firsts |= dict.fromkeys(range(index + 1, last + 1), index)
        elif last == index and before.endswith((":", "=")) and texts[index + 1].strip() in ("->", "→"):
            firsts |= {index + 1: index}  # `test loss: 6.3 -> 5.7`, before and after
        elif behind_it := values_behind(texts, index):
            firsts |= dict.fromkeys(behind_it, index)
            last = behind_it[-1]
        index = last + 1
    return firsts
