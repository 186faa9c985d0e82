"""Tables whose cells are between vertical lines, and results of Ray Tune's trials.

`| Epoch | Train Loss | Val Loss |` above rows of numbers, the names maybe in two lines, as MATLAB prints
them; the status of trials, a row for each, whose series have the label `trial`; `Result for NAME:` with a
line per value. The lines may have no outer bars. A table that is printed anew with
each of its rows is one table. AllenNLP's `loss | 0.68 | 0.65` below `Training | Validation`.
"""

from __future__ import annotations

import re
from zlib import crc32

from holter.ingest.console.dialect import ConsoleDialect, DialectState, LineKind, LineResult, LineValues
from holter.ingest.console.line.line_counters import Counter
from holter.ingest.console.plain.plain_line import axis_state, parse_plain_line
from holter.ingest.console.search.pattern_search import LinearPattern
from holter.ingest.console.steps.known_steps import counts_epochs_alone
from holter.ingest.console.tables.table_rows import (
    CountingColumns,
    columns_of,
    counts_of_row,
    evaluated_data,
    has_no_fit,
    named_values,
    note_fit,
    note_misfit,
    step_of_row,
    with_data_set,
)
from holter.ingest.console.tables.table_subjects import subjects_of_row, with_subjects
from holter.ingest.console.text.values import parse_number
from holter.ingest.metric_names import is_metric_name
from holter.ingest.text_encoding import words_in_encodings
from holter.translated_words import COUNTERS, METRICS
from holter.types import labels_of

_BARS = re.compile(r"[|│┃║]")
_OUTER_BAR = re.compile(r"[|│┃║]$")
_SPACES = re.compile(r"\s{2,}")
_SPREAD = re.compile(r"\s?(?:±|\+/?-|\()")
"""What is behind a number in its cell: `0.52 ± 0.03`, `0.52 (0.61)`."""
_COUNT = re.compile(r"(\d{1,9})(?: {0,8}/ {0,8}\d{1,9})?")
"""What a row counts, with its total: `1   / 200`."""
_DIGIT = re.compile(r"\d")
_LIST = re.compile(r"\[ *[-+.\w]{1,30}(?:(?:, *| +)[-+.\w]{1,30}){0,31} *\]")
"""A list of numbers in a cell: `[0.21 0.34 0.4 ]` of numpy, `[0.21, 0.34]`."""
_BETWEEN_NUMBERS = re.compile(r"(?:,| ) *")
_REMARK = re.compile(r"(?<=\d) {1,8}[^\w\s.,+-][^\d\n]*$")
"""What is behind the number of the last cell: `0.81 *`, `0.81  <- saved`."""
_TRIALS = frozenset({"trial name", "trial"})
_LEAST_COLUMNS = 2
_MAX_COLUMNS = 64
_MAX_TRIALS = 4096
_MAX_VALUES = 400
_MAX_ROWS = 1000
_ROWS_OF_FIRST = 2
"""Rows of the first of several tables that grow."""


def _cells(line: str, columns: int = 0) -> list[str]:
    """The cells of a line; without outer bars the last one of so many columns may be empty."""
    text = line.strip()
    inner = text.lstrip("|│┃║")
    if inner != text:
        inner = _OUTER_BAR.sub("", inner)
    cells = _BARS.split(inner) if _BARS.search(inner) else _SPACES.split(inner.strip())
    if len(cells) > columns and not cells[-1]:
        cells.pop()
    return [cell.strip() for cell in cells[: _MAX_COLUMNS + 1]]


