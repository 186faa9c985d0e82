"""Trials of a search for settings: `Trial 3 finished with value: 0.41 and parameters: {'lr': 0.01}.`

Their numbers are steps of their own, next to those of the training in each. Trials that run side by side
finish in another order: one that does behind a later one is at the step behind it. Later studies have labels.
"""

from __future__ import annotations

import re
from typing import Any

from holter.ingest.console.dialect import DialectState, LineKind, LineValues
from holter.ingest.console.text.values import parse_number, parse_time
from holter.types import labels_of

_TRIAL = re.compile(
    r"\bTrial (?P<number>\d{1,9}) finished with values?: \[?"
    r"(?P<values>[-+]?[\w.+-]{1,40}(?:, [-+]?[\w.+-]{1,40}){0,15})\]? and parameters: "
)


def _studies(state: DialectState) -> dict[str, Any]:
    """The number of the study of this launch, and the step of its last trial."""
    studies: dict[str, Any] = state.setdefault("studies", {"number": 1, "step": -1})
    return studies


def _study(line: str, state: DialectState) -> None:
    """Note that another study begins, if the one before has trials."""
    studies = _studies(state)
    if studies["step"] >= 0:
        state["studies"] = {"number": studies["number"] + 1, "step": -1}


def _begin_launch(state: DialectState) -> None:
    """Forget the studies of the launch before."""
    state.pop("studies", None)


def _trial(line: str, state: DialectState) -> LineValues | None:
    """The value of a trial, or those of several objectives in the order of these."""
    match = _TRIAL.search(line)
    if match is None:
        return None
    numbers = [parse_number(text) for text in match["values"].split(", ")]
    names = ["trial/value"] if len(numbers) == 1 else [f"trial/value {at}" for at in range(len(numbers))]
    values = {name: number for name, number in zip(names, numbers, strict=True) if number is not None}
    studies = _studies(state)
    studies["step"] = max(int(match["number"]), studies["step"] + 1)
    labels = labels_of({"study": str(studies["number"])}) if studies["number"] > 1 else None
    return LineValues(studies["step"], values, parse_time(line), labels)


FINISHED_TRIAL = re.compile(rb"\bTrial \d{1,9} finished with values?: [^\n]{1,400}? and parameters: ")
TRIALS = (
    LineKind(pattern=FINISHED_TRIAL, parse=_trial, begin_launch=_begin_launch, own_steps=True),
    LineKind(pattern=re.compile(rb"\] A new study created "), parse=_study),
)
