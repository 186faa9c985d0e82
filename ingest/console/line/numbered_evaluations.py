"""Evaluations of which each step has several, distinguished by their numbers: `[ Test 0 ] PSNR: 29.5`.

The number may be that of the epoch as well, or count the evaluations: it is a label if a step has several.
"""

from __future__ import annotations

import re
from typing import Any, NamedTuple

_TAG = re.compile(
    r"(?i)[^\w\n]{0,20}\b(?P<data>test|val|valid|validation|eval|evaluation|dev)(?: ?set)?[ _#]{0,2}"
    r"(?P<number>-?\d{1,4})[ \t]{0,4}[\]):|][^\w\n]{0,8}(?=[A-Za-z])"
)
"""The data of an evaluation and its number, before the metrics of a line."""


class NumberedEvaluation(NamedTuple):
    """One of the evaluations of a step: of which data it is, and its number."""

    data: str
    number: str


def numbered_evaluation(line: str) -> NumberedEvaluation | None:
    """The evaluation that a line is of, if the line begins with its number."""
    found = _TAG.match(line)
    return None if found is None else NumberedEvaluation(found["data"].lower(), str(int(found["number"])))


def labels_of_evaluation(one: NumberedEvaluation, step: int, axis: dict[str, Any]) -> dict[str, str]:
    """The labels of the values of a numbered evaluation at a step."""
    known: dict[str, Any] = axis.setdefault("numbered evaluations", {}).setdefault(one.data, {})
    if known.get("at") == [step] and known["number"] != one.number:
        known["several"] = True
    known["at"], known["number"] = [step], one.number
    # if it counted the evaluations, it would hardly begin with zero behind the first steps
    is_one_of_several = "several" in known or (int(one.number) <= 0 and step > 1)
    return {one.data: one.number} if is_one_of_several else {}
