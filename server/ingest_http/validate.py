"""What arrives over HTTP becomes a delivery, whole, or is refused with a reason for each field."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from uuid import uuid4

import msgspec
import numpy as np

from holter.attempts.config_values import flatten_settings, to_config_value
from holter.server.ingest_http.binary_body import bodies_in, parse_msgpack
from holter.server.ingest_http.json_body import BodyError, Header, Problem, Shapes, Where, parse_json
from holter.types import NO_CONFIG, Batch, Config, ConfigKey, Delivery, DenseColumns, SeriesKey, labels_of

NAME_LIMIT = 200
LONG_NAME_LIMIT = 500
WRITER_LIMIT = 1000
TIME_LIMIT = 1e11  # the year 5138 in seconds: milliseconds of today lie beyond it
_CONTROL = re.compile(r"[\x00-\x1f\x7f]")


def from_json(body: bytes, shapes: Shapes) -> Delivery:
    """The delivery of a JSON body, in columns or in points. Raises BodyError."""
    return _intake(*parse_json(body, shapes), shapes)


def from_msgpack(body: bytes | msgspec.Raw, shapes: Shapes) -> Delivery:
    """The delivery of a msgpack body with raw little-endian buffers. Raises BodyError."""
    return _intake(*parse_msgpack(body, shapes), shapes)


def several_from_msgpack(content: bytes, shapes: Shapes) -> list[Delivery]:
    """The deliveries of a msgpack body, or of an array of such. Raises BodyError."""
    bodies = bodies_in(content)
    if len(bodies) == 1 and bodies[0] is content:
        return [from_msgpack(content, shapes)]
    found, problems = [], list[Problem]()
    for number, body in enumerate(bodies):
        try:
            found.append(from_msgpack(body, shapes))
        except BodyError as error:
            problems += [((number, *place), reason) for place, reason in error.problems]
    if problems or not found:
        raise BodyError(problems or [((), "expected at least one body in the array")])
    return found


def _intake(header: Header, batch: Batch, place: Where, shapes: Shapes) -> Delivery:
    shape = batch.columns.shape if isinstance(batch.columns, DenseColumns) else None
    known = shape is not None and shapes.knows(shape)
    keys = shape.keys if shape is not None else [column.key for column in batch.columns]
    series = () if known else _series(keys, place)
    if problems := [*_names(header), *series, *_rows(batch, place, header)]:
        raise BodyError(problems)
    if shape is not None and not known:
        shapes.keep(shape)
    batch = replace(
        batch,
        columns=batch.columns if shape else tuple(one for one in batch.columns if len(one.values)),
        attempt=None if header.attempt is None else str(header.attempt),
        restarts=header.restarts,
        config=_config(header) if header.states else NO_CONFIG,
    )
    return Delivery(
        project=header.project,
        run=header.run,
        # without a word of its own a writer is known by its labels: ranks side by side are several
        writer=header.writer or str(SeriesKey("http", labels_of(header.labels))),
        batch_id=header.batch_id or uuid4().hex,
        batch=batch,
        finished=header.finished,
    )


def _config(header: Header) -> Config:
    """What a body says of its launch: the job's settings without labels, those of processes with theirs."""
    job = {ConfigKey(name): value for name, value in flatten_settings(header.config).items()}
    own = {ConfigKey(one.name, labels_of(one.labels)): to_config_value(one.value) for one in header.settings}
    return job | own


def _names(header: Header) -> Iterator[Problem]:
    yield from _name(("project",), header.project, NAME_LIMIT)
    yield from _name(("run",), header.run, LONG_NAME_LIMIT)
    if header.attempt is not None:
        yield from _name(("attempt",), str(header.attempt), NAME_LIMIT)
    if header.writer is not None:
        yield from _name(("writer",), header.writer, WRITER_LIMIT)
    if header.batch_id is not None:
        yield from _name(("batch_id",), header.batch_id, NAME_LIMIT)


def _name(place: Where, name: str, limit: int) -> Iterator[Problem]:
    if not 0 < len(name) <= limit or _CONTROL.search(name):
        yield place, f"expected 1 to {limit} characters, none of them control characters"


def _series(keys: Sequence[SeriesKey], place: Where) -> Iterator[Problem]:
    if not any(key.labels for key in keys) and _are_names([key.metric for key in keys]):
        return
    seen: set[SeriesKey] = set()
    for key in keys:
        yield from _name((*place, key.metric), key.metric, LONG_NAME_LIMIT)
        for name, value in key.labels:
            yield from _name(("labels", name), name, NAME_LIMIT)
            yield from _name(("labels", name), value, NAME_LIMIT)
        if key in seen:
            yield (*place, key.metric), f"expected the series {key} once"
        seen.add(key)


def _are_names(metrics: Sequence[str]) -> bool:
    """Whether all of these are names, and each stands once: thousands are looked at as one text."""
    lengths = [len(metric) for metric in metrics]
    return (
        min(lengths, default=1) > 0
        and max(lengths, default=1) <= LONG_NAME_LIMIT
        and not _CONTROL.search("".join(metrics))
        and len(set(metrics)) == len(metrics)
    )


def _rows(batch: Batch, place: Where, header: Header) -> Iterator[Problem]:
    if not batch.points and not header.finished and not header.states:
        yield place, "expected at least one value"
    if len(batch.times) != len(batch.steps):
        yield (
            (*place, "time"),
            f"expected {len(batch.steps)} values, one for each step, got {len(batch.times)}",
        )
    wrong = batch.times[~(np.isnan(batch.times) | ((batch.times >= 0) & (batch.times < TIME_LIMIT)))]
    if len(wrong):
        yield (*place, "time"), f"expected Unix seconds, got {wrong[0]:g} (milliseconds?)"
