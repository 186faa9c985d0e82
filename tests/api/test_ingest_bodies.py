"""Ingest bodies are decoded to batches completely, or refused with location and reason of every error."""

from __future__ import annotations

import json
import math
from contextlib import suppress
from typing import Any

import msgspec
import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from holter.server.ingest_http import validate
from holter.server.ingest_http.body_limits import BodyError
from holter.server.ingest_http.json_body import LayoutCache
from holter.types import Batch, Delivery, SeriesKey

VALUES = st.one_of(st.none(), st.floats(), st.sampled_from(["NaN", "Infinity", "-Infinity"]))


def body(**parts: Any) -> bytes:
    return json.dumps({"project": "llm", "run": "a", **parts}).encode()


SHAPES = LayoutCache()


def from_json(content: bytes) -> Delivery:
    return validate.delivery_from_json(content, SHAPES)


def from_msgpack(content: bytes) -> Delivery:
    return validate.delivery_from_msgpack(content, SHAPES)


def word(value: float | str | None) -> float | str | None:
    if not isinstance(value, float) or math.isfinite(value):
        return value
    return "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"


def cells(batch: Batch) -> dict[tuple[SeriesKey, int], float]:
    """Every value by series and row."""
    return {
        (column.key, int(row)): value
        for column in batch.columns
        for row, value in zip(
            range(len(batch.steps)) if column.rows is None else column.rows.tolist(),
            column.values.tolist(),
            strict=True,
        )
    }


@given(st.lists(st.tuples(VALUES, VALUES), min_size=1, max_size=20))
def test_both_json_forms_and_msgpack_decode_to_the_same_batch(rows: list[tuple[Any, Any]]) -> None:
    steps = list(range(len(rows)))
    columns = {"loss": [word(a) for a, _ in rows], "lr": [word(b) for _, b in rows]}
    points = [
        {"step": step, "values": {"loss": columns["loss"][step], "lr": columns["lr"][step]}} for step in steps
    ]
    raw = []
    for metric, values in columns.items():
        logged_rows = [row for row, value in enumerate(values) if value is not None]
        numbers = np.array([float(values[row] or 0) for row in logged_rows], "<f8")
        raw.append(
            {"metric": metric, "values": numbers.tobytes(), "rows": np.array(logged_rows, "<i8").tobytes()}
        )
    packed = msgspec.msgpack.encode(
        {"project": "llm", "run": "a", "steps": np.array(steps, "<i8").tobytes(), "columns": raw}
    )
    if all(value is None for values in columns.values() for value in values):
        for read, content in ((from_json, body(points=points)), (from_msgpack, packed)):
            with pytest.raises(BodyError, match="at least one value"):
                read(content)
        return
    by_column = cells(from_json(body(columns={"step": steps, **columns})).batch)
    by_point = cells(from_json(body(points=points)).batch)
    binary = cells(from_msgpack(packed).batch)
    assert by_column.keys() == by_point.keys() == binary.keys()
    for place, value in by_column.items():
        for other in (by_point[place], binary[place]):
            assert value == other or (math.isnan(value) and math.isnan(other))


@pytest.mark.parametrize(
    ("content", "place", "reason"),
    [
        (b"", (), "truncated"),
        (b'{"project": "p", "run": "r", "columns": {"step": [1], "loss": [NaN]}}', (), '"NaN", "Infinity"'),
        (b"[]", (), "object"),
        (b"[" * 100_000, (), "object"),
        (body(), (), "either 'columns' or 'points'"),
        (body(columns={"loss": [1]}), ("columns", "step"), "a column 'step'"),
        (body(columns={"step": [1, 2.5], "loss": [1, 2]}), ("step", 1), "whole number"),
        (body(columns={"step": [None], "loss": [1]}), ("step", 0), "whole number"),
        (body(columns={"step": [2**60], "loss": [1]}), ("step", 0), "2**53"),
        (body(columns={"step": [1, 2], "loss": [1]}), ("columns", "loss"), "expected 2 values"),
        (body(columns={"step": [1], "loss": ["nan"]}), ("columns", "loss", 0), '"NaN", "Infinity"'),
        (body(columns={"step": [1], "loss": [True]}), ("columns", "loss", 0), "got `bool`"),
        (body(columns={"step": [1], "loss": 1}), ("columns", "loss"), "array"),
        (body(columns={"step": [1], "loss": [None]}), ("columns",), "at least one value"),
        (body(columns={"step": [1], "time": [1.7e12], "loss": [1]}), ("columns", "time"), "milliseconds"),
        (body(columns={"step": [1], "time": ["NaN"], "loss": [1]}), ("columns", "time"), "number or null"),
        (body(columns={"step": [1], "a\x00b": [1]}), ("columns", "a\x00b"), "control characters"),
        (body(points=[{"step": 1, "values": {"loss": "x"}}]), ("points", 0, "values", "loss"), "NaN"),
        (body(points=[{"values": {"loss": 1}}]), ("points", 0), "step"),
        (
            body(points=[{"step": 1, "values": {"loss": 1}}], labels={"rank": None}),
            ("labels", "rank"),
            "null",
        ),
        (
            body(columns={"step": [1], "a": [1]}, labels={"host": "n\x1b[2J"}),
            ("labels", "host"),
            "control characters",
        ),
        (
            body(columns={"step": [1], "a": [1]}, labels={"ho\nst": "n"}),
            ("labels", "ho\nst"),
            "control characters",
        ),
        (
            body(points=[{"step": 1, "values": {"loss": 1}}], labels={"host": "\x9b2J"}),
            ("labels", "host"),
            "control characters",
        ),
        (body(finished=True, labels={"host": "a\r\nb"}), ("labels", "host"), "control characters"),
        (body(finished=True, labels={"host": "a\u202eb"}), ("labels", "host"), "marks of direction"),
        (body(finished=True, run="a\u2066b"), ("run",), "marks of direction"),
        (body(finished=True, project="a\u200fb"), ("project",), "marks of direction"),
        (body(finished=True, writer="a\u2028b"), ("writer",), "line breaks"),
        (body(columns={"step": [1], "a\u202a": [1]}), ("columns", "a\u202a"), "marks of direction"),
        (
            body(settings=[{"name": "lr", "value": 1, "labels": {"host": "\x07"}}]),
            ("settings", 0, "labels", "host"),
            "control characters",
        ),
        (body(points=[{"step": 1, "values": {"loss": 1}}], colour="red"), (), "`colour`"),
        (body(points=[{"step": 1, "values": {"loss": 1}}], run=""), ("run",), "1 to 500"),
        (body(points=[{"step": 1, "values": {"loss": 1}}], batch_id="x" * 201), ("batch_id",), "1 to 200"),
    ],
)
def test_an_error_has_its_location(content: bytes, place: tuple[Any, ...], reason: str) -> None:
    with pytest.raises(BodyError) as refused:
        from_json(content)
    assert any(where == place and reason in why for where, why in refused.value.problems), (
        refused.value.problems
    )


