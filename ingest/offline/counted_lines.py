"""Finds lines of a text that are the same but for their numbers, of which one counts up: a table of records.

`E: 0 | A: 0.11 | R: -0.79`, `(datetime.datetime(2017, 7, 19, 15, 49), 0, 0.001, 43.49)`: a person who sees a
column of such lines takes the number that goes up by as much in each of them for the step, and the others for
what was measured there, whatever they are called. Where the number before it goes up each time that it begins
anew, that is the epoch, and the steps continue.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Sequence
from itertools import groupby, pairwise
from operator import itemgetter
from typing import NamedTuple

from holter.ingest.console.line.line_fields import number_fields
from holter.ingest.console.line.line_words import BATCHES, CALENDAR, EPOCHS, INDEX_WORDS, ROUNDS, STEPS
from holter.ingest.metric_names import is_metric_name

_SPACES = re.compile(r"[ \t]+")
_PADDING = re.compile(r"(?<=[(\[]) $")
"""A blank that aligns the number behind it in brackets: `( 4)` above `(65)`."""
_MARK = re.compile(r"[ \t]{1,8}[*\u2605\u2713\u2714](?=[ \t]|$)")
_REMARK = re.compile(r"^(?:[ \t]{2,80}|\t)\S[^\n]{0,80}$")
_WORDS = re.compile(r"(?<=\[)'[^'\]]{0,60}'(?:, ?'[^'\]]{0,60}'){0,30}(?=\])")
"""A list of words, which may be others on each line: `['cat', 'dog']`."""
_SEPARATOR = re.compile(r"[ \t]?[,;|\t]")
_AT_SEPARATOR = re.compile(r"^$|[,;|\t][ \t]?$")
_MEASURED = re.compile(r"[-+]?\d{1,8}\.\d{1,20}(?:[eE][-+]?\d{1,3})?|(?i:nan)")
"""A number with a fraction; those with more digits before it are times."""
Texts = tuple[str, ...]
"""The texts around the numbers of a line: its layout."""
Cells = list[list[str]]
"""Rows of a table, of which the first one has the names of the columns."""
LEAST_LINES = 5
_LEAST_EVEN = 0.8
"""Of the distances between lines that are the usual one: trainings in turn begin anew."""
_MOST_GAPS = 0.15
"""Of the distances that are several of the usual one."""
_MOST_BEGINNINGS = 8
"""Times that the numbers begin anew: a table that comes more often is one of results, unless it is long."""
MOST_RESUMED = 2
"""Launches in a long table that continue with a number before the last one."""
LONG_TABLE = 32
"""Rows, on average, of a table that is no one of results."""
_COUNTED_NAME = re.compile(
    r"\s*(?P<name>[A-Za-z][\w./-]{0,40}(?: [A-Za-z][\w./-]{0,40}){0,3}?)(?: (?:at|after|in|on|for))?"
    r"(?: ?[\[(](?P<in_brackets>\d{1,9})[\])]|(?: ?[@#]| )(?P<bare>\d{1,9}))"
    r"(?: ?[:=]| ?[-=]>| is) ?(?P<value>[-+]?[\d.]{1,30}(?:[eE][-+]?\d{1,3})?)%?\s*"
)
"""A name, what it counts, and a number: `loss [3]: 2.5`, `score(29): 3`, `loss 3 -> 2.5`, `Loss at 3: 2`."""
_LEAST_OF_LINES = 0.9
"""Of the lines of a text that are such ones."""
_GLUED_COUNT = re.compile(r"[ \t]{0,8}\[?([A-Za-z]{1,12}) {0,8}(\d{1,9})(?=[ \t:,|\]])")
"""A word at the beginning of a line with a number behind it: `B120`, `B 80`."""
_COUNTERS = STEPS | EPOCHS | BATCHES | ROUNDS | {"e", "gen", "upd"}
_SIGNS_BEHIND = ("-", ":", ",", "|", ")")
_SIGN_AHEAD = re.compile(r"[ \t]{0,8}\[?(?:[a-zA-Z] ?[=:]|[#@]) ?")
"""A letter or a sign before a number at the beginning of a line: `t=`, `#`."""


class CountedRows(NamedTuple):
    """The steps that rows of a layout count, and the indices of the numbers that are measured there.

    `epoch` is that of the number in which the steps count from the beginning, -1 without one.
    """

    steps: Sequence[str]
    measured: Sequence[int]
    epoch: int = -1


def counted_rows(texts: Texts, rows: Sequence[Sequence[str]]) -> CountedRows | None:
    """What these rows of a layout count; None if no number of theirs does."""
    if len(rows) < 2:
        return None
    columns = list(zip(*rows, strict=True))
    counting, named = counting_columns(texts), _counters(texts)
    counted = ((index, _steps(texts, columns, index, is_named=index in named)) for index in counting)
    step, steps = next(((index, steps) for index, steps in counted if steps), (0, ()))
    if not steps and _has_metric(texts):
        of_processes = (index for index in counting if counts_with_repeats(columns, index))
        step = next(of_processes, -1)
        steps = columns[step] if step >= 0 else ()
    if not steps and _rises_ahead(texts, columns):
        step, steps = 0, columns[0]
    if not steps:
        return None
    ahead = [index for index in range(step) if len(set(columns[index])) > 1]
    if not all(_is_measured(texts, columns, index) for index in ahead):
        ahead = []  # `0.31, 8, 128`: what is tried, and its result
    epoch = step - 1 if step and steps is not columns[step] else -1
    return CountedRows(steps, [*ahead, *range(step + 1, len(columns))], epoch)


def counting_columns(texts: Texts) -> list[int]:
    """The indices of the numbers of a layout that may count: those that are no part of a date."""
    is_date = [text.strip(" ([").rpartition(" ")[2] in CALENDAR for text in texts]
    return [index for index in range(len(texts) - 1) if not is_date[index]]


def with_separate_counts(lines: Sequence[str]) -> Sequence[str]:
    """The lines with a blank behind the word that they begin with, where a count is glued to it: `B120 loss`.

    The count may have a blank before it where it has fewer digits. Small numbers may be those of parts: `B4`.
    """
    found = [_GLUED_COUNT.match(line) for line in lines]
    words = Counter(match[1] for match in found if match is not None)
    word, rows = max(words.items(), key=itemgetter(1), default=("", 0))
    counts = [match[2] for match in found if match is not None and match[1] == word]
    is_counter = len(word) == 1 or word.lower() in STEPS | BATCHES | EPOCHS
    if not is_counter or rows < LEAST_LINES or max(map(len, counts)) < 2 or not counts_evenly(counts):
        return lines
    return [
        line if match is None or match[1] != word else f"{word} {line[match.start(2) :]}"
        for line, match in zip(lines, found, strict=True)
    ]


def layout_of(parts: Sequence[str]) -> Texts:
    """The texts around the numbers of a line, of which these are the texts and numbers in turn.

    Columns are aligned by as many spaces as numbers need, which are one here. A star is that of the best row.
    Words in a list are left out, and a remark behind the last column.
    """
    parts = [*parts[:-1], _REMARK.sub("", parts[-1])]
    texts = (_MARK.sub("", _WORDS.sub("", text)) for text in parts[::2])
    return tuple(_PADDING.sub("", _SPACES.sub(" ", text)) for text in texts)


def _counters(texts: Texts) -> frozenset[int]:
    """The numbers of a layout that their names state to count: `LSTM iter=5 loss=0.5`, `e=5 loss=0.5`."""
    return frozenset(
        field.index
        for field in number_fields(texts)
        if field.name and _names_counter(field.name) and field.total_index < 0
    )


def _names_counter(name: str) -> bool:
    """Whether a name is that of what counts: `LSTM iter`, `gen`, `cur_it`, `epoch_i`."""
    *_, word = [""] + [each for each in re.split("[ _]", name.lower()) if each not in INDEX_WORDS | {"i"}]
    return word in _COUNTERS


def _steps(texts: Texts, columns: Sequence[Sequence[str]], index: int, *, is_named: bool) -> Sequence[str]:
    """The steps that a column counts, through all epochs if the one before counts these; nothing if none.

    What its name states to count need not go up evenly: programs print the first epoch, and every fifth one.
    """
    has_total = index > 1 and texts[index - 1].strip() == "/"  # `[ 3/ 9]  [ 20/ 100]  0.5`
    numbers, epochs = columns[index], columns[index - 1 - has_total] if index else ()
    if epochs and len({*epochs}) > 1 and are_counts(epochs) and are_counts(numbers):
        pairs = zip(map(int, epochs), map(int, numbers), strict=True)
        if steps := steps_within([*pairs], _total_behind(texts, columns, index)):
            return [*map(str, steps)]
    return numbers if counts_evenly(numbers) or (is_named and _rises(numbers)) else ()


def _total_behind(texts: Texts, columns: Sequence[Sequence[str]], index: int) -> int:
    """The total of what a column counts, `100 / 320`; 0 without one."""
    totals = {*columns[index + 1]} if texts[index + 1].strip() == "/" else ()
    return int(next(iter(totals))) if len(totals) == 1 and are_counts([*totals]) else 0


def counts_with_repeats(columns: Sequence[Sequence[str]], index: int) -> bool:
    """Whether a column counts evenly with several rows of most steps, such as those of several processes.

    Their values differ in every row: a whole number that does counts within the other, and what comes again
    with each number is what was tried.
    """
    numbers = columns[index]
    groups = [[*rows] for _, rows in groupby(range(len(numbers)), key=numbers.__getitem__)]
    several = [rows for rows in groups if len(rows) > 1]
    if len(groups) < LEAST_LINES or len(several) < _LEAST_EVEN * len(groups):
        return False
    if not counts_evenly([numbers[rows[0]] for rows in groups]):
        return False
    first, second, *_ = several
    others = [column for column in columns if any(column[row] != column[first[0]] for row in first)]
    return not any(
        are_counts(column) or {column[row] for row in first} == {column[row] for row in second}
        for column in others
    )


def _has_metric(texts: Texts) -> bool:
    return any(is_metric_name(field.name) for field in number_fields(texts))


def _is_measured(texts: Texts, columns: Sequence[Sequence[str]], index: int) -> bool:
    """Whether a number ahead of the step is a column of measurements: between separators, with a fraction.

    `vit, 0.184, 0.950, 0, 24`; what else is there is a time, or has other signs around it.
    """
    is_between = _AT_SEPARATOR.search(texts[index]) and _SEPARATOR.match(texts[index + 1])
    return bool(is_between) and all(_MEASURED.fullmatch(number) for number in columns[index])


def _rises_ahead(texts: Texts, columns: Sequence[Sequence[str]]) -> bool:
    """Whether a number with no name before a metric always rises: `3 - loss: 0.5`, of better steps alone.

    So may one with a letter or a sign: `t=3 loss: 0.5`, `#3 loss: 0.5`, `3) loss: 0.5`.
    """
    is_ahead = _SIGN_AHEAD.fullmatch(texts[0]) is not None and texts[1][:1] in (" ", "\t", ",", "]")
    is_ahead |= not texts[0].strip() and texts[1].lstrip()[:1] in _SIGNS_BEHIND
    is_ahead &= are_counts(columns[0])
    if not (is_ahead and _has_metric(texts)):
        return False
    return all(before < after for before, after in pairwise(map(int, columns[0])))


def is_share(texts: Texts, columns: Sequence[Sequence[str]], chosen: Sequence[int]) -> bool:
    """Whether nothing is measured but how many of all there were, behind a colon, at the end of a line."""
    if len(chosen) != 1 or chosen[0] + 2 != len(columns) or texts[-1].strip():
        return False
    number, total = columns[chosen[0]], columns[-1]
    is_divided = texts[-2].strip() == "/" and texts[chosen[0]].strip() == ":"
    return (
        is_divided
        and len(set(total)) == 1
        and are_counts([*number, *total])
        and max(map(int, number)) <= int(total[0])
    )


def are_counts(column: Sequence[str]) -> bool:
    """Whether these are whole numbers of less than 16 digits, as steps, epochs and totals have."""
    return all(number.isdecimal() and len(number) < 16 for number in column)


def counts_evenly(column: Sequence[str], least: float = _LEAST_EVEN) -> bool:
    """Whether these numbers, of several lines, go up evenly, but for trainings that begin anew.

    `least` is the share of the distances between them that must be the usual one. Others may be several of
    those, where a few rows are missing, or a part of it behind the first or before the last number of a
    training: `1, 5, 10, 15`. A launch or two may resume from a number before, in a long table. They may begin
    anew more often where they go up to other numbers each time, and far enough: those are no results of a few
    classes.
    """
    if len(column) < 2 or not are_counts(column):
        return False
    numbers = [*map(int, column)]
    distances = [after - before for before, after in pairwise(numbers)]
    usual = max(set(distances), key=distances.count)
    even = sum(distance == usual for distance in distances)
    if usual <= 0:
        return False
    begins = [
        row for row, distance in enumerate(distances) if distance <= 0 and numbers[row + 1] == numbers[0]
    ]
    back = [row for row, distance in enumerate(distances) if distance <= 0 and row not in begins]
    if len(back) <= MOST_RESUMED and len(numbers) >= LONG_TABLE:
        begins += [row for row in back if numbers[row + 1] in numbers[: row + 1]]
    if even + len(begins) == len(distances) and _have_other_lengths(begins, len(numbers)):
        return True
    if even < least * len(distances):
        return False
    at_ends = {0, len(distances) - 1, *(row - 1 for row in begins), *(row + 1 for row in begins)}
    gaps = 0
    for row in {*range(len(distances))}.difference(begins):
        distance = distances[row]
        is_part = row in at_ends and 0 < distance < usual
        gaps += distance != usual and not is_part
        if distance <= 0 or (distance % usual and not is_part):
            return False
    return len(begins) <= max(_MOST_BEGINNINGS, len(numbers) // LONG_TABLE) and gaps <= _MOST_GAPS * len(
        distances
    )


def _have_other_lengths(begins: Sequence[int], rows: int) -> bool:
    """Whether trainings, of which one begins behind each of these rows, have other numbers of rows."""
    lengths = [end - begin for begin, end in pairwise([0, *(row + 1 for row in begins), rows])]
    return len({*lengths[:-1]}) > 1 and max(lengths) >= LEAST_LINES


def _rises(column: Sequence[str]) -> bool:
    """Whether these numbers go up, but for trainings that begin anew with the first of them."""
    if not are_counts(column):
        return False
    numbers = [*map(int, column)]
    back = [after for before, after in pairwise(numbers) if after <= before]
    return len(back) <= _MOST_BEGINNINGS and all(number == numbers[0] for number in back)


def steps_within(counts: Sequence[tuple[int, int]], total: int = 0) -> list[int]:
    """Steps through all epochs of these epochs and batches; nothing if they do not count like that.

    `total` is the number of batches of each epoch, 0 if that is unknown.
    """
    first, steps, before = counts[0], [counts[0][1]], 0
    begins, launches, resumed = {first[0]: 0}, 0, 0
    for (epoch, batch), (next_epoch, next_batch) in pairwise(counts):
        is_back = next_epoch <= epoch and (next_epoch < epoch or next_batch <= batch)
        if is_back and next_batch == first[1] and next_epoch in begins:
            before, launches = begins[next_epoch], launches + 1
            resumed += next_epoch > first[0]
        elif is_back:
            return []
        elif next_epoch != epoch:
            if next_epoch != epoch + 1 or next_batch > batch:
                return []
            before += total if total >= batch else batch + (first[1] == 0)
            begins[next_epoch] = before
        steps.append(before + next_batch)
    # of other data in each epoch are what begins anew as often as these do
    is_of_launches = launches <= _MOST_BEGINNINGS and resumed <= max(1, len(begins) // 2)
    return steps if is_of_launches else []


def is_number(cell: str) -> bool:
    """Whether a cell of a table is a number."""
    try:
        float(cell)
    except ValueError:
        return False
    return True


def table_of_counted_names(lines: Sequence[str]) -> Cells:
    """The table of lines of a name with what it counts behind that; nothing for other texts.

    `loss [29]: 3.5` is the loss of step 29 where the numbers in brackets go up evenly for each name; of
    `acc[0]: 0.5`, `acc[1]: 0.6`, over and over, they tell several values of a step apart. Those of metrics
    need no brackets.
    """
    texts = [line for line in lines if line.strip()]
    found = [match for line in texts if (match := _COUNTED_NAME.fullmatch(line)) is not None]
    by_name: defaultdict[str, dict[str, str]] = defaultdict(dict)
    for match in found:
        if match["bare"] and not is_metric_name(match["name"]):
            return []
        by_name[match["name"]][match["in_brackets"] or match["bare"]] = match["value"]
    are_single = sum(map(len, by_name.values())) == len(found) >= _LEAST_OF_LINES * len(texts)
    if not found or not are_single or any(len(values) < LEAST_LINES for values in by_name.values()):
        return []
    if not all(counts_evenly([*values]) for values in by_name.values()):
        return []
    counts = sorted({int(count): count for values in by_name.values() for count in values}.items())
    return [
        ["step", *by_name],
        *([count, *(values.get(count, "") for values in by_name.values())] for _, count in counts),
    ]
