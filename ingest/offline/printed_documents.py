"""Reads the history that a program prints when it ends, as Python or JSON write it on a line.

`[{'loss': 1.2, 'acc': 0.5}, ...]`, `history = {'loss': [1.2, 0.9], ...}`, `{0: {'loss': 1.2}, ...}`. Where
lines above state the same step by step, these are read, and the history is not read again. For a file that
was given by hand.
"""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Iterator, Sequence
from pathlib import PurePath
from typing import Any, ClassVar

from holter.ingest.offline.json_tables import JsonTables, tables_of
from holter.ingest.offline.value_histories import rows_of_histories
from holter.ingest.offline.whole_file import WholeFile
from holter.types import Batch, SeriesKey, Unreadable

_LEAST_CHARACTERS = 40
_MOST_CHARACTERS = 4 * 2**20
_MOST_DOCUMENTS = 3
"""Histories that a program prints when it ends; more are something of each epoch."""
_LEAST_OF_LINES = 0.9
"""Of the lines of a text that are objects, each of which is a row."""
_BEGIN = re.compile(r"\[ ?\{|\{ ?['\"\d]")
_CALL = re.compile(
    r"(?<![\w.])(?:(?:np|numpy|torch|jnp)\.)?(?:float|u?int|tensor|array)\d{0,2}\(([^()]{0,60})\)"
)
_OPTION = re.compile(r", ?(?:dtype|device|grad_fn|requires_grad)=[\w.<>':]{1,60}")
_NOT_FINITE = re.compile(r"(?<=[\s,:\[])-?(?:nan|inf)(?=[\s,\]}])")
_SEVERAL = 2


class PrintedDocuments(WholeFile):
    """Histories on lines of a text, and the lines of a text that are all objects of Python."""

    name: ClassVar[str] = "printed-documents"

    def records(self, path: PurePath, text: str) -> Iterator[Batch | Unreadable]:
        """The rows of the histories, or of the lines around them if these have several steps."""
        lines = [line for line in text.splitlines() if line.strip()]
        documents = {number: document for number, line in enumerate(lines) if (document := _document(line))}
        rows = [
            document
            for number, document in documents.items()
            if isinstance(document, dict) and lines[number].lstrip().startswith("{")
        ]
        if len(rows) >= max(_MOST_DOCUMENTS, _LEAST_OF_LINES * len(lines)):
            if _have_several_steps([*self.read_lines(path, text.encode())]):
                return
            yield from JsonTables(self._lines).records(path, json.dumps(_joined(rows)))
            return
        histories = {
            number: document for number, document in documents.items() if _is_history(document, path.stem)
        }
        if not 0 < len(histories) <= _MOST_DOCUMENTS:
            return
        others = "".join(f"{line}\n" for number, line in enumerate(lines) if number not in histories)
        around = [*self.read_lines(path, others.encode())]
        if _have_several_steps(around):
            yield from around
            return
        for document in histories.values():
            yield from JsonTables(self._lines).records(path, json.dumps(document))


def _document(line: str) -> Any:
    """The object or list that a line ends with; None without any."""
    if not _LEAST_CHARACTERS <= len(line) <= _MOST_CHARACTERS or line[-1:] not in "]})":
        return None
    begin = _BEGIN.search(line)
    if begin is None:
        return None
    text = line[begin.start() :].rstrip(") ")
    if "(" in text:
        text = _CALL.sub(r"\1", _OPTION.sub("", text))
    text = _NOT_FINITE.sub("None", text)
    try:
        value = ast.literal_eval(text)
    except (ValueError, SyntaxError, MemoryError, RecursionError):
        return None
    return _with_texts_as_keys(value)


def _with_texts_as_keys(value: Any) -> Any:
    if isinstance(value, dict):
        return {str(key): _with_texts_as_keys(inner) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [_with_texts_as_keys(inner) for inner in value]
    return value if isinstance(value, int | float | str | bool) else None


def _joined(rows: Sequence[dict[str, Any]]) -> Any:
    """The rows as a list, or as an object whose keys count where each has another single key."""
    keys = [*{key for row in rows for key in row}]
    if all(len(row) == 1 for row in rows) and len(keys) == len(rows):
        return {key: value for row in rows for key, value in row.items()}
    return [*rows]


def _is_history(document: Any, stem: str) -> bool:
    """Whether a document has several rows, and is no settings or a result."""
    if any(len(table.records) > _SEVERAL for table in tables_of(document, stem)):
        return True
    return isinstance(document, dict) and bool(rows_of_histories(json.dumps(document), stem))


def _have_several_steps(found: Sequence[Batch | Unreadable]) -> bool:
    steps: dict[SeriesKey, set[int]] = {}
    for batch in (each for each in found if isinstance(each, Batch)):
        for column in batch.columns:
            steps.setdefault(column.key, set()).update(batch.steps_of(column).tolist())
    return any(len(each) >= _SEVERAL for each in steps.values())