def _row(line: str, state: DialectState) -> LineValues | None:
    """The names of columns, or the numbers below them at the step or the epoch of the row."""
    names = state.get("cells", [])
    cells = _cells(line, len(names))
    above = state.pop("cells above", [])
    if len(above) == len(cells) and not any(map(_DIGIT.search, cells)):  # the names continue
        cells = [f"{first} {second}".strip() for first, second in zip(above, cells, strict=True)]
    if _is_heading(cells) and columns_of(tuple(cells)).counting is not None:
        if any(map(is_metric_name, cells)):
            state["cells"] = cells[:_MAX_COLUMNS]
            if "rows of cells" in state:
                state["rows of cells"]["at"] = 0
        else:
            state["cells above"] = cells[:_MAX_COLUMNS]
        return None
    if len(cells) == len(names) + 1 and has_no_fit(state) and all(map(_DIGIT.search, cells)):
        cells.pop()  # the heading was cut off before the last name
    elif len(cells) != len(names):
        if _COUNT.fullmatch(cells[0]) is not None:
            note_misfit(names, cells, state)
        return None
    else:
        note_fit(state)
    lower, counting, of_data = columns_of(tuple(names))
    if counting is None or not (counts := _counts(counting, cells)) or _is_printed_anew(line, state):
        return None
    trial = next((cell for name, cell in zip(names, cells, strict=True) if name.lower() in _TRIALS), None)
    split = evaluated_data([cells[column] for column in of_data])
    axis, step = axis_state(state), counts[min(counts)][0]
    if counting.epoch >= 0 and trial is None:
        at = step_of_row(counts, axis, is_of_evaluation=bool(split))
        step = step if at is None else at
    elif trial is None and not split and (counts_epochs_alone(axis) or "step" not in axis):
        axis["step"] = max(step, axis.get("step", step))  # at which lines below are
    if trial is not None and not _is_new(trial, step, state):
        return None
    subjects = subjects_of_row(names, cells, step, state if trial is None else {})
    values: dict[str, float] = {}
    for column, (name, cell) in enumerate(zip(names, cells, strict=True)):
        is_count = column == counting.step or (column == counting.epoch and len(counts) == 1)
        is_count |= column in subjects.no_metrics
        if not is_count and lower[column] != "loc":
            values |= _values_of_cell(name, cell)
    named = named_values(values, split, counts, step, axis, within_epochs=counting.epoch >= 0)
    labels = with_subjects(None, subjects) if trial is None else labels_of({"trial": trial[:200]})
    return LineValues(step, named, labels=with_data_set(labels, lower, cells))


def _values_of_cell(name: str, cell: str) -> dict[str, float]:
    """The number in a cell by the name of its column; those of a list as `recall`, `recall 2` and so on."""
    if cell.startswith("[") and _LIST.fullmatch(cell) is not None:
        numbers = [parse_number(text) for text in _BETWEEN_NUMBERS.split(cell.strip("[] "))]
        if None in numbers:
            return {}
        names = (name if not place else f"{name} {place + 1}" for place in range(len(numbers)))
        return {each: value for each, value in zip(names, numbers, strict=True) if value is not None}
    value = parse_number(_SPREAD.split(_REMARK.sub("", cell), maxsplit=1)[0])
    return {} if value is None else {name: value}


def _counts(counting: CountingColumns, cells: list[str]) -> dict[Counter, tuple[int, int]]:
    step, epoch = (_COUNT.fullmatch(cells[column]) for column in (counting.step, counting.epoch))
    return counts_of_row(counting, step and int(step[1]), epoch and int(epoch[1]))


def _bare_row(line: str, state: DialectState) -> LineResult:
    """The same of a line without outer bars, which may be any other line with bars."""
    names = state.get("cells", [])
    if len(_cells(line, len(names))) == len(names):
        return _row(line, state)
    return parse_plain_line(line, state)


def _is_heading(cells: list[str]) -> bool:
    """Whether cells may be the names of columns; of two, `| epoch | 3 |` is a name and its value."""
    if _COUNT.fullmatch(cells[0]) is not None:
        return False
    return len(cells) > _LEAST_COLUMNS or (
        len(cells) == _LEAST_COLUMNS
        and any(map(is_metric_name, cells))
        and not any(map(_DIGIT.search, cells))
    )


def _is_printed_anew(line: str, state: DialectState) -> bool:
    """Whether a row was in the table above: all of it is printed with each new row, from the first one on.

    Another launch begins with a row of its own, and may end up with the same rows.
    """
    row = crc32(line.strip().encode())
    table = state.setdefault("rows of cells", {"rows": [], "at": 0, "is anew": False})
    rows, at = table["rows"], table["at"]
    if at < len(rows) and rows[at] == row and (table["is anew"] or len(rows) <= _ROWS_OF_FIRST):
        table["at"], table["is anew"] = at + 1, True
        return True
    if at < len(rows):
        rows.clear()
        table["is anew"] = False
    if len(rows) < _MAX_ROWS:
        rows.append(row)
    table["at"] = len(rows)
    return False


def _is_new(trial: str, step: int, state: DialectState) -> bool:
    """Whether a trial is at another step than when its status was printed last."""
    steps = state.setdefault("trials", {})
    if steps.get(trial) == step or (trial not in steps and len(steps) >= _MAX_TRIALS):
        return False
    steps[trial] = step
    return True


def _result(line: str, state: DialectState) -> LineValues | None:
    """Begin the results of a trial."""
    state["result"] = {"trial": line.strip()[len("Result for ") :].rstrip(":")[:200], "values": {}}
    return None


