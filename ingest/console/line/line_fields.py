"""The numbers of a line as fields: each with its name, its total, and what the text around says of it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from holter.ingest.console.line.line_tokens import with_ascii_punctuation
from holter.ingest.console.line.line_words import (
    BEFORE_MESSAGE,
    DATA_SPLIT,
    MISSPELT,
    STATISTICS,
    SUFFIXES_OF_FILES,
)
from holter.ingest.console.line.names_behind import names_behind
from holter.ingest.console.line.number_lists import listed_names
from holter.ingest.console.line.number_names import MAX_NAME, NumberName, counts, name_before
from holter.ingest.console.text.values import SCALES
from holter.ingest.metric_names import is_metric_name
from holter.translated_words import COUNTERS, in_english

_UNITS = re.compile(
    r"(?! [kKMGTB] [A-Za-z])"  # `D loss 1.2 G loss 0.9`, and below `first loss: 1.2 second loss: 0.9`
    r"\s?(?:%|(?:[A-Za-z]{0,12}/){1,2}[A-Za-z]{1,12}\b(?!\.[a-z]|\s?[:=]\s*$)|(?:[kKMGT]i?B?|B|m?s|secs?|seconds"
    r"|second(?! [A-Za-z]\w{0,20} ?[:=])|mins?|minutes?|h|hours?|days?"
    r"|its?|samples?|tokens?|images?|x|W|C|degrees?|deg|dB|cm|mm|px|pixels)(?![\w(=:./-]| ?[=:])"
    r"|毫秒|秒|分钟|小时|分|初|초|сек|мс)"
)
_NO_UNIT = re.compile(r"[A-Za-z_]++\d")
_NO_UNIT_ALONE = re.compile(
    r" (?:min|(?:[A-Za-z]{1,12}/){1,2}"
    r"(?!(?:s|secs?|seconds?|mins?|h|hours?|its?|iters?|steps?|batch|epoch|gpus?) )[A-Za-z]{1,12}) {1,4}"
)
"""What looks like a unit but names the next number, if nothing else does: `max 2.5 min 1.5`."""
_FILE = re.compile(r"-?[\w=.]{0,40}?\.?(?<![A-Za-z])(?:" + SUFFIXES_OF_FILES + r")\b")
"""What is behind a number in the name of a file: `epoch=3.ckpt`."""
_FILE_AND_NAME = re.compile(_FILE.pattern + r"(?=[ \t,;|]{1,4}[A-Za-z])")
"""The same before the name of the next number."""
_SCALE = re.compile(r"[kKMGBT](?![A-Za-z])")
DURATION = re.compile(r"\s?(?:ms|us|ns|s|sec|secs|seconds?|min|mins|minutes?|h|hours?)(?![\w/])")
"""A unit of time behind a number."""
_LABEL = re.compile(r"(?:^|[^\d\s]|\s):$")
"""A colon that is not within a time: `Losses: x 0.27`."""
_BETWEEN_FIELDS = ("and", "+", "=", "/")
"""What may be between a number and the name of the next one: `reward 2.5 and epsilon 0.1`."""
_PAIR = re.compile(r"(?:,\s{0,12}|: )")
"""Between an epoch and a batch in brackets: `[1,  2000] loss: 2.1`, `[1: 20/100] loss: 2.1`."""
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
    r"(epoch|batch|iter|step)(?=s?:| results:)| (batch|iteration|step|epoch)(?:e?s)?(?= ?\|)"
    r"|(?:st|nd|rd|th) (?:mini-?)?(epoch|batch|iteration|step)\b| (update)s(?=, \w)"
)
"""What a number counts, right after it: `1epoch:train:1-100batch:`, `| 200/2983 batches |`, `5th epoch`."""
_COUNTED_BEHIND_TOTAL = re.compile(
    r" (epoch|batch|iteration|iter|step)(?:e?s)?(?= [A-Za-z]\w{0,40}(?: [A-Za-z]\w{0,20}){0,2} ?[:=])"
)
"""The same behind a total, before the name of a metric: `1/10 epoch G_loss : 4.1`."""
_COUNTED_AT_END = re.compile(
    r"(?:st|nd|rd|th)? (epoch|iteration|iter|step|timesteps|batch|episode|round)[^\w\n]{0,40}$"
)
"""The same at the end of a line that begins with the number or has `the` before it: `this is the 3 epoch`."""
_COUNTED_AT_BEGIN = re.compile(
    r"(?i) (?:training )?(epoch|iteration|iter|(?:global[_ ])?step|episode|round)s?(?=[ ,:|-])"
)
"""The same at the beginning of a line: `0 epoch training loss: 2.2`, `After 1 round: loss = 0.8`."""
_COUNTED_AFTER = re.compile(r"(?i)\]? (epoch|iteration|iter|(?:time)?step|episode|round|update)s?(?=\s?[:=])")
_AFTER = re.compile(r"(?i)[a-z] (?:after|during) \[?$")
"""What is around a number between a name and its value: `Average reward after 1000 timesteps: 1.2`."""
_ROW_BEHIND = re.compile(r"(?i) {1,3}(horizon|class|client|fold|dataset|domain|agent)(?= {0,2}[|:])")
"""What tells rows apart, behind its number at the beginning of a line: `| 3 Horizon | MAE: 2.5`."""
_BEFORE_COUNTED = frozenset({"", "after"})
_THE = re.compile(r"(?i)(?:(?:^|\s)the|^[^\w\n]{0,40}) {0,2}$")
_COUNTED_IN_BRACKETS = re.compile(r" (ep|episode|step|iter|epoch|update)s?(?=\])")
"""The same in brackets: `[  1000 steps] reward=0.5`."""
_LOSS_BEHIND = re.compile(r"(?i)[\s,;:|\]-]{1,5}(?:[a-z]{1,10}[ _.-])?loss\b")
_BATCH_BEHIND = re.compile(r"(?i)[\s,;:|\]-]{1,5}(?:mini-?batch|batch|step|iter(?:ation)?)\W{0,4}$")
_NAME_BEHIND = re.compile(r"\] (?!(?i:epoch|step|iter(?:ation)?|round|episode)\b)[A-Za-z_]\w{0,60}[=: ]")
_BRACKET_BEHIND = re.compile(r" \[[A-Za-z]\w{0,20} ?\w{0,20}: $")
_BRACKETS = re.compile(
    r"(\w{1,60})(?:\[(?=[A-Za-z]|$)|\((?=[A-Za-z_]\w{0,30}=)| \{(?=[A-Za-z][\w./]{0,40} $))|[\])}]"
)
"""A bracket with named numbers in it begins or ends: `train[loss: 0.5`, `Adv(mean=0.1`."""
_WITH_TOTAL = re.compile(
    r"(?i)\b(epochs?|steps?|iter(?:ation)?s?|batch|episodes?) ?/ ?total(?=\s?[:=]\s{0,8}$)"
)
"""What says behind what counts that its total is behind it: `Epoch / total: 3 / 90`."""
_PERCENTILE = re.compile(r"\d{1,2}(?:st|nd|rd|th|%)? ?(?:percentile|quantile)")
"""A number that says how a metric is distributed which is before it."""
_NESTED_KEY = re.compile(r"['\"]([\w. -]{1,60})['\"] ?: ?\{|\}")
"""A dictionary within one begins or ends: `{'daily': {'loss': 0.5}}`."""
_MODULE = re.compile(r"(?:^|[\s|])(?:(?:[A-Za-z_]\w*\.)+\w+:(?:[\w<>]+:)?|[A-Za-z_]\w*:[\w<>]+:)$")
"""What loggers print before the number of a line: `yolox.core.trainer:after_iter:249 - `."""
_CALLER = re.compile(r"(?:^|\s)(?:__main__|[A-Za-z_]\w*(?:\.\w+)+):$")
"""The same before a function: `__main__:480:log_metrics E1`."""
_MEASURED = re.compile(
    r"(?:^|[^\w./@% -]) {0,4}([A-Za-z][\w./@%-]{0,30}(?: [\w./@%-]{1,20}){0,2})"
    r" {0,4}(?:→|->|=>|:|\||-) {0,4}$"
)
"""A metric before the names of data: `Accuracy -> Train: 0.9, Val: 0.8`."""
_PARTED = re.compile(r"(?:^|[^\w./@% -]) {0,4}([A-Za-z][\w./@%-]{0,30}(?: [\w./@%-]{1,20}){0,2}): {0,4}$")
"""A metric before the names of its parts: `dice: LV 0.8 RV 0.7`."""
_NO_WHOLE = re.compile(r"(?i)(?:errors?|return(?:ed|s)?|objective|losses|scores|rewards)$")
"""What is before the reason of a failure, too, `ValueError: got 3`, or before several metrics."""
_OF_DATA = re.compile(r"([A-Za-z][\w./@%-]{0,30}) (?:train|training)")
"""A metric of the training, before those of other data."""
_TWO_COUNTERS = re.compile(
    r"(?i:\b(epoch)/(iter(?:ation)?|step|batch)[\])]?[ \t]?[:=]?[ \t]?[\[(]?)$|\b(?:TRAIN|CV) (Batch) $"
)
"""Names of an epoch and what is counted in it, before both: `epoch/iter: 2/150`, `TRAIN Batch 2/150`."""
_AT_EPOCH = re.compile(r"(?i)\s?@ ?epoch")
_CLOSING = re.compile(r"(?: ?[A-Za-z]{1,20}){0,3}\) ?[:=]\s*$")
"""What follows a number that is a part of a name: `reward (last 100 episodes): 0.5`."""
_ENCLOSED = re.compile(r" ?\(((?:[A-Za-z]{1,20}:? ){0,3})$")
"""What is before such a number."""
_OVER = re.compile(
    r"([A-Za-z][A-Za-z ]{1,40}?) (?:(?:over|of|in|for|across)(?: the)?(?: last| past)?|(?:last|past)) $"
)
_COUNTED_EPISODES = re.compile(
    r" (?:[a-z]+ )?(?:episodes|games|runs|trials|rollouts|batches|iterations|steps)"
    r"(?:\)?\s?[:=]\s*| (?:is|was):? )$"
)
"""What is around a number that says over how many a mean is: `Average reward over 100 episodes: 12.3`."""
_SHARE = re.compile(r"(?i)acc|correct|prec|recall|hit|top")
"""Names of what is a share of something."""
_ERROR_RATE = re.compile(r"(?i)(?<![a-z])[wcpts]er$")
"""Names of shares that are printed with their counts in square brackets: `%WER 8.2 [ 12 / 345, 1 ins ]`."""
_SHARE_AHEAD = re.compile(r"%,? (?:[a-z]{1,20} )?\(|% \[")
"""What is between a share in per cent and what it is of, maybe with its name."""
_EQUALS = re.compile(r" {0,2}= {0,2}")
_END_OF_KEY = re.compile(r"['\"] ?: ")
"""The end of a key of a dictionary with a number in its name: `{'Dice, class 1': 0.5}`."""
_NUMBER_AS_KEY = re.compile(
    r"(?:([A-Za-z][\w./@-]{0,40}(?: [\w./@-]{1,40}){0,3})\s?[:=]\s?\{|, )(\d{1,4}(?:\.\d{1,4})?): $"
)
"""A key of a dictionary that is a number, behind the name of the dictionary or a value: `iou: {0: `."""
_BEGIN_OF_KEY = re.compile(r"[{,] ?['\"]")
_RATE = re.compile(r" ?((?!its?/)[A-Za-z]{2,12}/(?:s|sec|second|step|it|iter))\b(?!/)")
"""A unit behind a number that says what it is: `39616 tok/s`."""
_OF = frozenset({"/", "of", "out of", "de", "von", "sur", "di", "из"})
"""What is between a number and its total."""
_NAME_AFTER = re.compile(
    r" ((?:[a-z]{1,12} )?(?:loss|accuracy|reward|error|perplexity))(?=[.,;!)]|\s*$| and )"
)
"""A name behind its number: `ended with 0.69 loss.`."""
_SHARE_BEHIND = re.compile(r" ?% ([A-Z]{2,5})(?=\s{0,8}(?:[|,;)]|$))")
"""A name in capitals behind a per cent: `34.2% MFU`."""
_ENDS_PHRASE = re.compile(r" ?%?(?:[.,;!)]|\s*$| and )")
"""What is behind a number that is no amount of what follows it, as in `the loss of 3 horses`."""
_CHANGED = re.compile(r"(\w[^\n]{0,80}?) (?:decreas|increas|reduc)(?:ed?|es) from $")
"""What is before the old and the new value of a metric: `val loss decreased from 0.5 to 0.4`."""
_RATE_BEHIND = re.compile(r" \w{1,20}/s\b")
_TARGET = re.compile(
    r"\( {0,2}(?:(?i:goal)|目标值?|目標|목표|(?i:target)(?= ?[:=]? ?[<>≤≥])) ?[:=<>≤≥][^()\n]{0,40}$"
)
"""What is before a value that is to be reached: `acc: 0.4 (goal: up to 0.8)`, `acc: 0.4 (target > 0.8)`."""
_LIMIT = re.compile(r"[<>\u2264\u2265]=? {0,2}[A-Za-z_]\w{0,40} ?= ?$")
"""What is before a limit with a name: `improved by 0.015 >= min_delta = 0.01`."""

_BEHIND_NUMBERS_OF_NAMES = (_CLOSING, _COUNTED_EPISODES, _END_OF_KEY, _EQUALS)


@dataclass(frozen=True, slots=True)
class NumberField:
    """A number with its name, if it has one: `marked` by a colon, an equals sign or the like."""

    index: int
    total_index: int
    name: str
    marked: bool
    bracketed: bool
    adjacent: bool
    """Right after the brackets of the number before, as the batch in `Epoch: [0][50]` and `[1/5] #50`."""
    opens_batches: bool
    """A bracket with two numbers, such as a batch and the number of batches, comes next."""
    clean: bool
    """Nothing but the name is between the number and the delimiter before it."""
    before: str
    """The text before the name, without what belongs to the number before."""
    scale: float
    explains: bool
    """It says what the share before it is of: `Acc: 20.000% (2000/10000)`."""
    is_duration: bool
    """A unit of time follows."""
    opens_pair: bool
    """It is the first of two in brackets: `[1,  2000] loss: 2.1`."""
    closes_pair: bool
    """It is the second of them."""
    ends_line: bool
    """Its total ends the line."""
    precedes_loss: bool
    """A loss is right behind it, and its total if it has one: `val: 5/10, loss: 0.5`."""
    precedes_batch: bool
    """The number of a batch is right behind it: `unet epoch: 3 batch: 20`, `unet epoch: 3 [20/50]`."""
    follows_percent: bool
    """Nothing but spaces is between it and the per cent before it: `8.5% 5000/58874`."""

    @property
    def english(self) -> str:
        """The name in English words, where its words are known, and those that count spelt right."""
        return " ".join(MISSPELT.get(word.lower(), word) for word in in_english(self.name).split())


def number_fields(texts: tuple[str, ...]) -> Iterator[NumberField]:
    """The numbers between these texts, one after another; a number and its total are one field."""
    return _FieldReader(with_ascii_punctuation(texts)).fields()


class _FieldReader:
    """Reads the fields of one line from left to right; what earlier ones say of later ones is kept."""

    def __init__(self, texts: tuple[str, ...]) -> None:
        self._texts = texts
        self._count = len(texts) - 1
        self._listed = names_behind(texts) or listed_names(texts)
        self._section = ""
        """The name before the bracket that a number is in: `train[loss: 0.5`."""
        self._keys: list[str] = []
        """The keys of the dictionaries around a number."""
        self._keyed = ""
        """The name of the dictionary around a number whose keys are numbers."""
        self._measured = ""
        """The metric that the names of data follow: `Accuracy -> Train: 0.9, Val: 0.8`."""
        self._parted = ""
        """The metric that the names of its parts follow: `dice: LV 0.8 RV 0.7`."""
        self._around = ""
        """The name around the number before, which is that of this one: `reward (last 100 episodes): 0.5`."""
        self._of_range = NumberName("", False, "")
        """What the number before counts, if it is the first one of a range: `Batch [0-20]`."""
        self._last_name = ""
        self._ordinal_end = 0
        """Where the name ends that follows the number before: `第 3 轮`."""
        self._in_pair = False

    def fields(self) -> Iterator[NumberField]:
        """The fields in their order."""
        index = 0
        while index < self._count:
            field = self._field(index)
            yield field
            index = max(field.index, field.total_index) + 1

    def _field(self, index: int) -> NumberField:
        text = self._text_before(index)
        if text.endswith(" of ") and _ENDS_PHRASE.match(self._texts[index + 1]) is not None:
            text = text.removesuffix(" of ") + ": "  # `a training loss of 0.5 and`
        named = self._keyed_by_number(text) or name_before(text)
        if not index and text[-1:] == "[" and BEFORE_MESSAGE.fullmatch(text) is not None:
            named = NumberName("", False, text)  # of a logger: `INFO:model:[20, 0.0001]`
        if index and text == " to " and (changed := _CHANGED.search(self._texts[index - 1])) is not None:
            named = name_before(changed[1] + ":")
        total, two = self._total(index, text, named.name)
        if index in self._listed:
            named = NumberName(self._listed[index], bool(self._listed[index]), "")
        after = self._texts[max(index, total) + 1]
        if not named.name and (name := self._name_behind(max(index, total), after)):
            named, total = NumberName(name, True, text), -1
        if text == " correct (":
            named = NumberName("", False, "")
        elif total >= 0 and after == " correct (":  # `Got 396 / 1000 correct (39.60)`
            named = NumberName("accuracy", True, text)
        if text == "-":
            named = self._of_range
        self._of_range = named if named.name and counts(named.name) else NumberName("", False, "")
        last = max(index, total)
        if self._is_no_value(last, text, after):
            named = named._replace(name="")
        behind = _COUNTED_BEHIND_TOTAL.match(after) if total >= 0 and not named.name else None
        named = self._counted(index, text, after, two, self._qualified(named, after))
        if behind is not None:
            self._ordinal_end = behind.end()
            named = NumberName(behind[1], True, named.before)
        named = self._named_around(text, after, named)
        is_duration = DURATION.match(after) is not None
        if is_duration and DATA_SPLIT.fullmatch(named.name) is not None:
            named = named._replace(name=f"{named.name} time")  # `loss 0.5 | train 2.1s`
        last_name, self._last_name = self._last_name, named.name
        opens_pair = total < 0 and _opens_pair(self._texts, index)
        closes_pair, self._in_pair = self._in_pair, opens_pair
        between = self._texts[index].strip()
        return NumberField(
            index=index,
            total_index=total,
            name="" if opens_pair else named.name,
            marked=named.marked,
            bracketed=text.rstrip(" ")[-1:] in ("[", "("),
            adjacent=index > 0
            and "".join(between.split()) in (("][", "]#", "],[") if total >= 0 else ("][", "]#")),
            opens_batches=(opens_batches := self._opens_batches(last, after)),
            clean=_is_clean(named.before.rstrip(" ")),
            before=named.before,
            scale=SCALES[after[0]] if _SCALE.match(after) else 1.0,
            explains=_explains(last_name, between),
            is_duration=is_duration,
            opens_pair=opens_pair,
            closes_pair=closes_pair,
            ends_line=total >= 0 and not after.strip() and last + 1 == self._count,
            precedes_loss=_LOSS_BEHIND.match(after) is not None,
            precedes_batch=opens_batches or _BATCH_BEHIND.fullmatch(after) is not None,
            follows_percent=index > 0 and between.strip(" |") == "%",
        )

    def _name_behind(self, index: int, after: str) -> str:
        """The name or the unit behind a number; a word right before the next number is the name of that."""
        if (rate := _RATE.match(after)) is not None:
            return rate[1]
        name = _NAME_AFTER.match(after) or _SHARE_BEHIND.match(after)
        is_of_next = name is not None and not after[name.end() :].strip() and index + 1 < self._count
        return "" if name is None or is_of_next else name[1]

    def _keyed_by_number(self, text: str) -> NumberName | None:
        """The name of a number behind a key that is a number: `iou/0` of `iou: {0: 0.7, 1: 0.8}`."""
        key = _NUMBER_AS_KEY.search(text)
        self._keyed = "" if key is None else key[1] or self._keyed
        return NumberName(f"{self._keyed}/{key[2]}", True, "") if key is not None and self._keyed else None

    def _text_before(self, index: int) -> str:
        """The text before a number, without the unit or ordinal of the number before."""
        text = self._texts[index].removeprefix("_") if index else self._texts[0]  # `epoch1_iter20_loss: 2`
        if self._ordinal_end:
            text = text[self._ordinal_end :]
        elif index and (file := _FILE_AND_NAME.match(text)) is not None:
            text = text[file.end() :]  # `image: 0021.jpg iter: 10`
        elif index and (unit := _UNITS.match(text)) is not None and not _NO_UNIT_ALONE.fullmatch(text):
            text = text[unit.end() :]
        if "otal" in text and self._texts[index + 1].strip() in _OF:
            text = _WITH_TOTAL.sub(r"\1", text)
        for bracket in _BRACKETS.finditer(text):
            self._section = bracket[1] or ""
        if text.endswith("["):  # it encloses this number, not names
            self._section = ""
        for key in _NESTED_KEY.finditer(text):
            self._keys = [*self._keys, key[1]] if key[1] else self._keys[:-1]
        if self._count == 1 and (alone := _NAME_AND_COMMA.fullmatch(text)) is not None:
            text = f"{alone[1]}: "  # `lr, 0.001`
        return text

    def _total(self, index: int, text: str, name: str) -> tuple[int, re.Match[str] | None]:
        """Where the total of a number is, -1 without one; or the names of two counters before both."""
        texts, total = self._texts, index + 1
        if total >= self._count:
            return -1, None
        if texts[total].strip() not in _OF and not (name and counts(name) and _is_in_bars(texts, index)):
            return -1, None
        if texts[index] == "/" or (texts[total + 1] == "/" and total + 1 < self._count):
            return -1, None  # `means: 0.5/0.4/0.3`
        if name.endswith("))") or index in self._listed:
            return -1, None  # `D(G(z)): 0.5 / 0.4`, before and after
        two = _TWO_COUNTERS.search(text)
        if two is not None and two[3] and texts[total + 1].startswith(","):
            two = None  # `TRAIN Batch 0100/1314, Loss 6.2`, a batch and its total
        return (total, None) if two is None else (-1, two)

    def _is_no_value(self, last: int, text: str, after: str) -> bool:
        """Whether a number is part of an identifier, a range or nested lists, a target, or a line of code."""
        return (
            _NO_UNIT.match(after) is not None
            or _FILE.match(after) is not None
            or after == "-"
            or _is_reference(text, after)
            or _TARGET.search(text) is not None
            or _LIMIT.search(text) is not None
            or (text.rstrip(" ").endswith("[[") and not after.lstrip(" ").startswith("]]"))
            or (after == "," and last + 1 < self._count and text[-1:] not in ("[", "("))
            or (text.endswith("[") and after.strip() == "," and last + 1 == self._count)  # a list goes on
        )

    def _qualified(self, named: NumberName, after: str) -> NumberName:
        """A name with the metric or section that it belongs to."""
        name, marked, before = named
        if not name:
            return named
        if _AT_EPOCH.match(after) is not None and DATA_SPLIT.fullmatch(name):
            name, marked = f"{name} step", True  # `train: 12 @ epoch: 3`
        if DATA_SPLIT.fullmatch(name):
            if (of := _MEASURED.search(before)) is not None and is_metric_name(of[1]):
                self._measured = of[1]
            name = f"{self._measured}/{name}" if self._measured else name
            if before.endswith("(") and not marked and is_metric_name(self._last_name):
                name = f"{self._last_name}/{name}"  # `loss 2.4 (val 2.1)`
        elif (of := _OF_DATA.fullmatch(name)) is not None and is_metric_name(of[1]):
            self._measured = of[1]  # `LOSS train 2.3 valid 2.2`
        else:
            self._measured = ""
            name = self._of_parts(NumberName(name, marked, before))
        if _PERCENTILE.fullmatch(name) is not None and before.strip() == "," and self._last_name:
            name = f"{self._last_name.partition(' (')[0]} ({name})"  # `loss: 0.5, 90th percentile: 0.8`
        elif name.lower() in STATISTICS and self._is_explained(before):
            name = f"{self._last_name.partition(' (')[0]} ({name})"  # `loss: 0.5 (mean: 0.4, std: 0.1)`
        if counts(name):
            self._section = ""  # `Metrics(epoch=3, loss=0.5)` says nothing of the loss
        if self._section and name != self._section:
            name = f"{self._section}/{name}"
        if self._keys:
            name = "/".join((*self._keys, name))
        return NumberName(name[:MAX_NAME], marked, before)

    def _of_parts(self, named: NumberName) -> str:
        """A name behind the metric that it is a part of: `dice: LV 0.8 RV 0.7`; so are those behind it."""
        name, marked, before = named
        if marked or " " in name or counts(name) or is_metric_name(name):
            self._parted = ""
        elif (of := _PARTED.search(before)) is not None:
            self._parted = of[1] if is_metric_name(of[1]) and _NO_WHOLE.search(of[1]) is None else ""
        elif before.strip(" ,%"):
            self._parted = ""
        return f"{self._parted}/{name}" if self._parted else name

    def _is_explained(self, before: str) -> bool:
        """Whether a number is in brackets right behind one with a name, or behind another one in these."""
        last = self._last_name
        is_next = before.strip() == "," and last.endswith(")")  # not of `mean=0.1, std=0.2`
        is_next &= last.rpartition(" (")[2].rstrip(")").lower() in STATISTICS
        is_of_last = bool(last) and not (self._section or counts(last))
        return is_of_last and (before.strip() == "(" or is_next)

    def _counted(
        self, index: int, text: str, after: str, two: re.Match[str] | None, named: NumberName
    ) -> NumberName:
        """The name of a number with what it counts, where other signs than a name before it say that."""
        texts, before = self._texts, named.before
        self._ordinal_end = 0
        if _ORDINAL.search(text) is not None and (ordinal := _ORDINAL_NAME.match(after)) is not None:
            self._ordinal_end = ordinal.end()
            return NumberName(ordinal[1], True, _ORDINAL.sub("", text))
        if (counted := _COUNTED.match(after)) is not None and after[counted.end() :].strip(" :="):
            if counted[2]:  # `50000/  100000 steps| 14017 tokens/s`
                self._ordinal_end = counted.end()
            return NumberName(next(filter(None, counted.groups())), True, before)
        if _AFTER.search(text) is not None and (counted := _COUNTED_AFTER.match(after)) is not None:
            self._ordinal_end = counted.end()
            return NumberName(counted[1].lower().removeprefix("time"), True, text)
        counted = _COUNTED_AT_END.match(after) if index + 2 == len(texts) and not named.name else None
        if counted is not None and _THE.search(text) is not None:
            return NumberName(counted[1], True, before)
        if text.rstrip(" ")[-1:] == "[" and (counted := _COUNTED_IN_BRACKETS.match(after)) is not None:
            return NumberName({"ep": "episode"}.get(counted[1], counted[1]), True, before)
        is_between = text.strip() == "|" and after.lstrip().startswith("|")
        if index == 1 and is_between and self._follows_epoch():  # `Epoch: 1 | 100 | Loss: 1.43`
            return NumberName("batch", True, before)
        if two is not None:
            return NumberName("epoch", True, text)
        if text == "/" and index and (two := _TWO_COUNTERS.search(texts[index - 1])) is not None:
            return NumberName(two[2] or two[3], True, before)
        if index < 2 and _begins_with_epoch_and_batch(texts):
            return NumberName(("epoch", "batch")[index], True, before)
        if not named.name and (_is_first(texts, index) or _is_before_rate(texts, index)):
            return NumberName("iteration", True, before)
        if (not index and text.strip().lower() in _BEFORE_COUNTED) or self._is_behind_counted(index, text):
            counted = _COUNTED_AT_BEGIN.match(after)
            if counted is not None and not named.name:
                self._ordinal_end = counted.end()
                return NumberName(counted[1].lower(), True, before)
        if index:
            return named
        if not named.name and (row := _ROW_BEHIND.match(after)) is not None:
            self._ordinal_end = row.end()
            return NumberName(row[1].lower(), False, before)
        if after.startswith(", ") and not named.marked and DATA_SPLIT.fullmatch(named.name):
            return NumberName(f"{named.name} epoch", True, before)  # `Train 3, loss: 2.31`
        if not text.strip() and after == " [" and texts[2:3] == ("/",):
            return NumberName("epoch", True, before)  # `01 [100/445] loss 2.31`
        return named

    def _follows_epoch(self) -> bool:
        """Whether the first number is that of an epoch."""
        return name_before(self._texts[0]).name.lower().rpartition(" ")[2] == "epoch"

    def _is_behind_counted(self, index: int, text: str) -> bool:
        """Whether nothing is between a number and one that is counted so: `0 epoch 50 step loss: 1.9`."""
        return index == 1 and not text.strip(" ,") and _COUNTED_AT_BEGIN.match(self._texts[1]) is not None

    def _named_around(self, text: str, after: str, named: NumberName) -> NumberName:
        """The name of a number whose name has another number in it, before this one."""
        if self._around and any(sign.match(text) is not None for sign in _BEHIND_NUMBERS_OF_NAMES):
            named = NumberName(self._around, True, "")
        self._around = _name_around(text, after) or _key_around(text, after) or _indexed(named, after)
        is_counter = bool(named.name) and counts(named.name)  # `Loss (epoch 3): 0.5`
        return NumberName("", named.marked, text) if self._around and not is_counter else named

    def _opens_batches(self, last: int, after: str) -> bool:
        behind = ["".join(text.split()) for text in self._texts[last + 2 : last + 4]]
        if after.strip() == "(" and behind[:1] == ["%)["]:  # `Train: 3/80 ( 4%) [ 50/928`
            return behind[1:] == ["/"]
        return "".join(after.split()) in ("[", "][") and behind[:1] == ["/"]


def _explains(name: str, between: str) -> bool:
    """Whether a number in brackets says what that of this name is a share of: `acc: 0.76 (323 / 423)`."""
    if between in ("(", "["):
        return (_SHARE if between == "(" else _ERROR_RATE).search(name) is not None
    return bool(name) and _SHARE_AHEAD.fullmatch(between) is not None


def _is_clean(before: str) -> bool:
    """Whether a text before a name ends with a delimiter."""
    return (
        before[-1:] in ("", ",", ";", "|", "(", ")", "{", "]", "}", "\t", "-", ">")
        or _LABEL.search(before) is not None
        or before.strip() in _BETWEEN_FIELDS
    )


def _begins_with_epoch_and_batch(texts: tuple[str, ...]) -> bool:
    """Whether a line begins with two numbers of which the second has a total: ` 3  100 / 320 loss = 0.5`."""
    return len(texts) > 4 and not (texts[0] + texts[1]).strip() and texts[2].strip() == "/"


def _is_in_bars(texts: tuple[str, ...], index: int) -> bool:
    """Whether a number and the next are alone in brackets with a bar between: `Batch: [ 0 | 200 ]`."""
    before, between, behind = (text.strip(" ") for text in texts[index : index + 3])
    return between == "|" and before.endswith(("[", "(")) and behind.startswith(("]", ")"))


def _opens_pair(texts: tuple[str, ...], index: int) -> bool:
    """Whether a number is the first of two in brackets that begin a message: `[1,  2000]`, `[1: 50/ 90]`."""
    if texts[index][-1:] != "[" or _PAIR.fullmatch(texts[index + 1]) is None:
        return False
    behind = texts[index + 2 : index + 4]
    if texts[index + 1] == ": " and "".join(behind[:1]).strip() != "/":
        return False
    if behind[:1] and behind[0].strip() == "/":
        behind = behind[1:]
    is_first = BEFORE_MESSAGE.fullmatch("".join(texts[: index + 1])) is not None
    return is_first and bool(behind) and behind[0].startswith("]")


def _key_around(text: str, after: str) -> str | None:
    """The name of a key of a dictionary that ends in a number; None of other numbers."""
    if _END_OF_KEY.match(after) is None:
        return None
    key = re.split(r"[{,] ?['\"]", text)[-1].strip(" ,:=_-") if _BEGIN_OF_KEY.search(text) else ""
    return key[:MAX_NAME] if key and "'" not in key and '"' not in key else None


def _indexed(named: NumberName, after: str) -> str:
    """The name of the next number, if this one is an index in it: `Stage 0 = 39.1`."""
    is_index = _EQUALS.fullmatch(after) is not None and named.name and not named.marked
    return named.name if is_index and not counts(named.name) else ""


def _name_around(text: str, after: str) -> str | None:
    """The name before the brackets that a number between these texts is in, None if there are none."""
    if _COUNTED_EPISODES.fullmatch(after) is not None and (over := _OVER.search(text)) is not None:
        is_name = is_metric_name(over[1]) or DATA_SPLIT.fullmatch(over[1]) is not None
        return over[1] if is_name else f"{over[1]} over episodes"
    enclosed = _ENCLOSED.search(text) if _CLOSING.match(after) is not None else None
    if enclosed is None:
        return None
    name = name_before(text[: enclosed.start()]).name
    return None if not name or counts(name) else name


def _is_reference(text: str, after: str) -> bool:
    """Whether a number is that of a line, as in `(trainer:737) INFO` and `yolox.core.trainer:246 - `."""
    if after.startswith(":") and _CALLER.search(text) is not None:
        return True
    if after.startswith((" - ", " | ")) and _MODULE.search(text) is not None:
        return True
    return after.startswith(")") and text.endswith(":") and text.rpartition("(")[2][:-1].isidentifier()


def _is_before_rate(texts: tuple[str, ...], index: int) -> bool:
    """Whether a number is the first of a line with dashes, before a rate: `1135 -   56.12 sent/s - `."""
    return (
        texts[index].strip() in ("", "-")
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
