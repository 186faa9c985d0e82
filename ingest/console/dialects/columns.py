"""Tables of columns: a line of names, then lines of numbers.

`epoch  train_loss  valid_loss  accuracy  time` of fastai and skorch, `Iter  Train Loss  Remaining Time` of
scikit-learn, `E  #  LOSS NER  SCORE` of spaCy. Their names are separated by two spaces or more, tabs, commas
or semicolons, right above rows of as many numbers also by single spaces; their numbers by any of these.
Behind columns of other things, such as dates, may be that which counts, above rows of numbers alone behind
any; the first one may name the data of each row: `Dataset  Epoch  Accuracy` above `eval  3  0.9`. Rows of an
evaluation may begin with its data in place of what counts, or before it: `Val: 0.5  0.8`, `Val 3 0.5 0.8`.
"""

from __future__ import annotations

import re
from functools import lru_cache
from math import isfinite

from holter.ingest.console.dialect import ConsoleDialect, DialectState, LineKind, LineValues
from holter.ingest.console.headings.training_sections import enter_section, section_labels
from holter.ingest.console.line.evaluation_names import metric_name
from holter.ingest.console.line.line_counters import Counter
from holter.ingest.console.line.line_words import DATA_SPLIT, EVALUATIONS
from holter.ingest.console.plain.metrics_of_epoch import parse_metrics_of_epoch
from holter.ingest.console.plain.plain_line import axis_state
from holter.ingest.console.search.pattern_search import LinearPattern
from holter.ingest.console.steps.known_steps import is_end_of_epoch
from holter.ingest.console.steps.line_counts import Counts
from holter.ingest.console.steps.step_axis import training_step
from holter.ingest.console.tables.grouped_columns import names_of_groups
from holter.ingest.console.tables.table_rows import (
    COUNTERS,
    columns_of,
    counts_of_row,
    evaluated_data,
    is_data,
    named_values,
    note_fit,
    note_misfit,
    number_of_part,
    step_of_row,
    with_data_set,
)
from holter.ingest.console.tables.table_subjects import subjects_of_row, with_subjects
from holter.ingest.console.text.values import parse_number
from holter.ingest.metric_names import is_metric_name

