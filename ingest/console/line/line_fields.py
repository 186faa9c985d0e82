"""The numbers of a line as fields: each with its name, its total, and what the text around it states."""

from __future__ import annotations

import re
from collections.abc import Iterator

from holter.ingest.console.line.counted_numbers import COUNTED_BEHIND_TOTAL, TWO_COUNTERS, counted_name
from holter.ingest.console.line.line_tokens import with_ascii_punctuation
from holter.ingest.console.line.line_words import (
    BEFORE_MESSAGE,
    DATA_SPLIT,
    STATISTICS,
)
from holter.ingest.console.line.names_around import ends_name_around, name_around
from holter.ingest.console.line.names_behind import names_behind
from holter.ingest.console.line.no_values import FILE_BEHIND, is_no_value
from holter.ingest.console.line.number_field import NumberField
from holter.ingest.console.line.number_lists import is_pair_of_losses, listed_names
from holter.ingest.console.line.number_names import MAX_NAME, NumberName, counts, name_before, phrase_before
from holter.ingest.console.line.parts_of_losses import begin_of_losses, with_losses
from holter.ingest.console.text.values import SCALES
from holter.ingest.metric_names import is_metric_name

_UNITS = re.compile(
    r"(?! [kKMGTB] [A-Za-z])"  # `D loss 1.2 G loss 0.9`, and below `first loss: 1.2 second loss: 0.9`
    r"\s?(?:%|(?:[A-Za-z]{0,12}/){1,2}[A-Za-z]{1,12}\b(?!\.[a-z]|\s?[:=]\s*$)|(?:[kKMGT]i?B?|B|m?s|secs?|seconds"
    r"|second(?! [A-Za-z]\w{0,20} ?[:=])|mins?|minutes?|h|hours?|days?"
    r"|its?|samples?|tokens?|images?|x|W|C|degrees?|deg|dB|cm|mm|px|pixels)(?![\w(=:./-]| ?[=:])"
    r"|m(?=[ \t]{1,8}[a-z]{1,12}_\w{1,40} ?[:=])"  # `time: 1.5 m   val_acc: 0.5`
    r"|毫秒|秒|分钟|小时|分|初|초|сек|мс)"
)
_NO_UNIT_ALONE = re.compile(
    r" (?:min|(?:[A-Za-z]{1,12}/){1,2}"
    r"(?!(?:s|secs?|seconds?|mins?|h|hours?|its?|iters?|steps?|batch|epoch|gpus?) )[A-Za-z]{1,12}) {1,4}"
)
"""What looks like a unit but names the next number, if nothing else does: `max 2.5 min 1.5`."""
_FILE_AND_NAME = re.compile(FILE_BEHIND.pattern + r"(?=[ \t,;|]{1,4}[A-Za-z])")
"""The name of a file before that of the next number."""
_SCALE = re.compile(r"[kKMGBT](?![A-Za-z])")
DURATION = re.compile(r"\s?(?:ms|us|ns|s|sec|secs|seconds?|min|mins|minutes?|h|hours?)(?![\w/])")
"""A unit of time behind a number."""
_LABEL = re.compile(r"(?:^|[^\d\s]|\s):$")
"""A colon that is not within a time: `Losses: x 0.27`."""
_BETWEEN_FIELDS = ("and", "+", "=", "/")
"""What may be between a number and the name of the next one: `reward 2.5 and epsilon 0.1`."""
_PAIR = re.compile(r"(?:,\s{0,12}|: | : {1,12})")
"""Between an epoch and a batch in brackets: `[1,  2000] loss: 2.1`, `[1: 20/100] loss`, `[1 :  200] loss`."""
_NAME_AND_COMMA = re.compile(r"\s*([A-Za-z]\w{0,40}(?: \w{1,20}){0,2}), ?")
_LOSS_BEHIND = re.compile(r"(?i)[\s,;:|\]-]{1,5}(?:[a-z]{1,10}[ _.-])?loss\b")
_RATE_BEFORE_LOSS = re.compile(r"(?i)[\s,;:|\]-]{1,5}lr ?[:=]? ?")
"""A rate between what is counted and its loss: `Epoch: 3 lr: 0.01 Loss: 0.5`."""
_BATCH_BEHIND = re.compile(r"(?i)[\s,;:|\]-]{1,5}(?:mini-?batch|batch|step|iter(?:ation)?)\W{0,4}$")
_BRACKETS = re.compile(
    r"(\w{1,60})(?:\[(?=[A-Za-z]|$)|\((?=[A-Za-z_]\w{0,30}=)| \{(?=[A-Za-z][\w./]{0,40} $))|[\])}]"
)
"""A bracket with named numbers in it begins or ends: `train[loss: 0.5`, `Adv(mean=0.1`."""
_WITH_TOTAL = re.compile(
    r"(?i)\b(epochs?|steps?|iter(?:ation)?s?|batch|episodes?) ?/ ?total(?=\s?[:=]\s{0,8}$)"
)
"""A counter whose name states that its total follows: `Epoch / total: 3 / 90`."""
_PERCENTILE = re.compile(r"\d{1,2}(?:st|nd|rd|th|%)? ?(?:percentile|quantile)")
"""A number that states how the metric before it is distributed."""
_NESTED_KEY = re.compile(r"['\"]([\w. -]{1,60})['\"] ?: ?\{|\}")
"""A dictionary within one begins or ends: `{'daily': {'loss': 0.5}}`."""
_MEASURED = re.compile(
    r"(?:^|[^\w./@% -]) {0,4}([A-Za-z][\w./@%-]{0,30}(?: [\w./@%-]{1,20}){0,2})"
    r" {0,4}(?:→|->|=>|:|\||[-\u2013\u2014]) {0,4}$"
)
"""A metric before the names of data: `Accuracy -> Train: 0.9, Val: 0.8`."""
_AVERAGES = frozenset({"macro", "micro", "weighted"})
"""How a metric is averaged over classes, named behind it as data are: `F1 - macro: 0.6 | micro: 0.7`."""
_PARTED = re.compile(r"(?:^|[^\w./@% -]) {0,4}([A-Za-z][\w./@%-]{0,30}(?: [\w./@%-]{1,20}){0,2}): {0,4}$")
"""A metric before the names of its parts: `dice: LV 0.8 RV 0.7`."""
_NO_WHOLE = re.compile(r"(?i)(?:errors?|return(?:ed|s)?|objective|losses|scores|rewards)$")
"""What is before the reason of a failure, too, `ValueError: got 3`, or before several metrics."""
_OF_DATA = re.compile(r"([A-Za-z][\w./@%-]{0,30}) (?:train|training)")
"""A metric of the training, before those of other data."""
_AT_EPOCH = re.compile(r"(?i)\s?@ ?epoch")
_SHARE = re.compile(r"(?i)acc|correct|prec|recall|hit|top")
"""Names of what is a share of something."""
_ERROR_RATE = re.compile(r"(?i)(?<![a-z])[wcpts]er$")
"""Names of shares that are printed with their counts in square brackets: `%WER 8.2 [ 12 / 345, 1 ins ]`."""
_SHARE_AHEAD = re.compile(r"%,? (?:[a-z]{1,20} )?\(|% \[")
"""What is between a share in per cent and what it is of, maybe with its name."""
_NUMBER_AS_KEY = re.compile(
    r"(?:([A-Za-z][\w./@-]{0,40}(?: [\w./@-]{1,40}){0,3})\s?[:=]\s?\{|, )(\d{1,4}(?:\.\d{1,4})?): $"
)
"""A key of a dictionary that is a number, behind the name of the dictionary or a value: `iou: {0: `."""
_RATE = re.compile(r" ?((?!its?/)[A-Za-z]{2,12}/(?:s|sec|second|step|it|iter))\b(?!/)")
"""A unit behind a number that states what it is: `39616 tok/s`."""
_SHAPE = re.compile(r"\b(?:torch\.Size|TensorShape|(?i:shapes?)(?: ?[:=])?) ?[(\[]{1,2}$")
"""What is before the sizes of an array: `torch.Size([32, 64])`, `shape: (32, 64)`."""
_TIME_PER = re.compile(
    r" ?((?:[mun]?s|secs?|seconds?)/(?:batch|step|epoch|examples?|samples?|images?|imgs?|frames?))\b"
    r"(?!/| ?[:=])"
)
"""The same of a time, which may as well be the name of the next number: `0.481 sec/batch`."""
_AMOUNT_OF_CELL = re.compile(r"(?:[kKMGB](?= ))? ?([A-Za-z]{1,12}) {1,2}[|│]{1,2} {1,2}")
"""A word behind the number that its cell begins with, and the end of the cell: `| 12M tok | `."""
_OF = frozenset(
    {"/", "of", "out of", "de", "von", "sur", "di", "из", "/ all", "/all", "/ total", "/total", "of total"}
)
"""What is between a number and its total."""
_NAME_AFTER = re.compile(
    r" ((?:[a-z]{1,12} )?(?:loss|accuracy|reward|error|perplexity))(?=[.,;!)]|\s*$| and )"
)
"""A name behind its number: `ended with 0.69 loss.`."""
_SHARE_BEHIND = re.compile(r" ?% ([A-Z]{2,5})(?=\s{0,8}(?:[|,;)]|$))")
"""A name in capitals behind a per cent: `34.2% MFU`."""
_CORRECT_BEHIND = re.compile(r" (?:are |were )?correct(?:ly classified)?(?=\s{0,4}(?:[.,;)]|$))")
"""What is behind how many of all were right."""
_SHARE_IN_PERCENT = re.compile(r" ?%(?!\|)")
"""What is behind a share, and no bar."""
_ENDS_PHRASE = re.compile(r" ?%?(?:[.,;!)]|\s*$| and )")
"""What is behind a number that is no amount of what follows it, as in `the loss of 3 horses`."""
_CHANGED = re.compile(r"(\w[^\n]{0,80}?) (?:decreas|increas|reduc)(?:ed?|es) from $")
"""What is before the old and the new value of a metric: `val loss decreased from 0.5 to 0.4`."""


