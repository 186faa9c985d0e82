"""Tables of lines in several forms, each the same but for its numbers, of which one counts what all count.

The most frequent form leads: `[3/4] 800), Loss: 0.1, mAP 58%`. Rows of other forms are of the same table
where one of their numbers is always between those that the lead counts above and below them, as that of
`TESTING: 803), mAP 60%`, or is its epoch, or where they have nothing but metrics, which are those of the step
above them. Rows that count by themselves, behind or above all of the lead, are another stage of the training.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, count, islice, pairwise

from holter.ingest.console.headings.training_sections import OF_TRAININGS
from holter.ingest.console.line.cached_shapes import shape_of
from holter.ingest.console.line.data_names import is_of_evaluation
from holter.ingest.console.line.line_fields import number_fields
from holter.ingest.console.line.line_tokens import split_numbers
from holter.ingest.console.line.line_words import DATA_SPLIT
from holter.ingest.console.line.names_ahead import NAME_AHEAD
from holter.ingest.console.line.number_field import NumberField
from holter.ingest.console.line.number_names import counts
from holter.ingest.metric_names import is_metric_name
from holter.ingest.offline.counted_lines import (
    LEAST_LINES,
    Cells,
    CountedRows,
    Texts,
    are_counts,
    counted_rows,
    counting_columns,
    counts_evenly,
    is_number,
    is_share,
    layout_of,
    with_separate_counts,
)
from holter.ingest.offline.measured_columns import LEAST_OF_NUMBERS

_SPACES = re.compile(r"[ \t]+")
_NAME_ALONE = re.compile(r"\s?[,;]\s{0,4}([A-Za-z][\w./@-]{0,40}(?: [\w./@-]{1,40}){0,3})\s?[,;]\s{0,4}")
"""A name between separators: `Step, 0, Loss, 0.114, PSNR, 9.42`."""
_BETWEEN_COLUMNS = re.compile(r"[ \t]{2,80}|\t|[ \t]?[,;][ \t]{0,80}")
_BETWEEN_BARS = re.compile(r"[ \t]{0,80}\|[ \t]{0,80}")
_BETWEEN_SIGNS = re.compile(r"[ \t]{1,8}[/-][ \t]{1,8}")
_BETWEEN_NAMES = (_BETWEEN_BARS, _BETWEEN_COLUMNS, _BETWEEN_SIGNS)
"""What may be between names, where it is not what is between the numbers below them."""
_COUNT_OF_ROW = re.compile(
    r"[ \t]{0,20}(?:([A-Za-z]\w{0,20})[ \t]?[:=#-]?[ \t]{0,8}|[\[(][ \t]{0,8})"
    r"\d{1,9}(?: ?/ ?\d{1,9})?[ \t]?[\])]?[:;,|>-]{0,2}(?:[ \t]{1,20}|(?<=[|,]))(?:[|>-]{1,2}[ \t]{1,20})?"
    r"|[ \t]{0,20}\d{1,9}[ \t]?(?::|->?)[ \t]{1,20}"
)
"""The count that a row begins with, and what is around it: `Epoch 3: `, `[3] `, `step=10 | `."""
_COUNT_OF_NAMES = re.compile(r"[ \t]{0,20}[\[(#]?([A-Za-z]\w{0,20})[\])]?[ \t]?[:;,|>-]{0,2}[ \t]{1,20}")
_SIGN = re.compile(r" ?(?:[:=]|is|->|=>) {0,8}")
"""What is between a count and the value of the name before it."""
_BEFORE_LIST = re.compile(r"^[^\[\]:]{0,40}: ?(?=\[)")
_AROUND = " \t|[]()"
_NAME = re.compile(r"[^\d\s.,+-][^\n]{0,60}")
"""The name of a column: anything that begins like no number."""
_WORD = re.compile(r"[^\W\d_]\w{0,40}")
_MOST_NUMBERS = 100
_MOST_FORMS = 16
"""Forms of which the most frequent ones are read."""
_MOST_LEADS = 3
"""Forms of which the first one that counts leads."""
_LEAST_OTHERS = 3
"""Rows of another form than the lead; of other data two are enough."""
_LEAST_SHARE = 0.25
"""Of the different lines of a text that are rows of the lead."""
_LEAST_SHARE_OF_ALL = 0.5
"""The same of all forms, where those of the lead are fewer."""
_LEAST_FRACTIONS = 0.9
"""Of the numbers without a name that have one: whole numbers may be anything."""
_LEAST_IN_TURN = 0.9
"""Rows of another form for each row of the lead, where both are printed in turn."""
_FARTHEST = 100
"""Lines between the names of columns and the first row."""
_MOST_WORDS = 3
"""Words that tell names apart."""


@dataclass(frozen=True, slots=True)
class _Form:
    """The rows of a layout: their numbers, and the numbers of their lines."""

    texts: Texts
    places: Sequence[int]
    rows: Sequence[Sequence[str]]

    def column(self, index: int) -> list[str]:
        return [row[index] for row in self.rows]


@dataclass(frozen=True, slots=True)
class _Table:
    """The rows of a form with their steps; `names` are those of the numbers with these indices."""

    form: _Form
    steps: Sequence[int]
    names: Mapping[int, str]
    epochs: Sequence[str] = ()
    """The epochs in which the steps of the rows were counted."""

    @property
    def data(self) -> str:
        """The data that the rows are of, if they begin with nothing but its word."""
        return _data_of(self.form.texts)


def counted_table(lines: Sequence[str]) -> Cells:
    """The names and the rows of the most frequent form, if it counts, and of those that go with it.

    The rows are in the order of their lines, with empty cells for what other forms have: `train, 3, 0.5` and
    `val, 3, 0.75` are rows of one table, whose names have the data before them.
    """
    lines = with_separate_counts(lines)
    forms = _forms(lines)
    different = len({line for line in lines if line})
    leads = (lead for form in _leading(forms) if (lead := _table_of_lead(form, forms, lines)) is not None)
    for lead in chain(islice(leads, 1), _headings(forms)):
        of_lead = {*lead.form.places}
        others = (form for form in forms if form.places[0] not in of_lead)
        tables = [lead, *(table for form in others if (table := _table_along(form, lead)) is not None)]
        is_most = sum(len(table.steps) for table in tables) >= _LEAST_SHARE_OF_ALL * different
        has_values = bool(lead.names) or len(tables) > 1
        if has_values and (is_most or (lead.names and len(lead.steps) >= _LEAST_SHARE * different)):
            return _side_by_side(tables)
    return []


def _leading(forms: Sequence[_Form]) -> Iterator[_Form]:
    """The forms that may lead: the most frequent ones, but none behind one with nothing but metrics."""
    tried = 0
    for form in forms:
        if len(form.texts) > 2:
            yield form
            tried += 1
        if tried == _MOST_LEADS or (tried and _has_names_alone(form, is_metric=True)):
            return


def _headings(forms: Sequence[_Form]) -> Iterator[_Table]:
    """Forms of lines that have nothing but a count, whatever that is of, above those of what was measured.

    `Image no. 100` above `hits = 0.5`: as many lines of each, in turn, show that one is the other's step.
    """
    for form in forms:
        is_alone = len(form.texts) == 2 or (len(form.texts) == 3 and len({*form.column(1)}) == 1)
        text = "".join(form.texts)
        if not is_alone or len(form.rows) < LEAST_OF_NUMBERS or OF_TRAININGS.search(text) is not None:
            continue
        if any(map(str.isalpha, text)) and counts_evenly(column := form.column(0)):
            yield _Table(form, [*map(int, column)], {})


def _forms(lines: Sequence[str]) -> list[_Form]:
    """The layouts of these lines with numbers, the most frequent ones first."""
    by_texts: defaultdict[Texts, dict[int, list[str]]] = defaultdict(dict)
    for number, line in enumerate(lines):
        parts = split_numbers(line)
        if 3 <= len(parts) <= 2 * _MOST_NUMBERS:
            by_texts[layout_of(parts)][number] = parts[1::2]
    forms = [_Form(texts, [*rows], [*rows.values()]) for texts, rows in by_texts.items() if len(rows) > 1]
    return sorted(forms, key=lambda form: -len(form.rows))[:_MOST_FORMS]


def _with_remarks(lead: _Form, forms: Sequence[_Form]) -> _Form:
    """A form with the rows of others that have more text behind them, but for words of data."""
    *texts, end = lead.texts
    alike = [
        form
        for form in forms
        if form is lead
        or (
            [*form.texts[:-1]] == texts
            and form.texts[-1].startswith(end)
            and DATA_SPLIT.search(form.texts[-1]) is None
        )
    ]
    rows = sorted(row for form in alike for row in zip(form.places, form.rows, strict=True))
    return _Form(lead.texts, [place for place, _ in rows], [numbers for _, numbers in rows])


def _table_of_lead(form: _Form, forms: Sequence[_Form], lines: Sequence[str]) -> _Table | None:
    """The rows of a form, also of those with a remark behind them; None if it counts or measures nothing."""
    found = _counted(form, forms) or _counted(_with_remarks(form, forms), forms)
    if found is None or len(found[0].rows) < LEAST_LINES:
        return None
    form, counted = found
    count = len(form.texts) - 1
    names = _names(form, _names_above(lines, form.places[0], count))
    columns = list(zip(*form.rows, strict=True))
    chosen = [index for index in counted.measured if _varies(columns[index])]
    if is_share(form.texts, columns, chosen):  # `Epoch 0: 9129 / 10000`
        names[chosen[0]] = "correct"
    elif not any("." in number for index in chosen for number in columns[index]):
        return None  # counts of other things
    epochs = columns[counted.epoch] if counted.epoch >= 0 else ()
    return _Table(form, [*map(int, counted.steps)], {index: names[index] for index in chosen}, epochs)


def _counted(form: _Form, forms: Sequence[_Form]) -> tuple[_Form, CountedRows] | None:
    """A form with what its rows count, and the number of the heading above each if they count below these."""
    counted = counted_rows(form.texts, form.rows)
    if counted is not None and all(a <= b for a, b in pairwise(map(int, counted.steps))):
        return form, counted
    for headings in forms:
        if len(headings.texts) == 2 and OF_TRAININGS.search("".join(headings.texts)) is None:
            below = _below(headings, form)
            within = None if below is None else counted_rows(below.texts, below.rows)
            if below is not None and within is not None and within.epoch == 0:
                return below, within
    return None if counted is None else (form, counted)


def _below(headings: _Form, form: _Form) -> _Form | None:
    """The rows of a form with the number of the heading above each as the first; None if one has none."""
    above = [bisect_left(headings.places, place) - 1 for place in form.places]
    if above[0] < 0 or len({*above}) < len(headings.rows):
        return None
    rows = [[headings.rows[number][0], *row] for number, row in zip(above, form.rows, strict=True)]
    return _Form(("", *form.texts), form.places, rows)


def _table_along(form: _Form, lead: _Table) -> _Table | None:
    """The rows of another form at steps of the lead; None if they have none, or nothing with a name."""
    is_alike = _are_of_other_data(form.texts, lead.form.texts)
    if len(form.rows) < _LEAST_OTHERS and not is_alike:
        return None
    counted = _steps_along(form, lead, is_alike=is_alike)
    if counted is None:
        return None
    steps, measured = counted
    is_named_alike = form.texts[1:] == lead.form.texts[1:]
    names = _names(form, lead.names if is_named_alike else {})
    fields = {field.index: field for field in number_fields(form.texts)}
    chosen = [
        index
        for index in measured
        if _varies(column := form.column(index)) and (is_alike or _is_value(fields.get(index), column))
    ]
    return _Table(form, steps, {index: names[index] for index in chosen}) if chosen else None


def _is_value(field: NumberField | None, column: Sequence[str]) -> bool:
    """Whether the numbers of a column are values: they have a name with a sign, or most have a fraction."""
    if field is not None and field.name and (field.marked or is_metric_name(field.name)):
        return True
    return not (field is None or (field.is_duration and not field.name)) and _have_fractions(column)


def _have_fractions(column: Sequence[str]) -> bool:
    return sum("." in number for number in column) >= _LEAST_FRACTIONS * len(column)


def _steps_along(form: _Form, lead: _Table, *, is_alike: bool) -> tuple[list[int], Sequence[int]] | None:
    """The steps of rows of another form, and the indices of what else they have; None if they are at none."""
    count = len(form.texts) - 1
    own = counted_rows(form.texts, form.rows) if count > 1 else None
    own_steps = [*map(int, own.steps)] if own is not None else []
    is_apart = form.places[0] > lead.form.places[-1] or form.places[-1] < lead.form.places[0]
    is_apart &= len(form.rows) >= LEAST_LINES
    if own is not None and (is_alike or is_apart or _is_in_place(form.places, own_steps, lead)):
        return own_steps, own.measured
    counting = [
        index
        for index in counting_columns(form.texts)
        if count > 1 and are_counts(column := form.column(index)) and _varies(column)
    ]
    for index in counting:
        steps = [*map(int, form.column(index))]
        if _is_in_place(form.places, steps, lead):
            return steps, range(index + 1, count)
    above = [bisect_left(lead.form.places, place) - 1 for place in form.places]
    if above[0] < 0 and not lead.names and form.places[-1] < lead.form.places[-1]:
        above = [row + 1 for row in above]  # the count is below what was measured
    if above[0] >= 0:
        steps = [lead.steps[row] for row in above]
        epochs = [int(lead.epochs[row]) for row in above] if lead.epochs else []
        for index in counting if epochs else ():
            numbers = map(int, form.column(index))
            # counted from 0 in the one and from 1 in the other
            if {number - epoch for number, epoch in zip(numbers, epochs, strict=True)} in ({0}, {1}):
                return steps, range(index + 1, count)
        is_once = len({*above}) == len(above)
        if is_once and _has_names_alone(form, is_metric=len(above) < _LEAST_IN_TURN * len(lead.steps)):
            return steps, range(count)
    if form.places[0] > lead.form.places[-1] and _measures_alone(form):
        return [*range(lead.steps[-1] + 1, lead.steps[-1] + 1 + len(form.rows))], range(count)
    return None


def _measures_alone(form: _Form) -> bool:
    """Whether rows measure something again and again without a count: the next stages of a training."""
    if len(form.rows) < LEAST_OF_NUMBERS or shape_of(form.texts).counters:
        return False
    known = [field.index for field in number_fields(form.texts) if is_metric_name(field.name)]
    columns = [column for at in known if _varies(column := form.column(at))]
    return bool(columns) and all(map(_have_fractions, columns))


def _is_in_place(places: Sequence[int], steps: Sequence[int], lead: _Table) -> bool:
    """Whether each of some rows has a step between those of the rows of the lead above and below it.

    One row may be ahead of the lead: an evaluation of what the training begins with.
    """
    if len(places) > 1 and places[1] < lead.form.places[0]:
        return False
    distance = max((after - before for before, after in pairwise(lead.steps)), default=0)
    for place, step in zip(places, steps, strict=True):
        row = bisect_left(lead.form.places, place)
        before = lead.steps[row - 1] if row else lead.steps[0] - distance
        after = lead.steps[row] if row < len(lead.steps) else lead.steps[-1] + distance
        is_between = before <= step <= after
        if not is_between and (before <= after or not (step >= before or step <= after)):
            return False
    return True


def _has_names_alone(form: _Form, *, is_metric: bool) -> bool:
    """Whether all numbers of a form have names and none counts.

    The first name is that of a metric, or with rows in turn with those of the lead, some have fractions.
    """
    fields = [*number_fields(form.texts)]
    is_named = len(fields) == len(form.texts) - 1 and all(field.name for field in fields)
    if not is_named or shape_of(form.texts).counters:
        return False
    has_fractions = any(map(_have_fractions, zip(*form.rows, strict=True)))
    return is_metric_name(fields[0].name) or (not is_metric and has_fractions)


def _varies(column: Sequence[str]) -> bool:
    """Whether these are numbers, and not all the same."""
    return len(set(column)) > 1 and all(is_number(text.replace(",", "")) for text in column)


def _data_of(texts: Sequence[str]) -> str:
    """The word for the data of rows that begin with nothing else: `val, 3, 0.75`."""
    word = texts[0].strip(" \t,;|:[]()")
    return word.lower() if DATA_SPLIT.fullmatch(word) is not None else ""


def _are_of_other_data(one: Texts, other: Texts) -> bool:
    """Whether rows are of other data than others, which may name none: `Val 3 0.5`, `3 0.4`."""
    is_other = bool(_data_of(other)) or not other[0].strip()
    return one[1:] == other[1:] and bool(_data_of(one)) and is_other


def _side_by_side(tables: Sequence[_Table]) -> Cells:
    """One table of all rows, in the order of their lines."""
    names = _unique_names(tables) if len(tables) > 1 else [_names_with_data(tables[0])]
    header = dict.fromkeys(name for each in names for name in each.values())
    rows = sorted(
        (place, step, {name: row[index].replace(",", "") for index, name in named.items()})
        for table, named in zip(tables, names, strict=True)
        for place, step, row in zip(table.form.places, table.steps, table.form.rows, strict=True)
        if named
    )
    return [
        ["step", *header],
        *([str(step), *(cells.get(name, "") for name in header)] for _, step, cells in rows),
    ]


def _names_with_data(table: _Table) -> Mapping[int, str]:
    """The names of the numbers of the only table, with the data of the evaluation that it is of."""
    if not is_of_evaluation(table.data):
        return table.names
    return {index: f"{table.data}/{name}" for index, name in table.names.items()}


def _unique_names(tables: Sequence[_Table]) -> list[dict[int, str]]:
    """The names of the numbers of each table, with its data or with words that tell it from the others.

    Where nothing tells them apart and both have the same steps, the later one has a number in its names.
    """
    steps_of: defaultdict[str, set[int]] = defaultdict(set)
    found = []
    for table in tables:
        names = {}
        steps = {*table.steps}
        for index, name in table.names.items():
            words = [table.data] if table.data else _words_of(table, index, tables)
            stated = "/".join((*words, name))
            numbered = chain([stated], (f"{stated} {number}" for number in count(2)))
            names[index] = next(each for each in numbered if not steps & steps_of[each])
            steps_of[names[index]] |= steps
        found.append(names)
    return found


def _words_of(table: _Table, index: int, tables: Sequence[_Table]) -> Iterator[str]:
    """The words before a number that none of the same name in other tables has before it, else not all.

    The data of an evaluation is one of them, whether or not others have it: `val oak L1 0.2` above
    `val elm L1 0.3`.
    """
    others = [
        {*_words_before(other, at)}
        for other in tables
        if other is not table and not other.data
        for at, name in other.names.items()
        if name == table.names[index]
    ]
    words = _words_before(table, index)
    for common in (set.union(*others), set.intersection(*others)) if others else ():
        if any(word not in common for word in words):
            own = [word for word in words if word not in common or is_of_evaluation(word)]
            yield " ".join(own[:_MOST_WORDS])
            return


def _words_before(table: _Table, index: int) -> list[str]:
    return [word for text in table.form.texts[: index + 1] for word in _WORD.findall(text)]


def _names_above(lines: Sequence[str], first: int, count: int) -> dict[int, str]:
    """The names of the numbers of a row that the line above it states, or the one above a rule.

    Further above, that is a line whose first name is one of what counts, with a metric among the others.
    """
    row, nearest = lines[first].rstrip(), max(first - 1, 0)
    if first > 1 and lines[nearest] and not any(map(str.isalnum, lines[nearest])):
        nearest -= 1
    if names := _names_of_line(lines[nearest], row, count):
        return names
    for above in reversed(lines[max(nearest - _FARTHEST, 0) : nearest]):
        names = _names_of_line(above, row, count)
        stated = [*names.values()]
        if stated and counts(stated[0]) and any(map(is_metric_name, stated[1:])):
            return names
    return {}


def _names_of_line(above: str, row: str, count: int) -> dict[int, str]:
    """The names of the numbers of a row that a line above it states; none if it is no line of names.

    They are as many as the cells of the row, but for what both lines begin with, for a last column of
    remarks, which begins behind the row, and for a first one of what the row is of: data, or anything with a
    name above. Words with nothing but blanks between are names if one is known. The count of a row may have a
    word before it or a sign behind it: `Epoch 3: 0.5 0.4` below `epoch train_loss val_loss`.
    """
    above = _BEFORE_LIST.sub("", above, count=1)
    counted, of_count = _COUNT_OF_ROW.match(row), _COUNT_OF_NAMES.match(above)
    if counted is None:
        return _names_of_cells(above, row, count)
    behind = row[counted.end() :]
    if of_count is not None and counts(of_count[1]):
        is_same = of_count[1].lower() == (counted[1] or "").lower()
        names = _names_of_cells(above[of_count.end() :], behind, count)
        if names and (is_same or any(map(is_metric_name, names.values()))):
            return {min(names) - 1: of_count[1], **names}
    names = _names_of_cells(above, row, count) or _names_of_cells(above, behind, count)
    return names if len(names) > 1 or any(map(is_metric_name, names.values())) else {}


def _names_of_cells(above: str, row: str, count: int) -> dict[int, str]:
    """The names of a line that are as many as the cells of a row."""
    for of_cells in (_BETWEEN_BARS,) if "|" in row else (_BETWEEN_COLUMNS, _BETWEEN_SIGNS, _SPACES):
        for of_names in (of_cells, *_BETWEEN_NAMES):
            names, cells = of_names.split(above.strip(_AROUND)), of_cells.split(row.strip(_AROUND))
            if len(names) == len(cells) + 1 and above.rfind(names[-1]) >= len(row):
                names.pop()
            while names and cells and names[0] == cells[0]:
                del names[0], cells[0]
            if cells and not is_number(cells[0]) and _may_name_row(cells, names):
                names = names[len(names) - len(cells) + 1 :]
                del cells[0]
            fits = 0 < len(names) == len(cells) <= count and all(map(is_number, cells))
            is_known = of_names is of_cells is not _SPACES or any(map(_is_of_table, names))
            if fits and is_known and all(map(_NAME.fullmatch, names)) and not any(map(is_number, names)):
                return dict(enumerate(names, count - len(cells)))
    return {}


def _may_name_row(cells: Sequence[str], names: Sequence[str]) -> bool:
    """Whether the first cell is what its row is of: data, or anything where the next column counts."""
    if len(names) == len(cells) > 1:
        return bool(_data_of(cells[:1])) or (bool(names[1].strip()) and counts(names[1]))
    return len(names) == len(cells) - 1 and bool(_data_of(cells[:1]))


def _is_of_table(name: str) -> bool:
    """Whether a word is the name of a column, and no word of a sentence: it counts, is a metric or data."""
    return is_metric_name(name) or (bool(name.strip()) and (counts(name) or _is_data(name)))


def _is_data(name: str) -> bool:
    return DATA_SPLIT.fullmatch(name) is not None


def _names(form: _Form, above: Mapping[int, str]) -> list[str]:
    """The names of the numbers of a form; of those without one, the names above or their places."""
    printed = " ".join(form.texts)
    named = {
        field.index: field.name
        for field in number_fields(form.texts)
        # not what a number counts by its place alone: `Epoch 3 | 0.5 | 0.4`
        if field.name and (field.name in printed or not (field.index in above or counts(field.name)))
    }
    names: list[str] = []
    for index, place in enumerate(_places(form)):
        alone = _NAME_ALONE.fullmatch(form.texts[index])
        name = _name_before_count(form.texts, index) or named.get(index) or (alone[1] if alone else "")
        name = name or _name_of_mean(form.texts, index, named) or above.get(index, f"column {place}")
        name = name.replace(",", " ")
        names.append(name if name not in names else f"{name} {index + 1}")
    return names


def _name_before_count(texts: Texts, index: int) -> str:
    """The metric before what a row counts, if its value is right behind that: `Loss at 10: 0.5`."""
    ahead = NAME_AHEAD.search(texts[0]) if index == 1 and _SIGN.fullmatch(texts[1]) is not None else None
    is_next = ahead is not None and ahead.end() == len(texts[0])
    return ahead[1] if ahead is not None and is_next and is_metric_name(ahead[1]) else ""


def _name_of_mean(texts: Texts, index: int, named: Mapping[int, str]) -> str:
    """The name of a number in brackets behind a metric, the mean of it so far: `Loss 0.69 (0.61)`."""
    is_mean = index > 0 and texts[index].strip() == "(" and texts[index + 1].startswith(")")
    name = named.get(index - 1, "")
    return f"{name}/mean" if is_mean and name and not counts(name) else ""


def _places(form: _Form) -> list[int]:
    """The columns of the numbers of a form, from 1; a total is in the one of what counts up to it: `3/90`."""
    places: list[int] = []
    for index, before in enumerate(form.texts[:-1]):
        is_total = index > 0 and before.strip() == "/" and len({*form.column(index)}) == 1
        places.append(places[-1] + (not is_total) if places else 1)
    return places
