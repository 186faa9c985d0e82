"""Parts below a record that names its data: `Liver: 0.7` below `Val Epoch 1, loss 6.1` is of the evaluation.

Below such a record, unlike below a heading, may be anything, such as what is printed once for all data. Lines
are of the evaluation above them if lines of the same names were below the training's record of that step;
later ones of these names are, too. Where the evaluation is printed first, its first parts are known for such
as those of the training come.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from typing import Any

from holter.ingest.console.line.line_counters import Counter
from holter.ingest.console.line.line_settings import is_setting
from holter.ingest.console.line.line_words import EVALUATIONS

_MOST_NAMES = 256
_MOST_LAYOUTS = 64
_LEAST_HEADED = 3
"""Headings of the same data above all lines of a layout, which show that it is always of this data."""
_OF_SEVERAL = 0
"""The number of headings of a layout that came without one, or below those of other data."""
_OF_ALL_DATA = re.compile(r"(?i)eval")
_TRAINING_AHEAD = re.compile(
    r"(?:^|[\s\[(|])(?:[Tt]rain(?:ing)?|TRAIN(?:ING)?)[\])]?(?: (?:set|data))?[ \t]{0,4}[-:|>]{1,2} $"
)
"""What a line states of its own data before its first metric: `Train - Loss: 9.2`; no logger's name."""
BEGINS_TRAINING = (
    r"(?:start|begin|resum|continu)(?:n?ing|e)?(?: the)?(?: model)? train(?:ing)?(?: (?:loop|phase|now))?"
    r"[^\w\n]{0,20}$"
)
"""What ends an evaluation before the training: `Starting training...`."""
_TRAINING_BEGINS = re.compile(rf"(?i)(?:.{{0,120}}[ \]>:-]|[^\w\n]{{0,20}}){BEGINS_TRAINING}")
_DATA_OF_NAME = re.compile(rf"(?i)(?:train(?:ing)?|trn|(?P<evaluation>{EVALUATIONS}))(?=[ _/-]|$)")


def begins_training(line: str) -> bool:
    """Whether a line states that the training begins."""
    return _TRAINING_BEGINS.fullmatch(line) is not None


def heading_of_line(text: str, state: dict[str, Any]) -> str:
    """The data of the heading that a line is below, by the text before its first metric.

    It is none if the line is of the training by its own words, unlike the data of the heading.
    """
    data: str = state.get("evaluating", "")
    is_of_training = _TRAINING_AHEAD.search(text) is not None
    return "" if is_of_training and _OF_ALL_DATA.match(data) is None else data


def heading_of_layout(layout: str, data: str, state: dict[str, Any]) -> str:
    """The data of a line: `data` of the heading that it is below, or that of the headings of all before it.

    Lines of one layout that all came below headings of the same data are of this data without one, too:
    programs evaluate once more at the end and announce nothing.
    """
    layouts: dict[str, list[Any]] = state.setdefault("layouts below headings", {})
    known = layouts.get(layout)
    if known is None:
        if len(layouts) < _MOST_LAYOUTS:
            layouts[layout] = [data, 1 if data else _OF_SEVERAL]
        return data
    if not data and known[1] >= _LEAST_HEADED:
        return str(known[0])
    known[1] = known[1] + 1 if data == known[0] and known[1] != _OF_SEVERAL else _OF_SEVERAL
    return data


def note_evaluation(data: str, state: dict[str, Any]) -> None:
    """Note a record of an evaluation, whose parts may be below it."""
    state["evaluated above"] = data
    state["evaluated since"] = True  # the last step of the training


def has_results(state: dict[str, Any]) -> bool:
    """Whether results were read below the heading of an evaluation, or others named their data themselves."""
    return "evaluated above" in state or "names its data" in state


def note_data(stated: str, name: str, state: dict[str, Any]) -> None:
    """Note the data of a line that counts nothing, by what it states or its first name: `Val loss: 0.5`.

    Other lines are of the evaluation that a heading above them announces.
    """
    of_name = _DATA_OF_NAME.match(name)
    data = stated or (of_name["evaluation"] or "" if of_name is not None else "").lower()
    if data:
        note_evaluation(data, state)
        state["names its data"] = True
    elif of_name is not None:
        end_parts(state)
    elif "evaluating" in state:
        note_evaluation(state["evaluating"], state)


def is_heading_of_evaluation(counts: Mapping[Counter, tuple[int, int]], state: dict[str, Any]) -> bool:
    """Whether a heading counts a batch of the evaluation above it, not one of the training.

    The training continues with later batches, or below the heading of an epoch. A total shows more. Where the
    training states the step of all, a step alone is one of the evaluation.
    """
    if "evaluating" in state and "global" in state and counts.keys() == {Counter.STEP}:
        return True
    if "evaluating" not in state or state.get("headings", 1) > 1 or "epoch" not in state:
        return False
    if counts.keys() not in ({Counter.BATCH}, {Counter.STEP}) or "announced" not in state:
        return False
    [(number, total)] = counts.values()
    return not total and number <= state["epoch"][1] and state["epoch"][0] == state["announced"][0]


def end_evaluation(state: dict[str, Any]) -> None:
    """Note that the training continues: what follows is of no evaluation."""
    state.pop("evaluating", None)
    end_parts(state)


def end_parts(state: dict[str, Any]) -> None:
    """Note that what follows is not below the record of an evaluation."""
    state.pop("evaluated above", None)


def data_of_parts(names: Collection[str], step: int, state: dict[str, Any]) -> str:
    """The data of the record above a line that counts nothing and has values of these names, if it has parts.

    `parts` has the last steps at which names were below the training, `parts of both` those that are below
    evaluations, too.
    """
    steps: dict[str, int] = state.setdefault("parts", {})
    data: str = state.get("evaluated above", "")
    if not data:
        for name in names:
            if name in steps or len(steps) < _MOST_NAMES:
                steps[name] = step
        return ""
    both: list[str] = state.get("parts of both", [])
    if all(map(is_setting, names)) or not any(name in both or steps.get(name) == step for name in names):
        return ""
    state["parts of both"] = [*dict.fromkeys((*both, *steps.keys() & {*names}))]
    return data


def parts_of_evaluation(
    values: Mapping[str, float], step: int, state: dict[str, Any]
) -> dict[str, float] | None:
    """The values of the evaluation of a step whose line had the names of this one of the training.

    `values` are those of a line that counts nothing, below the record of an evaluation or of the training.
    """
    data = state.get("evaluated above", "")
    if data:
        state["first parts"] = [step, data, dict(values)]
        return None
    at, data, first = state.get("first parts", (None, "", {}))
    if at != step or first.keys() != values.keys() or all(map(is_setting, values)):
        return None
    del state["first parts"]
    state["parts of both"] = [*dict.fromkeys((*state.get("parts of both", ()), *values))]
    return {f"{data}/{name}": value for name, value in first.items()}
