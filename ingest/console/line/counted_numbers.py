"""What a number counts where other signs than a name before it show that: `5th epoch`, ` 3  100 / 320`."""

from __future__ import annotations

import re

from holter.ingest.console.line.line_words import DATA_SPLIT
from holter.ingest.console.line.number_names import NumberName, name_before
from holter.translated_words import COUNTERS

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
COUNTED_BEHIND_TOTAL = re.compile(
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
"""What distinguishes rows, behind its number at the beginning of a line: `| 3 Horizon | MAE: 2.5`."""
_BEFORE_COUNTED = frozenset({"", "after"})
_THE = re.compile(r"(?i)(?:(?:^|\s)the|^[^\w\n]{0,40}) {0,2}$")
_OF_COMMUNICATION = re.compile(r"(?i)(?= commun\w{0,3}ation [A-Za-z])(?: commun\w{0,3}ation round)?")
"""What is behind the number of a round of communication: `The 3 communication accuracy: 0.5`."""
_COUNTED_IN_BRACKETS = re.compile(r" (ep|episode|step|iter|epoch|update)s?(?=\])")
"""The same in brackets: `[  1000 steps] reward=0.5`."""
_NAME_BEHIND = re.compile(r"\] (?!(?i:epoch|step|iter(?:ation)?|round|episode)\b)[A-Za-z_]\w{0,60}[=: ]")
_BRACKET_BEHIND = re.compile(r" \[[A-Za-z]\w{0,20} ?\w{0,20}: $")
TWO_COUNTERS = re.compile(
    r"(?i:\b(epoch)/(iter(?:ation)?|step|batch)[\])]?[ \t]?[:=]?[ \t]?[\[(]?)$|\b(?:TRAIN|CV) (Batch) $"
)
"""Names of an epoch and what is counted in it, before both: `epoch/iter: 2/150`, `TRAIN Batch 2/150`."""
_RATE_BEHIND = re.compile(r" \w{1,20}/s\b")


def counted_name(
    texts: tuple[str, ...], index: int, text: str, after: str, named: NumberName, *, is_before_batch: bool
) -> tuple[NumberName, int]:
    """The name of a number with what it counts, and where that ends in the text `after` it (0 if not there).

    It is `named` so far; `is_before_batch`: two names of counters are before it, of which its is the first.
    """
    before = named.before
    found = _counted_behind(texts, index, text, after, named)
    if found is not None:
        return found
    by_place = _counted_by_place(texts, index, text, after, named, is_before_batch=is_before_batch)
    if by_place is not None:
        return by_place, 0
    if (not index and text.strip().lower() in _BEFORE_COUNTED) or _is_behind_counted(texts, index, text):
        counted = _COUNTED_AT_BEGIN.match(after)
        if counted is not None and not named.name:
            return NumberName(counted[1].lower(), True, before), counted.end()
    if index:
        return named, 0
    if not named.name and (row := _ROW_BEHIND.match(after)) is not None:
        return NumberName(row[1].lower(), False, before), row.end()
    if after.startswith(", ") and not named.marked and DATA_SPLIT.fullmatch(named.name):
        return NumberName(f"{named.name} epoch", True, before), 0  # `Train 3, loss: 2.31`
    if not text.strip() and after == " [" and texts[2:3] == ("/",):
        return NumberName("epoch", True, before), 0  # `01 [100/445] loss 2.31`
    return named, 0


def _counted_behind(
    texts: tuple[str, ...], index: int, text: str, after: str, named: NumberName
) -> tuple[NumberName, int] | None:
    """What a number counts that follows it in any place of a line, and where that ends; None of others."""
    before = named.before
    if _ORDINAL.search(text) is not None and (ordinal := _ORDINAL_NAME.match(after)) is not None:
        return NumberName(ordinal[1], True, _ORDINAL.sub("", text)), ordinal.end()
    if (counted := _COUNTED.match(after)) is not None and after[counted.end() :].strip(" :="):
        # `50000/  100000 steps| 14017 tokens/s`
        end = counted.end() if counted[2] else 0
        return NumberName(next(filter(None, counted.groups())), True, before), end
    if _AFTER.search(text) is not None and (counted := _COUNTED_AFTER.match(after)) is not None:
        return NumberName(counted[1].lower().removeprefix("time"), True, text), counted.end()
    if not index and _THE.search(text) is not None and (of := _OF_COMMUNICATION.match(after)) is not None:
        return NumberName("round", True, before), of.end()
    counted = _COUNTED_AT_END.match(after) if index + 2 == len(texts) and not named.name else None
    if counted is not None and _THE.search(text) is not None:
        return NumberName(counted[1], True, before), 0
    if text.rstrip(" ")[-1:] == "[" and (counted := _COUNTED_IN_BRACKETS.match(after)) is not None:
        return NumberName({"ep": "episode"}.get(counted[1], counted[1]), True, before), 0
    return None


def _counted_by_place(
    texts: tuple[str, ...], index: int, text: str, after: str, named: NumberName, *, is_before_batch: bool
) -> NumberName | None:
    """What a number counts by its place in a line; None of others."""
    before = named.before
    is_between = text.strip() == "|" and after.lstrip().startswith("|")
    if index == 1 and is_between and _begins_with_epoch(texts):  # `Epoch: 1 | 100 | Loss: 1.43`
        return NumberName("batch", True, before)
    if is_before_batch:
        return NumberName("epoch", True, text)
    if text == "/" and index and (two := TWO_COUNTERS.search(texts[index - 1])) is not None:
        return NumberName(two[2] or two[3], True, before)
    if index < 2 and _begins_with_epoch_and_batch(texts):
        return NumberName(("epoch", "batch")[index], True, before)
    if not named.name and (_is_first(texts, index) or _is_before_rate(texts, index)):
        return NumberName("iteration", True, before)
    return None


def _begins_with_epoch(texts: tuple[str, ...]) -> bool:
    """Whether the first number is that of an epoch."""
    return name_before(texts[0]).name.lower().rpartition(" ")[2] == "epoch"


def _is_behind_counted(texts: tuple[str, ...], index: int, text: str) -> bool:
    """Whether nothing is between a number and one that is counted so: `0 epoch 50 step loss: 1.9`."""
    return index == 1 and not text.strip(" ,") and _COUNTED_AT_BEGIN.match(texts[1]) is not None


def _begins_with_epoch_and_batch(texts: tuple[str, ...]) -> bool:
    """Whether a line begins with two numbers of which the second has a total: ` 3  100 / 320 loss = 0.5`."""
    return len(texts) > 4 and not (texts[0] + texts[1]).strip() and texts[2].strip() == "/"


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
