"""JSON objects in lines that have settings next to what is measured: `stats: {"fast": true, "loss": 0.5}`."""

from __future__ import annotations

import json
import re

from holter.ingest.console.line.classes_behind import with_class_ahead
from holter.ingest.console.line.data_behind_numbers import with_data_ahead
from holter.ingest.console.line.first_position import with_first_position
from holter.ingest.console.line.line_settings import has_settings
from holter.ingest.console.line.number_lists import without_quotes, written_out
from holter.ingest.json_objects import flatten_object, json_number
from holter.ingest.metric_names import is_metric_name
from holter.ingest.step_columns import find_step

_BEGIN = '{"'
_SETTING = re.compile(r"\": ?(?:true|false|null|\"[A-Za-z])")
_DECAY = re.compile(r"(?i)decay")
"""A word for how a rate is set to fall, next to that of the rate itself."""
_PARAMETERS = re.compile(r"(?i)(\b(?:hyper-?)?param(?:eter)?s?)['\"]? ?[:=]? ?\{[^{}\n]{0,1000}\}(?! *$)")
"""Parameters of a model before what is stated of it: `Best params: {'lr': 0.1}, score: 0.8`."""
_LEAST_SETTINGS = 3
"""So many words and flags make a line one of settings: else it is read as any other line."""


def without_settings(line: str) -> str:
    """The line with nothing but the step and the metrics in its object, if that has settings, too."""
    begin = line.find(_BEGIN)
    if begin <= 0 or len(_SETTING.findall(line, begin)) < _LEAST_SETTINGS:
        return line
    try:
        fields = dict(flatten_object(json.loads(line[begin:])))
    except (ValueError, AttributeError, RecursionError):
        return line
    step = find_step(list(fields))
    kept = {
        name: value
        for name, value in fields.items()
        if json_number(value) is not None
        and (name == step or (is_metric_name(name) and not (has_settings([name]) or _DECAY.search(name))))
    }
    return line[:begin] + json.dumps(kept) if step in kept and len(kept) > 1 else line


def as_read(line: str) -> str:
    """The line as its numbers are read: without parameters, dictionaries are plain, numbers have no quotes.

    `init` is 0, the class of a row is before its scores, and data in brackets before their values.
    """
    line = _PARAMETERS.sub(r"\1", line) if "{" in line else line
    line = with_first_position(with_class_ahead(line))
    return without_settings(without_quotes(written_out(with_data_ahead(line))))
