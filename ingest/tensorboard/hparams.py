"""Settings of a launch in event files: those of the plugin "hparams", and texts that contain settings."""

from __future__ import annotations

import re
import struct
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from holter.ingest.config_files.config_file import are_training_settings
from holter.ingest.config_files.parse import MAX_SETTINGS, bounded_settings, parse_mapping
from holter.ingest.tensorboard import protobuf
from holter.ingest.tensorboard.protobuf import FIXED64, LENGTH, VARINT, Field
from holter.ingest.tensorboard.records import Records
from holter.types import ConfigKey, ConfigValue

# field numbers of event.proto, summary.proto, tensor.proto, hparams' plugin_data.proto and struct.proto
_SUMMARY, _VALUE, _TAG, _TENSOR, _METADATA = 5, 1, 1, 8, 9
_PLUGIN, _NAME, _CONTENT, _STRINGS = 1, 1, 2, 8
_SESSION_START, _HPARAMS = 3, 1
_NUMBER, _TEXT, _BOOLEAN = 2, 3, 4

_MARKS = re.compile(rb"\x07hparams|\x04text")
MAX_TEXT_LENGTH = 1024 * 1024
_MAX_LINE_LENGTH = 200
_MAX_PENDING = 100
"""Texts of one line that are stored until enough of their tags are names of settings."""
_SUFFIX = "/text_summary"  # of torch and tensorboardX
_FENCES = (("```", "```"), ("<pre><code>", "</code></pre>"), ("<pre>", "</pre>"))
_RULE = re.compile(r"\|?\s*:?-+:?\s*\|[\s:|-]*")
_TAG_NAME = re.compile(r"[A-Za-z_]\w{1,60}")


class EventFileSettings:
    """Collects the settings in an event file before its first point. `state` is JSON-able and bounded.

    Settings are the sessions of hparams, and texts: JSON, YAML or a table of two columns in which at least
    two names are those of training settings (Trainer's `args` and `model_config`); or a text of one line
    per setting with its name as the tag (Megatron's arguments), once two of the tags are such names.
    """

    def __init__(self, state: Mapping[str, Any]) -> None:
        self._lines: dict[str, str] = dict(state.get("lines", {}))
        self._is_launch: bool = state.get("telling", False)

    def state(self) -> dict[str, Any]:
        """The texts that are stored until their tags decide."""
        return {
            **({"lines": dict(self._lines)} if self._lines else {}),
            **({"telling": True} if self._is_launch else {}),
        }

    def read(self, block: bytes, records: Records, before: int) -> dict[ConfigKey, ConfigValue]:
        """The settings in the records of a block, up to number `before`; later ones replace earlier ones."""
        settings: dict[ConfigKey, ConfigValue] = {}
        stop = int(records.end[before - 1]) if before else 0
        marks = [texts.start() for texts in _MARKS.finditer(block, 0, stop)]
        for index in np.unique(np.searchsorted(records.start[:before], marks, side="right") - 1).tolist():
            if index >= 0:
                for texts in self._read_event(block, int(records.start[index]), int(records.end[index])):
                    settings |= bounded_settings(texts)[0]
        return dict(list(settings.items())[:MAX_SETTINGS])

    def _read_event(self, block: bytes, start: int, end: int) -> Iterator[Mapping[str, Any]]:
        for summary in _fields(block, start, end, _SUMMARY):
            for value in _fields(block, summary.start, summary.end, _VALUE):
                yield from self._read_value(block, value)

    def _read_value(self, block: bytes, value: Field) -> Iterator[Mapping[str, Any]]:
        for metadata in _fields(block, value.start, value.end, _METADATA):
            for plugin in _fields(block, metadata.start, metadata.end, _PLUGIN):
                name = _bytes(block, plugin, _NAME)
                if name == b"hparams":
                    yield dict(_hparams(_bytes(block, plugin, _CONTENT)))
                elif name == b"text":
                    yield from self._read_text(_string(block, value, _TAG), _tensor_text(block, value))

    def _read_text(self, tag: str, text: str) -> Iterator[Mapping[str, Any]]:
        if not text or len(text) > MAX_TEXT_LENGTH:
            return
        settings = settings_in(text)
        if settings is not None:
            yield settings
            return
        name = tag.removesuffix(_SUFFIX)
        if "\n" in text or len(text) > _MAX_LINE_LENGTH or not _TAG_NAME.fullmatch(name):
            return
        if self._is_launch:
            yield {name: _plain(text)}
        elif len(self._lines) < _MAX_PENDING:
            self._lines[name] = text
            if are_training_settings(set(self._lines)):
                yield {tag_name: _plain(line) for tag_name, line in self._lines.items()}
                self._is_launch, self._lines = True, {}


