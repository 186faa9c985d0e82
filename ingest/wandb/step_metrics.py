"""Which metric is the training step, as `run.define_metric` or the framework says.

The client's own counter `_step` counts calls of `run.log`, which are fewer than training steps. A run has one
axis: it is the metric that is defined as the step of all metrics, else the first one that is defined as the
step of some and is named like a step (epochs, tokens and samples are not), else one that frameworks log.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from holter.ingest.step_columns import LARGEST_STEP

COUNTER = "_step"
FRAMEWORK_STEPS = ("train/global_step", "trainer/global_step", "global_step", "iter")
"""Metrics that are the training step without being defined as one: of HF Trainer, Lightning, nanoGPT."""
_STEP_WORDS = re.compile(r"(?i)(?:steps?|(?:^|[/._\- ])(?:iter(?:ation)?s?|num_updates|updates?))$")
_NAME, _GLOB, _STEP_NAME, _STEP_INDEX = "1", "2", "4", "5"  # numbers of the fields in a metric record


class TrainingStep:
    """Finds the training step of rows. `latest` is the newest value of the step metric, None before any.

    `counted`: rows of the launch came before that had no step metric. A framework's metric that comes after
    them, and is below the counter, is not the step: the counter is.
    """

    def __init__(self, defined: str | None, latest: int | None, *, counted: bool = False) -> None:
        self._defined = defined
        self._names = (defined, *FRAMEWORK_STEPS) if defined else FRAMEWORK_STEPS
        self.latest = latest
        self.counted = counted

    def of(self, counter: int, values: Mapping[str, float]) -> int:
        """The training step of a row; where its metric is missing, the latest one; else the counter."""
        for name in self._names:
            value = values.get(name)
            if value is None or not 0 <= value <= LARGEST_STEP or value != int(value):
                continue
            begins_late = self.latest is None and self.counted and value < counter
            if name == self._defined or not begins_late:
                self.latest = int(value)
                break
        self.counted = self.counted or self.latest is None
        return counter if self.latest is None else self.latest


def defined_step(definitions: object) -> str | None:
    """The training step among the definitions of a configuration: metric records by numbers of fields."""
    records = [one for one in definitions if isinstance(one, dict)] if isinstance(definitions, list) else []
    steps = [(record.get(_GLOB) == "*", _step_name(record, records)) for record in records]
    of_all = (name for is_all, name in steps if is_all and name)
    of_some = (name for _, name in steps if name and is_step_name(name))
    return next(of_all, None) or next(of_some, None)


def definition(name: str, glob: str, step_metric: str) -> dict[str, str]:
    """The definition of a metric as it is in a configuration, without what says nothing about steps."""
    return {_NAME: name, _GLOB: glob, _STEP_NAME: step_metric}


def is_step_name(name: str) -> bool:
    """Whether a metric is named like a training step."""
    return _STEP_WORDS.search(name) is not None


def _step_name(record: Mapping[str, Any], records: list[dict[str, Any]]) -> str | None:
    """The step metric of a record: by name, or by its index in the list, from 1."""
    name, index = record.get(_STEP_NAME), record.get(_STEP_INDEX)
    if isinstance(index, int) and 0 < index <= len(records):
        name = records[index - 1].get(_NAME)
    if not isinstance(name, str) or name == COUNTER:
        return None
    return name.replace("\\.", ".")
