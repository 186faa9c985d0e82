"""Validates bodies and converts them to deliveries; errors name each invalid field."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import chain
from uuid import uuid4

import msgspec
import numpy as np

from holter.attempts.config_values import flatten_settings, to_config_value
from holter.server.ingest_http.binary_body import parse_msgpack, split_bodies
from holter.server.ingest_http.body_limits import (
    MAX_PROBLEMS,
    BodyError,
    FieldPath,
    FieldProblem,
    check_label_count,
)
from holter.server.ingest_http.json_body import BodyHeader, LayoutCache, parse_json
from holter.terminal_text import UNSAFE, is_invisible
from holter.types import (
    NO_CONFIG,
    Batch,
    Config,
    ConfigKey,
    Delivery,
    DenseColumns,
    Labels,
    SeriesKey,
    labels_of,
)

MAX_NAME_LENGTH = 200
MAX_LONG_NAME_LENGTH = 500
MAX_WRITER_LENGTH = 1000
MAX_TIME = 1e11  # the year 5138 in seconds: milliseconds are beyond it


def delivery_from_json(body: bytes, layouts: LayoutCache) -> Delivery:
    """Return the delivery of a JSON body, in columns or in rows. Raises BodyError."""
    return _build_delivery(*parse_json(body, layouts), layouts)


def delivery_from_msgpack(body: bytes | msgspec.Raw, layouts: LayoutCache) -> Delivery:
    """Return the delivery of a msgpack body with raw little-endian buffers. Raises BodyError."""
    return _build_delivery(*parse_msgpack(body, layouts), layouts)


def deliveries_from_msgpack(content: bytes, layouts: LayoutCache) -> list[Delivery]:
    """Return the deliveries of a msgpack body, or of an array of them. Raises BodyError."""
    bodies = split_bodies(content)
    if len(bodies) == 1 and bodies[0] is content:
        return [delivery_from_msgpack(content, layouts)]
    deliveries, problems = [], list[FieldProblem]()
    for index, body in enumerate(bodies):
        try:
            deliveries.append(delivery_from_msgpack(body, layouts))
        except BodyError as error:
            problems += [((index, *path), reason) for path, reason in error.problems]
            if len(problems) >= MAX_PROBLEMS:
                break
    if problems or not deliveries:
        raise BodyError(problems or [((), "expected at least one body in the array")])
    return deliveries


def _build_delivery(header: BodyHeader, batch: Batch, path: FieldPath, layouts: LayoutCache) -> Delivery:
    check_label_count(len(header.labels), ("labels",))
    layout = batch.columns.layout if isinstance(batch.columns, DenseColumns) else None
    is_valid = layout is not None and layouts.is_valid(layout)
    keys = layout.keys if layout is not None else [column.key for column in batch.columns]
    series = () if is_valid else _check_series(keys, path, labels_of(header.labels))
    problems = chain(_check_names(header), series, _check_rows(batch, path, header))
    if (first := next(problems, None)) is not None:
        raise BodyError(chain([first], problems))
    if layout is not None and not is_valid:
        layouts.add(layout)
    batch = replace(
        batch,
        columns=batch.columns if layout else tuple(column for column in batch.columns if len(column.values)),
        attempt=None if header.attempt is None else str(header.attempt),
        restarts=header.restarts,
        config=_config(header) if header.has_config else NO_CONFIG,
    )
    return Delivery(
        project=header.project,
        run=header.run,
        # without a name a writer is identified by its labels: parallel ranks are several writers
        writer=header.writer or str(SeriesKey("http", labels_of(header.labels))),
        batch_id=header.batch_id or uuid4().hex,
        batch=batch,
        finished=header.finished,
    )


def _config(header: BodyHeader) -> Config:
    """Return the launch configuration of a body: the job's settings without labels, those of processes with
    theirs.
    """
    job_settings = {ConfigKey(name): value for name, value in flatten_settings(header.config).items()}
    process_settings = {
        ConfigKey(setting.name, labels_of(setting.labels)): to_config_value(setting.value)
        for setting in header.settings
    }
    return job_settings | process_settings


def _check_names(header: BodyHeader) -> Iterator[FieldProblem]:
    yield from _check_name(("project",), header.project, MAX_NAME_LENGTH)
    yield from _check_name(("run",), header.run, MAX_LONG_NAME_LENGTH)
    if header.attempt is not None:
        yield from _check_name(("attempt",), str(header.attempt), MAX_NAME_LENGTH)
    if header.writer is not None:
        yield from _check_name(("writer",), header.writer, MAX_WRITER_LENGTH)
    if header.batch_id is not None:
        yield from _check_name(("batch_id",), header.batch_id, MAX_NAME_LENGTH)
    yield from _check_labels(("labels",), labels_of(header.labels))
    for index, setting in enumerate(header.settings):
        check_label_count(len(setting.labels), ("settings", index, "labels"))
        yield from _check_labels(("settings", index, "labels"), labels_of(setting.labels))


def _check_labels(path: FieldPath, labels: Labels) -> Iterator[FieldProblem]:
    for name, value in labels:
        yield from _check_name((*path, name), name, MAX_NAME_LENGTH)
        yield from _check_name((*path, name), value, MAX_NAME_LENGTH)


def _check_name(path: FieldPath, name: str, limit: int) -> Iterator[FieldProblem]:
    if not 0 < len(name) <= limit or UNSAFE.search(name):
        yield (
            path,
            f"expected 1 to {limit} characters, without control characters, line breaks, marks of direction",
        )
    elif not name.isascii() and is_invisible(name):
        yield path, "expected at least one visible character, found only zero-width characters or spaces"


def _check_series(keys: Sequence[SeriesKey], path: FieldPath, common: Labels) -> Iterator[FieldProblem]:
    """The problems of series; the labels `common` to all of them are checked elsewhere."""
    if not any(key.labels for key in keys) and _are_valid_names([key.metric for key in keys]):
        return
    seen: set[SeriesKey] = set()
    for key in keys:
        yield from _check_name((*path, key.metric), key.metric, MAX_LONG_NAME_LENGTH)
        if key.labels != common:
            own = tuple(label for label in key.labels if label not in common)
            yield from _check_labels(("labels",), own)
        if key in seen:
            yield (*path, key.metric), f"expected the series {key} once"
        seen.add(key)


def _are_valid_names(metrics: Sequence[str]) -> bool:
    """Whether all of these are valid, unique names; thousands are checked as one joined string."""
    lengths = [len(metric) for metric in metrics]
    return (
        min(lengths, default=1) > 0
        and max(lengths, default=1) <= MAX_LONG_NAME_LENGTH
        and not UNSAFE.search("".join(metrics))
        and not any(is_invisible(metric) for metric in metrics if not metric.isascii())
        and len(set(metrics)) == len(metrics)
    )


def _check_rows(batch: Batch, path: FieldPath, header: BodyHeader) -> Iterator[FieldProblem]:
    if not batch.points and not header.finished and not header.has_config:
        yield path, "expected at least one value"
    if len(batch.times) != len(batch.steps):
        yield (
            (*path, "time"),
            f"expected {len(batch.steps)} values, one for each step, got {len(batch.times)}",
        )
    invalid = batch.times[~(np.isnan(batch.times) | ((batch.times >= 0) & (batch.times < MAX_TIME)))]
    if len(invalid):
        yield (*path, "time"), f"expected Unix seconds, got {invalid[0]:g} (milliseconds?)"