def settings_in(text: str) -> Mapping[str, Any] | None:
    """The settings in a text; None if it is something else, or settings of something else."""
    inner = _unfenced(text.strip())
    settings = _table(inner)
    if settings is None and (inner.startswith("{") or "\n" in inner):
        suffix = ".json" if inner.startswith("{") else ".yaml"
        try:
            mapping = parse_mapping(suffix, inner.encode("utf-8", "replace"))
        except ValueError:  # larger than any settings
            return None
        settings = None if mapping is None else {str(name): value for name, value in mapping.items()}
    return settings if settings and are_training_settings(set(settings)) else None


def _unfenced(text: str) -> str:
    """The text without the marks of Markdown or HTML for preformatted text around it."""
    for begin, end in _FENCES:
        if text.startswith(begin) and text.endswith(end) and len(text) >= len(begin) + len(end):
            inner = text[len(begin) : len(text) - len(end)]
            if begin == "```":
                language, _, below = inner.partition("\n")
                inner = below if language.strip().isalnum() or not language.strip() else inner
            return inner.strip()
    return text


def _table(text: str) -> dict[str, Any] | None:
    """A Markdown table of two columns: a header, a rule, rows of name and value."""
    lines = text.splitlines()
    if len(lines) < 3 or not _RULE.fullmatch(lines[1][:_MAX_LINE_LENGTH].strip()):
        return None
    rows = [[cell.strip() for cell in line.strip().strip("|").split("|", 1)] for line in lines[2:]]
    return {row[0]: _plain(row[1]) for row in rows if len(row) == 2 and row[0]}


def _plain(text: str) -> ConfigValue:
    """A value as Python prints it: a number or a boolean if it is one, else the text."""
    if text in {"True", "False"}:
        return text == "True"
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return "" if text == "None" else text


def _hparams(content: bytes) -> Iterator[tuple[str, Any]]:
    """The settings at the start of a session: a map of names to google.protobuf.Value."""
    for session in _fields(content, 0, len(content), _SESSION_START):
        for entry in _fields(content, session.start, session.end, _HPARAMS):
            for value in _fields(content, entry.start, entry.end, 2):
                yield _string(content, entry, 1), _of_struct(content, value)


def _of_struct(content: bytes, value: Field) -> Any:
    for field in protobuf.fields(content, value.start, value.end):
        if (field.number, field.kind) == (_NUMBER, FIXED64):
            (number,) = struct.unpack("<d", content[field.start : field.end])
            return int(number) if number.is_integer() and abs(number) < 2**53 else number
        if (field.number, field.kind) == (_TEXT, LENGTH):
            return content[field.start : field.end].decode("utf-8", "replace")
        if (field.number, field.kind) == (_BOOLEAN, VARINT):
            return bool(field.value)
    return None


def _tensor_text(block: bytes, value: Field) -> str:
    """The first string of a tensor of strings."""
    for tensor in _fields(block, value.start, value.end, _TENSOR):
        return _string(block, tensor, _STRINGS)
    return ""


def _fields(data: bytes, start: int, end: int, number: int) -> Iterator[Field]:
    return (
        field for field in protobuf.fields(data, start, end) if (field.number, field.kind) == (number, LENGTH)
    )


def _bytes(data: bytes, within: Field, number: int) -> bytes:
    return next(
        (data[field.start : field.end] for field in _fields(data, within.start, within.end, number)), b""
    )


def _string(data: bytes, within: Field, number: int) -> str:
    return _bytes(data, within, number).decode("utf-8", "replace")
