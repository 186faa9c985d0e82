"""The shape of a line, that is its text without its numbers, and what each number in such a line is.

Programs print the same few shapes over and over. A shape is analysed once: which numbers count (epochs,
batches, steps), which are totals of these, which are metrics and by what names. A line then costs one split
and one look-up.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from enum import IntEnum
from functools import lru_cache

from holter.ingest.console.values import SCALES
from holter.ingest.metric_names import is_metric_name
from holter.translated_words import COUNTERS, in_english

_NUMBER = r"[-+]?(?:\d++(?:,\d{3}(?!\d))*+(?:\.\d*+)?+|\.\d++)(?:[eE][-+]?\d++)?+"
# times, durations, versions, addresses and hexadecimal numbers are tokens, too, so that no part of them is
# taken for a number
_TOKEN = re.compile(
    r"(?<![0-9A-Za-z_.@\u00c0-\u1fff])(?<![A-Za-z]-)("
    r"\d{4}[-/]\d\d[-/]\d\d(?:[ T,]\d\d:\d\d:\d\d(?:[.,]\d{1,9})?+)?+"
    r"|\d\d?[-/]\d\d?(?:[-/]\d{4})? \d\d:\d\d(?::\d\d(?:[.,]\d{1,9})?+)?+"
    r"|\d{1,3} days?, \d\d?:\d\d:\d\d"
    r"|\d{1,4}(?::\d\d){1,2}+(?:[.,]\d{1,9})?+(?!\w)"
    r"|\d++(?:\.\d++){2,}+"
    r"|0[xX][0-9a-fA-F]++"
    rf"|{_NUMBER}"
    r"|[-+]?(?:nan|NaN|NAN|inf(?:inity)?|Inf(?:inity)?|INF)(?!\w)"
    r")"
)
_MAX_NUMBERS = 400
_MAX_NAME = 120
_MANY_METRICS = 3
_LONGEST_SHORT_FORM = 5


class Counter(IntEnum):
    """What a number counts, the most reliable axis first."""

    GLOBAL_STEP = 0
    STEP = 1
    BATCH = 2
    """Batches within an epoch."""
    EPOCH = 3
    OTHER = 4
    """Time steps of an environment, samples, images, rounds: the axis of lines without any other."""

    __hash__ = int.__hash__  # that of enumerations is slow, and counts are looked up for every line


@dataclass(frozen=True, slots=True)
class CounterField:
    """A number that counts: its index among the numbers of a line, and that of its total, -1 without one."""

    counter: Counter
    index: int
    total_index: int
    scale: float


@dataclass(frozen=True, slots=True)
class MetricField:
    """A named number: its index among the numbers of a line, and by how much its unit multiplies it."""

    name: str
    index: int
    scale: float


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


_NOTHING = LineShape((), (), "", is_record=False)

_UNITS = re.compile(
    r"\s?(?:%|(?:[A-Za-z]{0,12}/){1,2}[A-Za-z]{1,12}\b(?!\.[a-z])|(?:[kKMGT]i?B?|B|m?s|secs?|seconds?|mins?|minutes?|h|hours?|days?"
    r"|its?|samples?|tokens?|images?|x|W|C)(?![\w(=:./]| ?[=:])|毫秒|秒|分钟|小时|分|初|초|сек|мс)"
)
_NO_UNIT = re.compile(r"[A-Za-z_]++\d")
_SCALE = re.compile(r"[kKMGBT](?![A-Za-z])")
_WORD = re.compile(r"[^\W\d][\w./@%+\u2019-]*")
_FULL_WIDTH: dict[int, int | str] = {
    **{code: code - 0xFEE0 for code in range(0xFF01, 0xFF5F)},
    **dict(zip(map(ord, "\u3000、。【】「」《》"), " ,;[][][]", strict=True)),
}
"""Punctuation of Chinese and Japanese, which is as wide as a letter, and that of ASCII."""
_DURATION = re.compile(r"\s?(?:ms|us|ns|s|sec|secs|seconds?|min|mins|minutes?|h|hours?)(?![\w/])")
_PAIR = re.compile(r",\s{1,12}")
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
)
"""What a number counts, right after it: `1epoch:train:1-100batch: loss=5.1`, `| 200/2983 batches |`."""
_NAME_BEHIND = re.compile(r"\] [A-Za-z_]\w{0,60}[=: ]")
_BRACKET_BEHIND = re.compile(r" \[[A-Za-z]\w{0,20} ?\w{0,20}: $")
_BRACKETS = re.compile(r"(\w{1,60})\[(?=[A-Za-z]|$)|\]")
_NAME_AHEAD = re.compile(r"([A-Za-z][\w -]{0,60}?) (?:at|in|after|for) ")
"""A name before what is counted: `loss at step 5: 2.3`, `Loss at epoch 0 and iteration 5 is 2.3`."""
_SOURCE_FILE = re.compile(r"\.(?:py|cc|cpp|cu|cuh|c|h|go|rs|java|js|lua|m)$")
_MODULE = re.compile(r"(?:^|[\s|])(?:(?:[A-Za-z_]\w*\.)+\w+:(?:[\w<>]+:)?|[A-Za-z_]\w*:[\w<>]+:)$")
"""What loggers print before the number of a line: `yolox.core.trainer:after_iter:249 - `."""
_SPLIT = re.compile(
    r"(?<![\w./])(?:(train(?:ing)?)"
    r"|(eval(?:uation|uate|uating)?|valid(?:ation|ating)?|val|test(?:ing)?|dev|cv(?= batch)))"
    r"(?![\w/-]|\.\w)",
    re.I,
)
_OF_TRAINING = re.compile(
    r"(?i)\blr\b|learning.?rate|grad|train|/s(?:ec)?\b|best|total|time|(?:tokens?|samples?|images?)/"
)
_COUNTS_DATA = re.compile(r"\((?:val|test|eval)\)\s*$", re.I)
_ESTIMATED = re.compile(r"\bSaving dict for global step")
"""What the estimators of TensorFlow print before the metrics of an evaluation."""
_SETTINGS = re.compile(
    r"(?:\bNamespace|[Cc]onfig|[Aa]rg(?:ument)?s|[Hh]param(?:eter)?s|[Hh]yperparameters|[Oo]ptions)\s?[(:={]"
)
_RATE = re.compile(r"(?i)\blr\b|learning.?rate|decay|dropout")
_SETTING = re.compile(
    r"(?i)size|dim|layer|head|max|min\b|warm|seed|worker|hidden|vocab|param|num|length|interval|version"
)
_SUMMARY = re.compile(r"\W{0,8}\* ?(?:acc|prec|mean|loss|top)|\W{0,8}\*$", re.I)
"""How the mean of an evaluation begins: `* Acc@1 76.1 Acc@5 92.9`."""

_DELIMITERS = (*",;|[](){}<>\t\"'=:*│┃•·→", "  ", " - ", " / ")
_OPENING = " \t[({\"'<"

_WRAPPER = re.compile(r"(?<![\w.])(?:np\.(?:float64|float32|float16|int64)|float|tensor|array)$")
"""What numpy and torch print around a number: `np.float64(0.02)`."""
_LEVELS = frozenset({"INFO", "DEBUG", "WARNING", "WARN", "ERROR", "NOTICE"})
_GLOBAL = frozenset({"global step", "global steps", "global iter", "global iteration", "globalstep"})
_STEPS = frozenset(
    {"step", "steps", "iter", "iters", "iteration", "iterations", "it", "itr", "update", "updates", "up"}
)
_BATCHES = frozenset({"batch", "batches", "minibatch", "mb"})
_EPOCHS = frozenset({"epoch", "epochs", "ep", "pass"})
_OTHERS = frozenset(
    {
        "timesteps",
        "timestep",
        "samples",
        "tokens",
        "smpl",
        "kimg",
        "tick",
        "frames",
        "round",
        "episode",
        "sen",
    }
)
_QUALIFIERS = frozenset(
    {"global", "train", "training", "current", "cur", "optimizer", "optim", "opt", "gradient", "grad", "num",
     "data", "number", "total", "trainer", "eval", "evaluation", "val", "valid", "validation", "test", "env",
     "mini", "batch", "learning", "at", "after", "end", "of", "consumed", "seen", "update", "learner",
     "policy"}
)  # fmt: skip
_INDEX_WORDS = frozenset({"number", "no", "num", "idx", "index", "id", "nr"})
_NOT_METRICS = frozenset(
    {"cuda", "npu", "xpu", "mps",
     "eta", "required", "remaining", "elapsed", "left", "day", "days", "rank", "pid", "seed", "gpu", "worker",
     "node", "port", "line", "exp", "v num", "local rank", "world size"}
)  # fmt: skip
_LONE_UNITS = frozenset({"s", "m", "h", "ms", "K", "M", "G", "B", "GB", "MB"})
_CALENDAR = frozenset(
    {"Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun",
     "Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"}
)  # fmt: skip
"""Words before the numbers of a date: `Sun Oct 29 17:00:03 2023`, `Mon 10 Jan 2022`."""
_TWO_COUNTERS = re.compile(
    r"(?i:\b(epoch)/(iter(?:ation)?|step|batch)[ \t]?[:=]?[ \t]?)$|\b(?:TRAIN|CV) (Batch) $"
)
"""Names of an epoch and what is counted in it, before both: `epoch/iter: 2/150`, `TRAIN Batch 2/150`."""
_RATE_BEHIND = re.compile(r" \w{1,20}/s\b")
_STOP_WORDS = frozenset(
    {"to", "at", "in", "of", "for", "from", "with", "after", "on", "the", "and", "took", "by", "than", "over",
     "is", "was", "be", "last", "every", "per"}
)  # fmt: skip


def names_evaluation(name: str, split: str) -> bool:
    """Whether the name of a metric says that it is of an evaluation, of these data or of others."""
    if name.lower().startswith(split[:3]):
        return True
    found = _SPLIT.match(re.split(r"[/_ ]", in_english(name).strip(), maxsplit=1)[0])
    return found is not None and bool(found[2])


def split_numbers(line: str) -> list[str]:
    """The texts and numbers of a line in turn: texts at even, numbers at odd indices."""
    return _TOKEN.split(line, maxsplit=_MAX_NUMBERS)


@lru_cache(maxsize=8192)
def shape_of(texts: tuple[str, ...]) -> LineShape:
    """What the numbers between these texts are."""
    if len(texts) < 2:
        return _NOTHING
    if not all(map(str.isascii, texts)):
        texts = tuple(text.translate(_FULL_WIDTH) for text in texts)
    counters: list[CounterField] = []
    metrics: list[MetricField] = []
    axes: list[MetricField] = []
    names: set[str] = set()
    strong, split, section = False, "", ""
    is_heading = False
    part = ""  # of the line: `[valid]` behind the numbers of the training
    unnamed: CounterField | None = None
    for field in _fields(texts):
        if (found := _SPLIT.search(in_english(field.before))) is not None:
            data = (found[2] or "train").lower()
            if not split:
                split = data
            part = data if metrics and found[2] and split != data else ""
        elif not split and _ESTIMATED.search(field.before + field.name):
            split = "eval"
        counter = _counter(field, counters)
        if counter is Counter.BATCH and unnamed is not None and not field.name and len(counters) == 1:
            counters[0] = unnamed = replace(unnamed, counter=Counter.EPOCH)  # `[0/300][10/1251]`
        if (
            counter in (Counter.STEP, Counter.BATCH)
            and field.name
            and len(counters) == 1
            and counters[0] is unnamed
        ):
            counters[0] = unnamed = replace(unnamed, counter=Counter.EPOCH)  # `[1/60] iter 10/445`
        if counter is Counter.BATCH and field.total_index < 0 and metrics and unnamed in counters:
            continue  # `[500/9000] loss 0.5 | batch 16`, the size
        if counter is Counter.STEP and field.total_index >= 0 and _is_lone_step(counters):
            counters[0] = replace(counters[0], counter=Counter.EPOCH)  # `iteration:3 step:20/150`
        if counter is not None:
            if counter in (Counter.EPOCH, Counter.OTHER) and field.name not in names:
                name = "epoch" if not field.name or _SPLIT.fullmatch(field.name) else field.name
                names.add(name)
                axes.append(MetricField(name, field.index, field.scale))
            if not split and (found := _SPLIT.search(field.english)) is not None and found[2]:
                split = found[2].lower()
            is_heading |= not counters and field.clean
            if counter is Counter.STEP and field.total_index < 0 and _COUNTS_DATA.search(field.before):
                counter = Counter.BATCH  # `Iter(val) [500]`, a number of batches
            counters.append(CounterField(counter, field.index, field.total_index, field.scale))
            if not field.name and len(counters) == 1:
                unnamed = counters[0]
        elif not field.name and field.marked and counters and not metrics:
            if (ahead := _NAME_AHEAD.match(texts[0])) is not None and is_metric_name(ahead[1]):
                metrics.append(MetricField(ahead[1], field.index, field.scale))
                strong = True
        elif _is_metric(field):
            stated = field.name if not part or _SPLIT.search(field.english) else f"{part}/{field.name}"
            name, section = _unique(stated, section, names)
            names.add(name)
            metrics.append(MetricField(name, field.index, field.scale))
            strong |= is_metric_name(name)
    if _is_settings(texts[0], metrics):
        return _NOTHING
    if len(counters) > 2 and unnamed is not None:  # `(0/8)`, a rank, before the epoch and the batch
        counters.remove(unnamed)
    split = "" if split == "train" else split
    is_record = bool(counters) and bool(metrics) and (strong or bool(split) or _is_report(counters, metrics))
    is_summary = not counters and bool(metrics) and (bool(split) or _is_summary(texts[0], metrics[0].name))
    if len(counters) > 1:  # what else counts is an axis that people may want
        metrics = [*axes, *metrics]
    return LineShape(tuple(counters), tuple(metrics), split, is_record, is_summary, is_heading)


def _is_lone_step(counters: list[CounterField]) -> bool:
    """Whether nothing but a step without a total was counted: steps with a total are within it."""
    return len(counters) == 1 and counters[0].counter is Counter.STEP and counters[0].total_index < 0


def _is_settings(text: str, metrics: list[MetricField]) -> bool:
    """Whether a line states settings: it says so, or has several and at most a learning rate besides."""
    if _SETTINGS.search(text) is not None:
        return True
    settings = sum(_SETTING.search(field.name) is not None for field in metrics)
    measured = any(is_metric_name(field.name) and not _RATE.search(field.name) for field in metrics)
    return settings > 1 and not measured


def _is_summary(text: str, name: str) -> bool:
    """Whether a line whose first text and name are these has the means of an evaluation."""
    found = _SPLIT.match(name)
    return _SUMMARY.match(text) is not None or (found is not None and bool(found[2]))


def _is_report(counters: list[CounterField], metrics: list[MetricField]) -> bool:
    """Whether unknown names are of metrics: several at an epoch and its batch, none of a setting."""
    return (
        len({field.counter for field in counters}) > 1
        and len(metrics) >= _MANY_METRICS
        and not any(_SETTING.search(field.name) for field in metrics)
    )


@dataclass(frozen=True, slots=True)
class _Field:
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

    @property
    def english(self) -> str:
        """The name in English words, where its words are known."""
        return " ".join(in_english(self.name).split())


def _fields(texts: tuple[str, ...]) -> Iterator[_Field]:
    index, count, section = 0, len(texts) - 1, ""
    ordinal: re.Match[str] | None = None
    last_name = ""
    while index < count:
        total = index + 1 if index + 1 < count and texts[index + 1].strip() in ("/", "of") else -1
        text = texts[index]
        if ordinal is not None:
            text = text[ordinal.end() :]
        elif index and (unit := _UNITS.match(text)) is not None:
            text = text[unit.end() :]
        ordinal = None
        for bracket in _BRACKETS.finditer(text):
            section = bracket[1] or ""
        if text.endswith("["):  # it encloses this number, not names
            section = ""
        name, marked, before = _name(text)
        two = _TWO_COUNTERS.search(text) if total >= 0 else None
        if two is not None:
            total = -1
        last = index if total < 0 else total
        after = texts[last + 1]
        # an identifier that begins with digits, the first number of a range, a line of a source file
        if (
            _NO_UNIT.match(after) is not None
            or after == "-"
            or _is_reference(text, after)
            or (after == "," and last + 1 < count and text[-1:] not in ("[", "("))
        ):
            name = ""
        if name and section and name != section:
            name = f"{section}/{name}"[:_MAX_NAME]
        if _ORDINAL.search(text) is not None and (ordinal := _ORDINAL_NAME.match(after)) is not None:
            name, marked, before = ordinal[1], True, _ORDINAL.sub("", text)
        elif (counted := _COUNTED.match(after)) is not None:
            name, marked = counted[1] or counted[2], True
        elif two is not None:
            name, marked, before = "epoch", True, text
        elif text == "/" and index and (two := _TWO_COUNTERS.search(texts[index - 1])) is not None:
            name, marked = two[2] or two[3], True
        elif not name and (_is_first(texts, index) or _is_before_rate(texts, index)):
            name, marked = "iteration", True
        elif index == 0 and after.startswith(", ") and name and not marked and _SPLIT.fullmatch(name):
            name, marked = f"{name} epoch", True  # `Train 3, loss: 2.31`
        elif index == 0 and not text.strip() and after == " [" and texts[2:3] == ("/",):
            name, marked = "epoch", True  # `01 [100/445] loss 2.31`
        scale = SCALES[after[0]] if _SCALE.match(after) else 1.0
        bracketed = text.rstrip(" ")[-1:] in ("[", "(")
        adjacent = texts[index].strip() in ("][", "] [") and index > 0
        bare = before.rstrip(" ")
        clean = bare[-1:] in ("", ",", ";", "|", ")", "]", "}", "\t", "-") or bare.endswith(" :")
        opens = after.strip() in ("[", "][", "] [") and "/" in (
            text.strip() for text in texts[last + 2 : last + 3]
        )
        explains = bool(last_name) and texts[index].strip() in ("% (", "%, (")
        last_name = name
        is_duration = _DURATION.match(after) is not None
        opens_pair = (
            texts[index] == "["
            and _PAIR.fullmatch(after) is not None
            and (texts[last + 2 : last + 3] != () and texts[last + 2].startswith("]"))
        )
        closes_pair = index == 1 and texts[0] == "[" and _PAIR.fullmatch(texts[1]) is not None
        ends = total >= 0 and not after.strip() and last + 1 == count
        yield _Field(
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
        )
        index = last + 1


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
        return after.startswith(":\t") or (
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
    text = text.rstrip(_OPENING).replace("'s ", "\u2019s ")
    bare = text.rstrip(" :=#|\"'").removesuffix(" is").removesuffix("为")
    marked = len(bare) < len(text)
    if (wrapper := _WRAPPER.search(bare)) is not None:
        bare = bare[: wrapper.start()].rstrip(" :=(")
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
        if word in _LEVELS or (words and word.endswith(".") and len(word) > _LONGEST_SHORT_FORM):
            break  # the end of a sentence, and no short form such as `Val.`
        if len(words) == (5 if marked else 3) or (not marked and word.lower() in _STOP_WORDS):
            break
        words.insert(0, word)
        begin = match.start()
    if bare[begin:].strip() and not words:
        return "", marked, bare
    name = " ".join(words).replace("\u2019", "'")
    if suffix and _SPLIT.fullmatch(suffix[2:-1]):  # Epoch(val) names the data
        return name, marked, bare[:begin] + suffix
    return (name + suffix)[:_MAX_NAME] if name else "", marked, bare[:begin]


def _end_of_last(text: str, sign: str) -> int:
    """Where the last occurrence of a sign ends, 0 without any."""
    position = text.rfind(sign)
    return position + len(sign) if position >= 0 else 0


def _counter(field: _Field, before: list[CounterField]) -> Counter | None:
    if not field.name:
        return _unnamed_counter(field, before)
    if field.marked and not before and _SPLIT.fullmatch(field.english):
        if field.opens_batches:
            return Counter.EPOCH  # `Train: 0 [50/125`, `Train: [0/300][50/125]`
        return Counter.BATCH if field.total_index >= 0 and field.bracketed else None  # `Test: [0/24]`
    words = field.english.lower().replace("_", " ").replace("/", " ").replace("-", " ").split()
    if len(words) > 1 and words[-1].rstrip(".:") in _INDEX_WORDS:  # `epoch number`, `batch_idx`
        words.pop()
    if not words:
        return None
    last = words[-1].rstrip(".")
    if not set(words[:-1]) <= _QUALIFIERS:
        announces = last in ("epoch", "epochs") and not before and not field.marked
        return Counter.EPOCH if announces and not _SETTING.search(field.name) else None
    if field.is_duration:
        return None
    if " ".join(words[-2:]) in _GLOBAL or last == "globalstep":
        return Counter.GLOBAL_STEP
    if (last in _STEPS and "total" not in words) or (last == "progress" and field.total_index >= 0):
        return Counter.STEP
    for members, counter in ((_BATCHES, Counter.BATCH), (_EPOCHS, Counter.EPOCH), (_OTHERS, Counter.OTHER)):
        if last in members:
            return counter
    return None


def _unnamed_counter(field: _Field, before: list[CounterField]) -> Counter | None:
    """What a number without a name counts: `[10/445]`, `Epoch 2, 50/725;`, `12/31, train_loss: 0.6`."""
    in_epoch = any(counter.counter is Counter.EPOCH for counter in before)
    if in_epoch and field.closes_pair:
        return Counter.BATCH
    counted = field.total_index >= 0 and field.bracketed and not field.explains
    if in_epoch:
        follows = field.total_index >= 0 and len(before) == 1 and not field.before.strip(" \t,:;|-(")
        return Counter.BATCH if counted or field.adjacent or follows else None
    if not before:
        if field.opens_pair:
            return Counter.EPOCH
        begins = field.total_index >= 0 and field.index == 0 and field.before.strip()[-1:] in ("", "]", "|")
        return Counter.STEP if counted or begins or field.ends_line else None
    # `[0/300][10/1251]`
    return Counter.BATCH if counted and field.adjacent and len(before) == 1 else None


def _is_metric(field: _Field) -> bool:
    name = field.name
    lower = field.english.lower().replace("_", " ")
    if (
        not lower.strip()
        or name in _LONE_UNITS
        or name[-1] in "/-"  # a part of a path
        or lower in _NOT_METRICS
        or name.rpartition(" ")[2] in _CALENDAR
        or field.total_index >= 0
        or _SOURCE_FILE.search(name)
    ):
        return False
    last = lower.split()[-1]
    if last in _STEPS or last in _EPOCHS or last in _BATCHES:  # a setting: `warm-up steps: 100`
        return False
    return field.marked or field.clean or is_metric_name(name) or name[:1].isupper()


def _is_evaluated(section: str, name: str) -> bool:
    """Whether a metric behind those of an evaluation is one of them: `val Loss: 0.4 Acc: 0.8`."""
    found = _SPLIT.fullmatch(in_english(section).strip())
    return found is not None and bool(found[2]) and not _OF_TRAINING.search(name)


def _unique(name: str, section: str, names: set[str]) -> tuple[str, str]:
    """A name that no earlier number of the line has, and the part of the line that begins with it."""
    words = name.split(" ")
    if len(words) > 1 and _SPLIT.fullmatch(in_english(words[0]).strip()):
        section = words[0]
    elif section and is_metric_name(name) and (name in names or _is_evaluated(section, name)):
        name = f"{section} {name}"
    number = 2
    unique = name
    while unique in names:
        unique, number = f"{name} {number}", number + 1
    return unique, section