_BETWEEN = re.compile(r"\s{0,8}[,;]\s{0,8}|\s{2,}|\t")
_BETWEEN_NUMBERS = re.compile(r"\s{0,8}[,;]\s{0,8}|\s+")
_BLANKS = re.compile(r"\s{2,}|\t")
_ANY_BLANKS = re.compile(r"\s+")
"""What is between numbers with commas of thousands: `3 1,204.5 0.9`."""
_WIDE = re.compile(r"\S+(?: \S+)*")
"""A name or a cell between columns of blanks."""
_DATA_AND_MARK = re.compile(r"(?i)[a-z]\w{2,30}\s+#\s+(?=(?:epoch|iter(?:ation)?|step)\s)")
"""The data of the first row in place of a name for it: `Train  #  Epoch  loss` above `! Train  1  0.5`."""
_MARK = re.compile(r"^! (?:Initial )?")
"""What is before the data of such a row."""
_REMARK = re.compile(r"\s{1,8}[^\w\s.,;+-][^\d\n]{0,40}$")
"""What is behind the last number of a row, and is no cell: ` *`, `  <- saved`."""
_REMARKS = frozenset({"note", "notes", "comment", "comments", "remark", "remarks", "status", "best", "saved"})
"""Names of a last column that most rows leave empty."""
_LENGTH = ("episode", "steps")
"""An axis, and the name of what each episode has so many of."""
_MAX_COLUMNS = 64
_MOST_HEADINGS = 8
"""Tables in turn whose names of columns are known."""
_LEAST_CELLS = 2
_BETWEEN_CELLS = rb"(?: {2,40}| ?\t ?| {0,8}[,;] {0,8})"
_AXIS = (
    rb"(?:#[ \t]{1,20})?(?:[A-Za-z][\w-]{0,30}" + _BETWEEN_CELLS + rb"){0,2}"
    rb"(?:#[ \t]{1,20})?(?:epochs?|ep|(?:num)?iter(?:ation)?s?|(?:global_)?steps?|episode|round|E {1,8}#)"
)
_AHEAD = rb"(?:\w[\w.:/-]{0,59}" + _BETWEEN_CELLS + rb"){0,2}"
_COUNT = _AHEAD + rb"(?:-1|\d{1,9}(?:\.0|\.\d{1,20}e[-+]\d\d|/\d{1,9})?)"
"""What a row counts, behind its data or a date; -1 is before the training."""
_PART = rb"[ \t]{0,40}" + _AHEAD + rb"\d{1,9}\.\d{1,20}"
"""A part of an epoch, which a row may state as well."""
_NAMED = rb"[ \t]{0,20}" + _AXIS
_COUNTED = rb"(?:! )?(?:[ \t]|\x1b\[\d{0,2}[mJKA]){0,40}" + _COUNT
_METRICS = (
    rb"(?=[^|:=\n\d ])[^|:=\n]{0,400}(?:loss|acc|score|error|auc|rmse|reward|cost|deviance)[^|:=\n]{0,400}"
)
_HEADING = re.compile(rb"(?im)^" + _NAMED + rb"(?: |%s)" % _BETWEEN_CELLS + _METRICS + rb"$")
_GAP = rb"(?: {2,40}+|[ ]?\t[ \t]{0,8}+)"
_NAME = rb"[A-Za-z][\w./@%-]{0,40}+"
_COUNTS_LATER = (
    rb"[ \t]{0,20}+(?=(?:" + _NAME + _GAP + rb"){3})"
    rb"(?=[^\n]{0,1600}[ \t](?:epochs?|iter(?:ation)?s?|(?:global_)?steps?|episode|round)[ \t\r\n])"
    rb"(?=[^\n]{0,1600}(?:loss|acc|score|error|auc|rmse|reward|cost))"
    rb"(?:" + _NAME + _GAP + rb"){3,63}+(?:" + _NAME + rb")?[ \t\r]{0,40}$"
)
"""Names of columns of which one behind some others counts, as in the order of the alphabet."""
_LATER_HEADING = re.compile(rb"(?im)^" + _COUNTS_LATER)
_CELL = rb"(?:[-+]?(?:\d+(?:\.\d*)?(?:e[-+]?\d+)?|nan|inf))"
_CELLS = rb"[ \t]*" + _CELL + rb"(?:[ \t]+" + _CELL + rb"){3,}[ \t\r]*$"
"""A row of such a table, of numbers alone."""
_OF_DATA = rb"[ \t]{0,40}(?i:%s)[ \t]?:?[ \t]{1,40}" % EVALUATIONS.encode()
"""The data of an evaluation with which a row begins."""
_ROW_OF_DATA = LinearPattern(rb"(?im)^" + _OF_DATA + _CELL + rb"(?:[ \t]+" + _CELL + rb")*[ \t\r]*$")
_OTHER_HEADING = re.compile(rb"(?im)^" + _NAMED + _BETWEEN_CELLS + rb"(?=[A-Za-z])[^|:=\d\n]{1,400}$")
"""Names of columns of which none need be that of a metric, below a table with the same first one."""
_TABLE = re.compile(
    rb"(?im)^" + _NAMED + rb"(?: {2,40}| ?\t ?)" + _METRICS + rb"$"
    rb"|^"
    + _COUNTS_LATER
    + rb"\n"
    + _CELLS
    # between commas or single spaces, and rows of numbers right below: else it may be a sentence
    + rb"|^"
    + _NAMED
    + rb"(?: | {0,8}[,;] {0,8})"
    + _METRICS
    + rb"\n(?:[-= \t]{3,200}\n)?"
    + _COUNTED
    + rb"[ \t,;]{1,20}[-+\d.][^\n]{0,1600}\n(?:"
    + _OF_DATA
    + rb"[-+\d.][^\n]{0,1600}\n)?"
    + _COUNTED
)
_NUMBERS = re.compile(
    rb"(?m)^(?:" + _COUNTED + rb"|" + _PART + rb")(?:%s| [-+.\dniNI])[^|=\n]{0,1600}$" % _BETWEEN_CELLS
)
_CELLS_ALONE = LinearPattern(rb"(?im)^" + _CELLS)