def test_several_errors_are_reported_together() -> None:
    with pytest.raises(BodyError) as refused:
        from_json(body(columns={"step": [1], "time": [-1], "loss": [1]}, project="", writer=""))
    assert [place for place, _ in refused.value.problems] == [("project",), ("writer",), ("columns", "time")]


def test_writers_without_a_name_are_distinguished_by_their_labels() -> None:
    ranks = [from_json(body(columns={"step": [1], "x": [1]}, labels={"rank": rank})) for rank in (0, 1)]
    assert [one.writer for one in ranks] == ["http{rank=0}", "http{rank=1}"]


def test_a_batch_without_an_id_is_given_one() -> None:
    one, other = (from_json(body(columns={"step": [1], "x": [1]})).batch_id for _ in range(2))
    assert one != other


@pytest.mark.parametrize(
    ("change", "place"),
    [
        ({"steps": b"1234567"}, ("steps",)),
        ({"times": b"\0" * 8}, ("columns", "time")),
        ({"labels": {"host": "a\x1b"}}, ("labels", "host")),
        (
            {"columns": [{"metric": "x", "values": b"\0" * 16, "labels": {"host": "\x7f"}}]},
            ("labels", "host"),
        ),
        ({"columns": [{"metric": "loss", "values": b"\0" * 8}]}, ("columns", 0, "values")),
        ({"columns": [{"metric": "x", "values": b"\0" * 8, "rows": b"\xff" * 8}]}, ("columns", 0, "rows")),
        ({"columns": [{"metric": "x", "values": b"\0" * 16}] * 2}, ("columns", "x")),
    ],
)
def test_raw_buffers_that_do_not_fit_are_refused(change: dict[str, Any], place: tuple[Any, ...]) -> None:
    good = {"metric": "loss", "values": b"\0" * 16}
    fields = {"project": "llm", "run": "a", "steps": b"\0" * 16, "columns": [good]}
    assert from_msgpack(msgspec.msgpack.encode(fields)).batch.points == 2
    with pytest.raises(BodyError) as refused:
        from_msgpack(msgspec.msgpack.encode(fields | change))
    assert [where for where, _ in refused.value.problems] == [place]


@given(st.binary(max_size=200))
@example(b'{"project": "p", "run": "r", "columns": {"step": ["x"]},,')
@example(b'{"project": "p", "run": "r", "columns": {"step": ["x"]}, "\xff": 1}')
@example(b'{"project": "p", "run": "r", "columns": {"step": ' + b"[" * 100_000)
@example(b'{"project": "\xff"}')
@example(b"\x81\xa1\xff\x00")
def test_any_bytes_are_decoded_or_refused(content: bytes) -> None:
    for read in (from_json, from_msgpack):
        with pytest.raises(BodyError):
            read(content)


JSON = st.recursive(
    st.none() | st.booleans() | st.floats(allow_nan=False, allow_infinity=False) | st.integers() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=8,
)


@given(st.dictionaries(st.sampled_from(["columns", "points", "labels", "attempt", "writer", "time"]), JSON))
def test_any_json_is_decoded_or_refused(parts: dict[str, Any]) -> None:
    with suppress(BodyError):
        assert from_json(body(**parts)).batch.points > 0