def number_fields(texts: tuple[str, ...]) -> Iterator[NumberField]:
    """The numbers between these texts, one after another; a number and its total are one field."""
    fields = _FieldReader(with_ascii_punctuation(texts)).fields()
    begin = begin_of_losses(texts)
    return fields if begin < 0 else with_losses(fields, texts, begin)


class _FieldReader:
    """Reads the fields of a line from left to right and retains what earlier ones state about later ones."""

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
        self._around: str | None = None
        """The name around the number before, which is that of this one: `reward (last 100 episodes): 0.5`."""
        self._of_range = NumberName("", False, "")
        """What the number before counts, if it is the first one of a range: `Batch [0-20]`."""
        self._last_name = ""
        self._ordinal_end = 0
        """Where the name ends that follows the number before: `第 3 轮`."""
        self._in_pair = False
        self._in_shape = False
        """A number is one of the sizes of an array."""

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
        named, total, after, is_before_batch = self._name_and_total(index, text)
        last = max(index, total)
        opened = self._texts[index]
        self._in_shape = _SHAPE.search(opened) is not None or (
            self._in_shape and ")" not in opened and "]" not in opened
        )
        if self._in_shape or is_no_value(self._texts, last, text, after):
            named = named._replace(name="")
        behind = COUNTED_BEHIND_TOTAL.match(after) if total >= 0 and not named.name else None
        named, self._ordinal_end = counted_name(
            self._texts, index, text, after, self._qualified(named, after), is_before_batch=is_before_batch
        )
        if behind is not None:
            self._ordinal_end = behind.end()
            named = NumberName(behind[1], True, named.before)
        named = self._named_around(text, after, named)
        is_duration = DURATION.match(after) is not None
        if is_duration and (named.name.lower() == "cost" or DATA_SPLIT.fullmatch(named.name) is not None):
            named = named._replace(name=f"{named.name} time")  # `loss 0.5 | train 2.1s`, `cost 2.1s`
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
            precedes_loss=self._precedes_loss(last, after),
            precedes_batch=opens_batches or _BATCH_BEHIND.fullmatch(after) is not None,
            follows_percent=index > 0 and between.strip(" |") == "%",
        )

    def _name_and_total(self, index: int, text: str) -> tuple[NumberName, int, str, bool]:
        """The name of a number as the text next to it states it, and where its total is.

        Also the text behind both, and whether names of two counters are before it, as `_total` returns it.
        """
        named = self._keyed_by_number(text) or name_before(text)
        if not named.marked and _SHARE_IN_PERCENT.match(self._texts[index + 1]) is not None:
            named = phrase_before(text.rstrip(" ")) or named  # `test error of best model 8.7 %`
        if not index and text[-1:] == "[" and BEFORE_MESSAGE.fullmatch(text) is not None:
            named = NumberName("", False, text)  # of a logger: `INFO:model:[20, 0.0001]`
        if index and text == " to " and (changed := _CHANGED.search(self._texts[index - 1])) is not None:
            named = name_before(changed[1] + ":")
        total, is_before_batch = self._total(index, text, named.name)
        if index in self._listed:
            named = NumberName(self._listed[index], bool(self._listed[index]), "")
        after = self._texts[max(index, total) + 1]
        if not named.name and (name := self._name_behind(max(index, total), after)):
            named, total = NumberName(name, True, text), -1
        if text == " correct (":
            named = NumberName("", False, "")
        elif total >= 0 and after == " correct (":  # `Got 396 / 1000 correct (39.60)`
            named = NumberName("accuracy", True, text)
        elif total >= 0 and not named.name and _CORRECT_BEHIND.match(after) is not None:
            named = NumberName("correct", True, text)  # `44/100 correct`
        if text == "-":
            named = self._of_range
        self._of_range = named if named.name and counts(named.name) else NumberName("", False, "")
        return named, total, after, is_before_batch

    def _name_behind(self, index: int, after: str) -> str:
        """The name or the unit behind a number; a word right before the next number is the name of that."""
        if (rate := _RATE.match(after)) is not None:
            return rate[1]
        name = _NAME_AFTER.match(after) or _SHARE_BEHIND.match(after) or _TIME_PER.match(after)
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
        if index and self._is_amount_of_cell(index):
            text = ""
        elif self._ordinal_end:
            text = text[self._ordinal_end :]
        elif index and (file := _FILE_AND_NAME.match(text)) is not None:
            text = text[file.end() :]  # `image: 0021.jpg iter: 10`
        elif index and (unit := _UNITS.match(text)) is not None and not _NO_UNIT_ALONE.fullmatch(text):
            text = text[unit.end() :]
        elif index and (rate := _RATE.match(text)) is not None and rate[1] == self._last_name:
            text = text[rate.end() :]  # `1204 words/s : 51 sents/s`, it was that of the number before
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

    def _is_amount_of_cell(self, index: int) -> bool:
        """Whether all before a number is what the number of the cell before counts: `| 12M tok | 0.4m |`.

        In `lr | 0.1 time | 2.5` the names are in cells of their own.
        """
        amount = _AMOUNT_OF_CELL.fullmatch(self._texts[index])
        if amount is None or is_metric_name(amount[1]):
            return False
        return _ends_cell(self._texts[index - 1]) and not _ends_cell(self._texts[0])

    def _total(self, index: int, text: str, name: str) -> tuple[int, bool]:
        """Where the total of a number is, -1 without one; or whether two names of counters are before it."""
        texts, total = self._texts, index + 1
        if total >= self._count:
            return -1, False
        if texts[total].strip() not in _OF and not (name and counts(name) and _is_in_bars(texts, index)):
            return -1, False
        others = (texts[index], texts[total + 1] if total + 1 < self._count else "")
        if "/" in others or (texts[total] == " / " and " / " in others):
            return -1, False  # `means: 0.5/0.4/0.3`
        if name.endswith("))") or index in self._listed or is_pair_of_losses(texts, index):
            return -1, False  # `D(G(z)): 0.5 / 0.4`, before and after
        two = TWO_COUNTERS.search(text)
        if two is not None and two[3] and texts[total + 1].startswith(","):
            two = None  # `TRAIN Batch 0100/1314, Loss 6.2`, a batch and its total
        return (total, False) if two is None else (-1, True)

    def _qualified(self, named: NumberName, after: str) -> NumberName:
        """A name with the metric or section that it belongs to."""
        name, marked, before = named
        if not name:
            return named
        if _AT_EPOCH.match(after) is not None and DATA_SPLIT.fullmatch(name):
            name, marked = f"{name} step", True  # `train: 12 @ epoch: 3`
        if DATA_SPLIT.fullmatch(name) or name.lower() in _AVERAGES:
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
            self._section = ""  # `Metrics(epoch=3, loss=0.5)` states nothing of the loss
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

    def _named_around(self, text: str, after: str, named: NumberName) -> NumberName:
        """The name of a number whose name has another number in it, before this one."""
        if self._around is not None and ends_name_around(text):
            named = NumberName(self._around, True, "")
        self._around = name_around(text, after, named)
        is_counter = bool(named.name) and counts(named.name)  # `Loss (epoch 3): 0.5`
        is_part = self._around is not None and not is_counter
        return NumberName("", named.marked, text) if is_part else named

    def _precedes_loss(self, last: int, after: str) -> bool:
        """Whether a loss is right behind a number and its total, or behind a rate there."""
        if _RATE_BEFORE_LOSS.fullmatch(after) is not None and last + 2 < self._count:
            after = self._texts[last + 2]
        return _LOSS_BEHIND.match(after) is not None

    def _opens_batches(self, last: int, after: str) -> bool:
        behind = ["".join(text.split()) for text in self._texts[last + 2 : last + 4]]
        if after.strip() == "(" and behind[:1] == ["%)["]:  # `Train: 3/80 ( 4%) [ 50/928`
            return behind[1:] == ["/"]
        return "".join(after.split()) in ("[", "][") and behind[:1] == ["/"]


def _ends_cell(text: str) -> bool:
    """Whether a number behind a text is the first thing in its cell."""
    return text.rstrip(" ").endswith(("|", "│"))


def _explains(name: str, between: str) -> bool:
    """Whether a number in brackets states what that of this name is a share of: `acc: 0.76 (323 / 423)`."""
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