def _names(line: str, state: DialectState) -> None:
    """Note the names of the columns of the lines below; below a table, a sentence is none."""
    heading = _DATA_AND_MARK.sub("Split  ", line.strip().lstrip("# "))
    if "names of columns" in state and len(_BETWEEN.split(heading)) == 1:
        return
    if any(is_metric_name(name) for names in _possible_names(heading) for name in names):
        state["names of columns"], state["places of columns"] = heading, line
        state["data of table"] = axis_state(state).get("evaluating", "")
        headings = state.get("headings by width", {})
        if len(headings) < _MOST_HEADINGS:
            width = str(len(_BETWEEN.split(heading)))
            state["headings by width"] = {**headings, width: (heading, line)}
    else:
        state.pop("names of columns", None)


def _names_of_next(line: str, state: DialectState) -> None:
    """Note other names of columns than those of the table above, which begins with the same one."""
    above, heading = state.get("names of columns", ""), line.strip().lstrip("# ")
    first, *others = _BETWEEN.split(heading)
    if others and above != heading and first.lower() == _BETWEEN.split(above)[0].lower():
        state["names of columns"], state["places of columns"] = heading, line


@lru_cache(maxsize=64)
def _possible_names(heading: str) -> tuple[list[str], ...]:
    """The names of columns as a heading may mean them, the most likely first: words may be parts of names."""
    words = heading.split()
    joined: list[str] = []
    for word in words:
        if joined and DATA_SPLIT.fullmatch(joined[-1]) is not None:  # `Epoch Train Loss Val Loss`
            joined[-1] += f" {word}"
        else:
            joined.append(word)
    possible = (_BETWEEN.split(heading), words, joined)
    return tuple(names[:_MAX_COLUMNS] for names in possible if len(names) >= _LEAST_CELLS)


def _row(line: str, state: DialectState) -> LineValues | None:
    """The numbers of a line with a cell for each column."""
    # `No log` is that of a Trainer in a notebook
    row = _MARK.sub("", line.strip(), count=1).replace("No log", "-")
    heading, places = _heading_of(row, state)
    names, cells = _cells_between_tabs(line, places) or _named_cells(row, heading)
    if not names and cells:
        names, cells = _cells_below_names(line, places) or ([], cells)
    if not names and cells and places[:1] == " ":
        names, cells = _behind_index(row, heading) or ([], cells)
    if not names and cells:
        names, cells = _cells_in_places(line, places) or ([], cells)
    if not names and cells:
        names = names_of_groups(_possible_names(heading)[0], cells, state)
    if not names:
        if cells:
            note_misfit(_possible_names(heading)[0], cells, state)
        return None
    note_fit(state)
    lower, counting, of_data = columns_of(tuple(names))
    if counting is None:
        return None
    split, plain = evaluated_data([cells[column] for column in of_data]), axis_state(state)
    counted, part, is_part = _count(cells[counting.step]), None, False
    if counting.counter is Counter.EPOCH:
        part = parse_number(cells[counting.step])
    if part is not None and isfinite(part):
        counted, is_part = number_of_part(part, state)
    counts = counts_of_row(counting, counted, _count(cells[counting.epoch]))
    is_of_batches = counting.epoch >= 0 and Counter.EPOCH in counts
    # a row of an epoch below a table of its batches
    within_epochs = is_of_batches or (counts.keys() == {Counter.EPOCH} and is_end_of_epoch(counts, plain))
    if is_of_batches and not split:  # `validation` above the names of the columns, whose batches are its own
        split = state.get("data of table", "")
    if not counts:
        return None
    if within_epochs:
        step = step_of_row(counts, plain, is_of_evaluation=bool(split))
    else:
        step = _step_alone(counts, plain)
    if step is None:
        return None
    subjects = subjects_of_row(names, cells, step, state)
    values = {}
    for column, (name, cell) in enumerate(zip(names, cells, strict=True)):
        value = parse_number(cell)
        is_count = lower[column] in COUNTERS and (lower[counting.step], lower[column]) != _LENGTH
        is_count |= column in subjects.no_metrics
        if value is not None and not is_count and column != counting.step:
            values[name] = value
    if part is not None and is_part:
        values["epoch"] = part
    if is_of_batches and split:
        state["batches evaluated"] = True
    is_mean = within_epochs and not is_of_batches and bool(split) and "batches evaluated" in state
    values = named_values(values, split, counts, step, plain, within_epochs=within_epochs, is_mean=is_mean)
    enter_section({Counter.EPOCH: (step, 0)}, plain)
    labels = with_subjects(with_data_set(section_labels(plain), lower, cells), subjects)
    state["row above"] = step
    return LineValues(step, values, labels=labels)


