"""Finds lines of a text that are the same but for their numbers, of which one counts up: a table of records.

`E: 0 | A: 0.11 | R: -0.79`, `(datetime.datetime(2017, 7, 19, 15, 49), 0, 0.001, 43.49)`: a person who sees a
column of such lines takes the number that goes up by as much in each of them for the step, and the others for
what was measured there, whatever they are called. Where the number before it goes up each time that it begins
anew, that is the epoch, and the steps go on.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Mapping, Sequence
from itertools import pairwise

from holter.ingest.console.line_fields import number_fields
from holter.ingest.console.line_tokens import split_numbers
from holter.ingest.console.line_words import CALENDAR, DATA_SPLIT
from holter.ingest.metric_names import is_metric_name

_SPACES = re.compile(r"[ \t]+")
_MARK = re.compile(r"[ \t]{1,8}[*\u2605\u2713\u2714](?=[ \t]|$)")
_REMARK = re.compile(r"^(?:[ \t]{2,80}|\t)\S[^\n]{0,80}$")
_WORDS = re.compile(r"(?<=\[)'[^'\]]{0,60}'(?:, ?'[^'\]]{0,60}'){0,30}(?=\])")
"""A list of words, which may be others on each line: `['cat', 'dog']`."""
_NAME_ALONE = re.compile(r"\s?[,;]\s{0,4}([A-Za-z][\w./@-]{0,40}(?: [\w./@-]{1,40}){0,3})\s?[,;]\s{0,4}")
"""A name between separators: `Step, 0, Loss, 0.114, PSNR, 9.42`."""
_BETWEEN_COLUMNS = re.compile(r"[ \t]{2,80}|\t|[ \t]?[,;][ \t]{0,80}")
_BETWEEN_BARS = re.compile(r"[ \t]{0,80}\|[ \t]{0,80}")
_SEPARATOR = re.compile(r"[ \t]?[,;|\t]")
_AT_SEPARATOR = re.compile(r"^$|[,;|\t][ \t]?$")
_MEASURED = re.compile(r"[-+]?\d{1,8}\.\d{1,20}(?:[eE][-+]?\d{1,3})?|(?i:nan)")
"""A number with a fraction; those with more digits before it are times."""
_NAME = re.compile(r"[^\d\s.,+-][^\n]{0,60}")
"""The name of a column: anything that begins like no number."""
_LEAST_LINES = 5
_LEAST_SHARE = 0.25
"""Of the different lines of a text that are of the layout."""
_LEAST_EVEN = 0.8
"""Of the distances between lines that are the usual one: trainings in turn begin anew."""
_MOST_BEGINNINGS = 8
"""Times that the numbers begin anew: a table that comes more often is one of results, unless it is long."""
_LONG_TABLE = 32
"""Rows, on average, of a table that is no one of results."""
_MOST_NUMBERS = 100
_COUNT_IN_BRACKETS = re.compile(
    r"\s*(?P<name>[A-Za-z][\w./@-]{0,40}(?: [A-Za-z][\w./@-]{0,40}){0,3}) ?[\[(](?P<count>\d{1,9})[\])]"
    r" ?[:=] ?(?P<value>[-+]?[\d.]{1,30}(?:[eE][-+]?\d{1,3})?)%?\s*"
)
"""A name, what it counts in brackets, and a number: `loss [3]: 2.5`, `score(29): 3`."""
_LEAST_OF_LINES = 0.9
"""Of the lines of a text that are such ones."""
_SIGNS_BEHIND = ("-", ":", ",", "|")


def counted_table(lines: Sequence[str]) -> list[list[str]]:
    """The names and the rows of the most frequent layout with a number that counts; nothing without one.

    `train, 3, 0.5` and `val, 3, 0.75` are rows of one table, whose names have the data before them.
    """
    by_texts: defaultdict[tuple[str, ...], dict[int, list[str]]] = defaultdict(dict)
    for number, line in enumerate(lines):
        parts = split_numbers(line)
        if 5 <= len(parts) <= 2 * _MOST_NUMBERS:
            by_texts[layout_of(parts)][number] = parts[1::2]
    texts = max(by_texts, key=lambda each: len(by_texts[each]), default=())
    if len(by_texts[texts]) < max(_LEAST_LINES, _LEAST_SHARE * len({line for line in lines if line})):
        return []
    alike = [each for each in by_texts if each == texts or _are_of_other_data(each, texts)]
    tables = [(_data_of(each), by_texts[each], _table_of(each, by_texts[each], lines)) for each in alike]
    tables = [each for each in tables if each[2]]
    return _side_by_side(tables) if len(tables) > 1 else tables[0][2] if tables else []


def _data_of(texts: Sequence[str]) -> str:
    """The word for the data of rows that begin with nothing else: `val, 3, 0.75`."""
    word = texts[0].strip(" \t,;|:[]()")
    return word.lower() if DATA_SPLIT.fullmatch(word) is not None else ""


def _are_of_other_data(one: Sequence[str], other: Sequence[str]) -> bool:
    return one[1:] == other[1:] and bool(_data_of(one)) and bool(_data_of(other))


def _side_by_side(tables: Sequence[tuple[str, Mapping[int, list[str]], list[list[str]]]]) -> list[list[str]]:
    """One table of those of several data, in the order of their lines, with empty cells for the others."""
    header, rows = ["step"], []
    width = sum(len(table[0]) - 1 for _, _, table in tables)
    for data, places, (names, *cells) in tables:
        before = [""] * (len(header) - 1)
        after = [""] * (width - len(before) - len(names) + 1)
        rows += [
            (place, [row[0], *before, *row[1:], *after]) for place, row in zip(places, cells, strict=True)
        ]
        header += [f"{data}/{name}" for name in names[1:]]
    return [header, *(row for _, row in sorted(rows))]


def _table_of(
    texts: tuple[str, ...], by_place: Mapping[int, list[str]], lines: Sequence[str]
) -> list[list[str]]:
    """The names and the rows of a layout with a number that counts; nothing without one."""
    rows = [*by_place.values()]
    if len(rows) < 2:
        return []
    columns = list(zip(*rows, strict=True))
    is_date = [text.strip(" ([").rpartition(" ")[2] in CALENDAR for text in texts]
    counted = ((index, _steps(columns, index)) for index in range(len(columns)) if not is_date[index])
    step, steps = next(((index, steps) for index, steps in counted if steps), (0, []))
    if not steps and _rises_ahead(texts, columns):
        steps = columns[0]
    if not steps:
        return []
    names = _names(texts, len(columns), _names_above(lines, next(iter(by_place)), len(columns)))
    ahead = [index for index in range(step) if len(set(columns[index])) > 1]
    if not all(_is_measured(texts, columns, index) for index in ahead):
        ahead = []  # `0.31, 8, 128`: what is tried, and its result
    chosen = [
        index
        for index, column in enumerate(columns)
        if (index > step or index in ahead)
        and len(set(column)) > 1
        and all(is_number(text.replace(",", "")) for text in column)
    ]
    if _is_share(texts, columns, chosen):  # `Epoch 0: 9129 / 10000`
        return [
            ["step", "correct"],
            *([count, row[chosen[0]]] for count, row in zip(steps, rows, strict=True)),
        ]
    if not any("." in number for index in chosen for number in columns[index]):
        return []  # counts of other things
    header = ["step", *(names[index] for index in chosen)]
    return [
        header,
        *(
            [count, *(row[index].replace(",", "") for index in chosen)]
            for count, row in zip(steps, rows, strict=True)
        ),
    ]


def layout_of(parts: Sequence[str]) -> tuple[str, ...]:
    """The texts around the numbers of a line, of which these are the texts and numbers in turn.

    Columns are aligned by as many spaces as numbers need, which are one here. A star is that of the best row.
    Words in a list are left out, and a remark behind the last column.
    """
    parts = [*parts[:-1], _REMARK.sub("", parts[-1])]
    return tuple(_SPACES.sub(" ", _MARK.sub("", _WORDS.sub("", text))) for text in parts[::2])


def _steps(columns: Sequence[Sequence[str]], index: int) -> Sequence[str]:
    """The steps that a column counts, through all epochs if the one before counts these; nothing if none."""
    numbers, epochs = columns[index], columns[index - 1] if index else ()
    if epochs and len({*epochs}) > 1 and _are_counts(epochs) and _are_counts(numbers):
        pairs = zip(map(int, epochs), map(int, numbers), strict=True)
        if steps := steps_within([*pairs]):
            return [*map(str, steps)]
    return numbers if counts_evenly(numbers) else ()


def _is_measured(texts: Sequence[str], columns: Sequence[Sequence[str]], index: int) -> bool:
    """Whether a number ahead of the step is a column of measurements: between separators, with a fraction.

    `vit, 0.184, 0.950, 0, 24`; what else is there is a time, or has other signs around it.
    """
    is_between = _AT_SEPARATOR.search(texts[index]) and _SEPARATOR.match(texts[index + 1])
    return bool(is_between) and all(_MEASURED.fullmatch(number) for number in columns[index])


def _rises_ahead(texts: Sequence[str], columns: Sequence[Sequence[str]]) -> bool:
    """Whether a number with no name before a metric always rises: `3 - loss: 0.5`, of better steps alone."""
    is_ahead = not texts[0].strip() and texts[1].lstrip()[:1] in _SIGNS_BEHIND and _are_counts(columns[0])
    if not is_ahead or not any(is_metric_name(field.name) for field in number_fields(tuple(texts))):
        return False
    return all(before < after for before, after in pairwise(map(int, columns[0])))


def _is_share(texts: Sequence[str], columns: Sequence[Sequence[str]], chosen: Sequence[int]) -> bool:
    """Whether nothing is measured but how many of all there were, behind a colon, at the end of a line."""
    if len(chosen) != 1 or chosen[0] + 2 != len(columns) or texts[-1].strip():
        return False
    number, total = columns[chosen[0]], columns[-1]
    is_divided = texts[-2].strip() == "/" and texts[chosen[0]].strip() == ":"
    return (
        is_divided and len(set(total)) == 1 and _are_counts(number) and max(map(int, number)) <= int(total[0])
    )


def _are_counts(column: Sequence[str]) -> bool:
    return all(number.isdecimal() and len(number) < 16 for number in column)


def counts_evenly(column: Sequence[str], least: float = _LEAST_EVEN) -> bool:
    """Whether these numbers, of several lines, go up evenly, but for trainings that begin anew.

    `least` is the share of the distances between them that must be the usual one.
    """
    if not _are_counts(column):
        return False
    numbers = [*map(int, column)]
    distances = [after - before for before, after in pairwise(numbers)]
    usual = max(set(distances), key=distances.count)
    even = sum(distance == usual for distance in distances)
    back = sum(
        distance <= 0 and after == numbers[0] for distance, after in zip(distances, numbers[1:], strict=True)
    )
    is_even = even + back == len(distances) and even >= least * len(distances)
    return usual > 0 and is_even and back <= max(_MOST_BEGINNINGS, len(numbers) // _LONG_TABLE)


def steps_within(counts: Sequence[tuple[int, int]]) -> list[int]:
    """Steps through all epochs of these epochs and batches; nothing if they do not count like that."""
    steps, before = [counts[0][1]], 0
    for (epoch, batch), (next_epoch, next_batch) in pairwise(counts):
        if next_epoch == epoch and next_batch <= batch:
            return []
        if next_epoch < epoch and (next_epoch, next_batch) == counts[0]:
            before = 0  # another launch
        elif next_epoch != epoch:
            if next_epoch != epoch + 1 or next_batch > batch:
                return []
            before += batch + (counts[0][1] == 0)
        steps.append(before + next_batch)
    return steps


def _names_above(lines: Sequence[str], first: int, count: int) -> dict[int, str]:
    """The names of the numbers of a row that the line above it states, or the one above a rule.

    They are as many as the cells of the row, but for what both lines begin with and for a last column of
    remarks, which begins behind the row.
    """
    row, above = lines[first].rstrip(), lines[max(first - 1, 0)]
    if first > 1 and above and not any(map(str.isalnum, above)):
        above = lines[first - 2]
    for between in (_BETWEEN_BARS,) if "|" in row else (_BETWEEN_COLUMNS, _SPACES):
        names, cells = (between.split(line.strip(" \t|")) for line in (above, row))
        if len(names) == len(cells) + 1 and above.rfind(names[-1]) >= len(row):
            names.pop()
        while names and cells and names[0] == cells[0]:
            del names[0], cells[0]
        fits = 0 < len(names) == len(cells) <= count and all(map(is_number, cells))
        if fits and all(map(_NAME.fullmatch, names)) and not any(map(is_number, names)):
            return dict(enumerate(names, count - len(cells)))
    return {}


def _names(texts: tuple[str, ...], count: int, above: Mapping[int, str]) -> list[str]:
    """The names of the numbers of a layout; of those without one, the names above or their places."""
    named = {field.index: field.name for field in number_fields(texts) if field.name}
    names: list[str] = []
    for index in range(count):
        alone = _NAME_ALONE.fullmatch(texts[index])
        name = named.get(index) or (alone[1] if alone is not None else "")
        name = name or above.get(index, f"column {index + 1}")
        name = name.replace(",", " ")
        names.append(name if name not in names else f"{name} {index + 1}")
    return names


def is_number(cell: str) -> bool:
    """Whether a cell of a table is a number."""
    try:
        float(cell)
    except ValueError:
        return False
    return True


def table_of_counted_names(lines: Sequence[str]) -> list[list[str]]:
    """The table of lines of a name with what it counts in brackets behind that; nothing for other texts.

    `loss [29]: 3.5` is the loss of step 29 where the numbers in brackets go up evenly for each name; of
    `acc[0]: 0.5`, `acc[1]: 0.6`, over and over, they tell several values of a step apart.
    """
    texts = [line for line in lines if line.strip()]
    found = [match for line in texts if (match := _COUNT_IN_BRACKETS.fullmatch(line)) is not None]
    by_name: defaultdict[str, dict[str, str]] = defaultdict(dict)
    for match in found:
        by_name[match["name"]][match["count"]] = match["value"]
    are_single = sum(map(len, by_name.values())) == len(found) >= _LEAST_OF_LINES * len(texts)
    if not are_single or any(len(values) < _LEAST_LINES for values in by_name.values()):
        return []
    if not all(counts_evenly([*values]) for values in by_name.values()):
        return []
    counts = sorted({int(match["count"]): match["count"] for match in found}.items())
    return [
        ["step", *by_name],
        *([count, *(values.get(count, "") for values in by_name.values())] for _, count in counts),
    ]