def _value_of_result(line: str, state: DialectState) -> LineValues | None:
    """Add a value; the identifier of the trial is the last line of its results."""
    result = state.get("result")
    name, _, text = line.strip().partition(": ")
    if result is None:
        return None
    if name == "trial_id":
        del state["result"]
        values = result["values"]
        step = values.pop("training_iteration", None)
        trial = result["trial"]
        if step is None or step != int(step) or not _is_new(trial, int(step), state):
            return None
        return LineValues(int(step), values, labels=labels_of({"trial": trial}))
    value = parse_number(text)
    if value is not None and len(result["values"]) < _MAX_VALUES:
        result["values"].setdefault(name, value)
    return None


def _splits(line: str, state: DialectState) -> LineValues | None:
    state["splits"] = True
    return None


_SPLIT_ROW = re.compile(
    r"(?:^|\s)(?P<name>[\w/-]{1,100}) {1,80}\| {1,40}(?P<train>[-+.\w]{1,30}) {1,40}\|"
    r" {1,40}(?P<val>[-+.\w]{1,30}) *$"
)


def _split_row(line: str, state: DialectState) -> LineValues | None:
    """The values of a metric in training and validation, at the last step or the epoch above."""
    match, axis = _SPLIT_ROW.search(line), axis_state(state)
    step = axis.get("step", next(iter(axis.get("announced", ())), None))
    if match is None or "splits" not in state or step is None:
        return None
    pairs = ((f"training_{match['name']}", match["train"]), (f"validation_{match['name']}", match["val"]))
    values = {name: value for name, text in pairs if (value := parse_number(text)) is not None}
    return LineValues(int(step), values) if values else None


_VERTICAL = rb"(?:\||\xe2\x94[\x82\x83]|\xe2\x95\x91)"
_AXIS = (
    rb"(?:(?:global.)?(?:epoch|step|iter(?:ation)?)|episode|round|generation|"
    + words_in_encodings(COUNTERS)
    + rb")"
)
_METRIC = rb"(?:loss|acc|score|error|auc|rmse|reward|return|fitness|" + words_in_encodings(METRICS) + rb")"
_HEADING = re.compile(
    rb"(?im)^[ \t]{0,20}" + _VERTICAL + rb"(?=[^\n]{0,400}" + _METRIC + rb")"
    rb"(?:[^\n]{0,200}?[| \x82\x83\x91])?" + _AXIS + rb"[ \t]{0,40}(?:" + _VERTICAL + rb"|[ \t]{2}[a-z])"
)
_BARE_HEADING = (
    rb"(?im)^[ \t]{0,20}" + _AXIS + rb"[ \t]{0,40}\|[^\n:=\d]{0,400}" + _METRIC + rb"[^\n:=\d]{0,400}$"
)
"""A line of names without an outer bar at its beginning."""
_BARE_ROW = (
    rb"(?m)^[ \t]{0,20}"
    rb"\d{1,9}(?:[ \t]{0,8}/[ \t]{0,8}\d{1,9})?[ \t]{0,40}\|[ \t]{0,40}[-+\d.n]"
)
SPLIT_ROWS = (
    LineKind(pattern=re.compile(rb"Training \| {1,4}Validation"), parse=_splits),
    LineKind(
        pattern=re.compile(
            rb"(?m)\w {1,80}\| {1,40}[-\d.N/A]{1,30} {1,40}\| {1,40}[-\d.N/A]{1,30}[ \t]{0,40}$"
        ),
        parse=_split_row,
    ),
)
DIALECT = ConsoleDialect(
    name="cells",
    signature=re.compile(
        _HEADING.pattern
        + rb"|(?:"
        + _BARE_HEADING.removeprefix(b"(?im)")
        + rb")|(?m:^Result for [\w.-]{1,200}:$)|\| {1,20}Iteration {1,20}\| {1,20}Time Elapsed "
    ),
    kinds=(
        LineKind(pattern=re.compile(rb"(?m)^[ \t]{0,20}" + _VERTICAL + rb"[^\n]{0,40}[^\s|]"), parse=_row),
        LineKind(pattern=LinearPattern(_BARE_HEADING), parse=_row),
        LineKind(pattern=LinearPattern(_BARE_ROW), parse=_bare_row),
        LineKind(pattern=re.compile(rb"(?m)^Result for [\w.-]{1,200}:"), parse=_result),
        LineKind(
            pattern=re.compile(rb"(?m)^ {2,40}[\w/-]{1,100}: [-+\w.]{1,60}[ \t]{0,40}$"),
            parse=_value_of_result,
        ),
    ),
)