def _row_of_data(line: str, state: DialectState) -> LineValues | None:
    """A row of an evaluation below the one of its step: `Val: 0.5  0.8`, all columns but that which counts.

    Where it has all columns behind its data it is a row as any other.
    """
    data, *cells = line.replace(":", " ", 1).split()
    possible = _possible_names(_heading_of(line.strip(), state)[0])
    if any(len(names) == len(cells) for names in possible):
        return _row(f"{data}  {'  '.join(cells)}", state)
    names = next((names for names in possible if len(names) == len(cells) + 1), [])
    _, counting, of_data = columns_of(tuple(names))
    if of_data:
        return _row(line, state)
    if counting is None or counting.epoch >= 0 or "row above" not in state:
        return parse_metrics_of_epoch(line, state)
    split, measured = evaluated_data([data]), (*names[: counting.step], *names[counting.step + 1 :])
    values = {
        metric_name(name, split): value
        for name, cell in zip(measured, cells, strict=True)
        if (value := parse_number(cell)) is not None
    }
    return LineValues(state["row above"], values, labels=section_labels(axis_state(state)))


def _heading_of(row: str, state: DialectState) -> tuple[str, str]:
    """The names of columns above a row, and where they are printed.

    Those of an earlier table if this has as many columns as the row has numbers, and that above has not:
    several programs print to one text.
    """
    heading, places = state.get("names of columns", ""), state.get("places of columns", "")
    others: dict[str, tuple[str, str]] = state.get("headings by width", {})
    if len(others) > 1:
        width = len(row.split())
        known = others.get(str(width))
        if known is not None and all(len(names) != width for names in _possible_names(heading)):
            return known[0], known[1]
    return heading, places


def _named_cells(row: str, heading: str) -> tuple[list[str], list[str]]:
    """The names of columns and the cells of a row below them.

    No names if these are not as many as the cells, and no cells if there are no names above.
    """
    possible = _possible_names(heading)
    if not possible:
        return [], []
    splits = _possible_cells(row)
    is_wide = len(splits[0]) == len(possible[0])
    if is_wide:  # a remark is a blank behind the last cell: `0.5 *`
        splits[0][-1] = _REMARK.sub("", splits[0][-1])
    if not is_wide and (remark := _REMARK.search(row)) is not None:
        without = _BETWEEN_NUMBERS.split(row[: remark.start()])
        if len(without) == len(possible[0]):
            return possible[0], without
    fitting = ((names, cells) for names in possible for cells in splits if len(names) == len(cells))
    if (found := next(fitting, None)) is not None:
        return found
    for names in possible:
        if len(names) + 1 == len(splits[0]) and is_data(splits[0][0]):
            return ["split", *names], splits[0]
    cells = _BETWEEN_NUMBERS.split(row)
    is_delimited = "\t" in heading or ("," in heading and row.count(",") == len(cells) - 1)
    if _LEAST_CELLS <= len(cells) < len(possible[0]) and is_delimited:
        return possible[0][: len(cells)], cells  # the last columns were not written
    for names in possible:
        if len(names) == len(cells) + 1 > _LEAST_CELLS and names[-1].lower() in _REMARKS:
            return names[:-1], cells
    return [], cells


def _cells_between_tabs(row: str, heading: str) -> tuple[list[str], list[str]] | None:
    """The cells of a row with a tab for each tab of the heading, of which some are empty, and their names."""
    cells, names = ([cell.strip() for cell in line.rstrip("\r\n").split("\t")] for line in (row, heading))
    if len(cells) != len(names) or not all(names) or all(cells):
        return None
    filled = [(name, cell) for name, cell in zip(names, cells, strict=True) if cell]
    return [name for name, _ in filled], [cell for _, cell in filled]


def _behind_index(row: str, heading: str) -> tuple[list[str], list[str]] | None:
    """The cells of a row of a data frame, which begins with its index below names that are indented."""
    index, _, rest = row.partition(" ")
    names, cells = _named_cells(rest.strip(), heading)
    return (names, cells) if index.isdecimal() and names else None


def _cells_in_places(row: str, heading: str) -> tuple[list[str], list[str]] | None:
    """The cells of a row of which some are blank, and their names: all begin or all end where names do."""
    cells = [*_WIDE.finditer(row)]
    for place in (re.Match.start, re.Match.end):
        names = {place(name): name[0] for name in _WIDE.finditer(heading)}
        if _LEAST_CELLS <= len(cells) < len(names) and all(place(cell) in names for cell in cells):
            return [names[place(cell)] for cell in cells], [cell[0] for cell in cells]
    return None


def _cells_below_names(row: str, heading: str) -> tuple[list[str], list[str]] | None:
    """The cells of a row but the last one, which is behind all names, and these names.

    All begin or all end below names; blanks before the first may lack behind the prefix of a logger.
    """
    names, cells = ([*_WIDE.finditer(line)] for line in (heading, row))
    if len(cells) != len(names) + 1:
        return None
    for place in (re.Match.start, re.Match.end):
        shifts = {place(name) - place(cell) for name, cell in zip(names, cells, strict=False)}
        if len(shifts) == 1 and cells[-1].start() + shifts.pop() >= names[-1].end():
            return [name[0] for name in names], [cell[0] for cell in cells[:-1]]
    return None


def _possible_cells(row: str) -> list[list[str]]:
    """The cells of a row as it may mean them, the most likely first.

    Single blanks may be within a cell, as in `21:20/ 0:00`, and an object right behind the last number may be
    one: `2.5{"acc": [0.5, 0.4]}`.
    """
    patterns = (_BLANKS, _BETWEEN_NUMBERS, _ANY_BLANKS) if "," in row else (_BLANKS, _BETWEEN_NUMBERS)
    splits = [pattern.split(row) for pattern in patterns]
    if row.endswith("}") and "{" in row:
        begin = row.index("{")
        numbers = row[:begin].rstrip(" \t,;")
        splits += [[*pattern.split(numbers), row[begin:]] for pattern in patterns]
    return splits


def _step_alone(counts: Counts, axis: DialectState) -> int | None:
    """The step of a row without an epoch: below the line of one, steps begin anew with each epoch."""
    [(counter, count)] = counts.items()
    if counter is Counter.EPOCH or "announced" not in axis:
        return count[0]
    return training_step({Counter.STEP: count}, axis)


def _count(cell: str) -> int | None:
    """The number that a cell counts, without its total."""
    value = parse_number(cell.partition("/")[0])
    return int(value) if value is not None and value.is_integer() else None


DIALECT = ConsoleDialect(
    name="columns",
    signature=_TABLE,
    kinds=(
        LineKind(pattern=_HEADING, parse=_names),
        LineKind(pattern=_LATER_HEADING, parse=_names),
        LineKind(pattern=_OTHER_HEADING, parse=_names_of_next),
        LineKind(pattern=_ROW_OF_DATA, parse=_row_of_data),
        LineKind(pattern=_NUMBERS, parse=_row),
        LineKind(pattern=_CELLS_ALONE, parse=_row),
    ),
)
