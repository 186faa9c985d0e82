"""Small bodies that would take much memory or time are refused before decoding, or decoded cheaply."""

from __future__ import annotations

import subprocess
import sys
import tracemalloc
from collections.abc import Callable

import msgspec
import pytest
import zstandard

from holter.server.ingest_http import validate
from holter.server.ingest_http.body_limits import MAX_BODIES, MAX_JSON_ITEMS, MAX_SERIES, BodyError
from holter.server.ingest_http.compression import TooLargeError, decompress
from holter.server.ingest_http.json_body import LayoutCache

HEAD = b'{"project":"p","run":"r",'
MIB = 2**20


def peak_memory(work: Callable[[], object]) -> int:
    """The most bytes that Python and numpy have allocated at once during `work`."""
    tracemalloc.start()
    try:
        work()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def refusal(content: bytes, *, binary: bool = False) -> str:
    """Why a body is refused."""
    parse = validate.deliveries_from_msgpack if binary else validate.delivery_from_json
    with pytest.raises(BodyError) as refused:
        parse(content, LayoutCache())
    return str(refused.value)


def packed(**fields: object) -> bytes:
    return msgspec.msgpack.encode({"project": "p", "run": "r", **fields})


def test_points_with_different_names_take_memory_for_their_values_only() -> None:
    rows = b",".join(b'{"step":%d,"values":{"a%d":1}}' % (step, step) for step in range(3000))
    body = HEAD + b'"points":[' + rows + b"]}"
    decoded = []
    peak = peak_memory(lambda: decoded.append(validate.delivery_from_json(body, LayoutCache())))
    assert decoded[0].batch.points == 3000
    assert peak < 10 * MIB  # 72 MiB with a cell for each name at each row


@pytest.mark.parametrize("item", [b"0,", b"{},", b"[],", b"[[[[[[]]]]]],"])
def test_json_with_too_many_values_is_refused_before_it_is_decoded(item: bytes) -> None:
    count = MAX_JSON_ITEMS + 1
    body = HEAD + b'"config":{"a":[' + item * count + b"0]}}"
    assert "expected at most 1,000,000 values" in refusal(body)
    assert peak_memory(lambda: refusal(body)) < MIB


@pytest.mark.parametrize("field", ["columns", "metrics"])
def test_too_many_series_are_refused_before_they_are_decoded(field: str) -> None:
    item: object = {"metric": "a", "values": b""} if field == "columns" else "a"
    body = packed(**{field: [item] * (MAX_SERIES + 1)})
    assert f"{field}: expected at most 100,000 series" in refusal(body, binary=True)
    assert peak_memory(lambda: refusal(body, binary=True)) < MIB


@pytest.mark.slow
def test_too_many_series_in_json_are_refused() -> None:
    names = b",".join(b'"a%d":[1]' % number for number in range(MAX_SERIES + 1))
    assert "expected at most 100,000 series" in refusal(HEAD + b'"columns":{"step":[1],' + names + b"}}")
    names = b",".join(b'"a%d":1' % number for number in range(MAX_SERIES + 1))
    rows = b'[{"step":1,"values":{' + names + b"}}]"
    assert "expected at most 100,000 series" in refusal(HEAD + b'"points":' + rows + b"}")


@pytest.mark.parametrize("field", ["config", "labels", "settings"])
def test_large_settings_are_refused_before_they_are_decoded(field: str) -> None:
    content = b"\xdd\x00\x20\x00\x00" + b"\x80" * 2**21  # an array of two million empty maps
    key = msgspec.msgpack.encode(field)
    body = b"\x84" + packed()[1:] + key + content + key + b"\x80"  # its key twice: the last one counts
    assert "missing" not in refusal(b"\x83" + packed()[1:] + key + content, binary=True)
    assert f"{field}: expected at most 1,048,576 bytes" in refusal(
        b"\x83" + packed()[1:] + key + content, binary=True
    )
    assert peak_memory(lambda: refusal(body, binary=True)) < MIB


def test_a_million_empty_bodies_are_refused_before_they_are_decoded() -> None:
    body = b"\xdd" + (2**20).to_bytes(4, "big") + b"\x80" * 2**20
    assert "expected at most 4,000 bodies, got 1,048,576" in refusal(body, binary=True)
    assert peak_memory(lambda: refusal(body, binary=True)) < MIB
    allowed = b"\xdd" + MAX_BODIES.to_bytes(4, "big") + b"\x80" * MAX_BODIES
    assert refusal(allowed, binary=True).count("project") == 20  # the first problems are enough


@pytest.mark.parametrize("announced", [b"\xdd\x7f\xff\xff\xff", b"\xdf\x7f\xff\xff\xff"])
@pytest.mark.parametrize("field", ["columns", "metrics", "config", "settings", "labels", "values"])
def test_announced_items_that_are_not_there_take_no_memory(field: str, announced: bytes) -> None:
    body = b"\x83" + packed()[1:] + msgspec.msgpack.encode(field) + announced + b"\xa1a"
    assert peak_memory(lambda: refusal(body, binary=True)) < MIB
    assert peak_memory(lambda: refusal(announced + b"\x80", binary=True)) < MIB


def test_too_many_labels_are_refused() -> None:
    labels = {f"label {number}": number for number in range(65)}
    values = {"metric": "a", "values": b"\0" * 8}
    assert "labels: expected at most 64 labels" in refusal(
        packed(steps=b"\0" * 8, labels=labels, columns=[values]), binary=True
    )
    labelled = packed(steps=b"\0" * 8, columns=[values | {"labels": labels}])
    assert "columns.0.labels: expected at most 64 labels" in refusal(labelled, binary=True)
    assert "expected at most 64 labels" in refusal(
        HEAD + b'"labels":' + msgspec.json.encode(labels) + b',"columns":{"step":[1],"a":[1]}}'
    )


def test_problems_are_few_and_their_names_short() -> None:
    names = b",".join(b'"%b%d":[]' % (b"x" * 10_000, number) for number in range(50))
    reason = refusal(HEAD + b'"columns":{"step":[1],' + names + b"}}")
    assert reason.count("expected 1 values") == 20
    assert len(reason) < 20 * 200


@pytest.mark.parametrize("digits", [400, 4000, 5000])
@pytest.mark.parametrize(
    "form", [b'"points":[{"step":%b,"values":{"a":1}}]}', b'"columns":{"step":[%b],"a":[1]}}']
)
def test_endless_numbers_are_refused(form: bytes, digits: int) -> None:
    assert refusal(HEAD + form % (b"1" * digits))


def test_zeros_are_decompressed_as_far_as_the_limit_and_no_further() -> None:
    zeros = zstandard.ZstdCompressor().compress(bytes(64 * MIB))
    assert len(zeros) < 10_000
    grown: list[int] = []

    def unpack() -> None:
        with pytest.raises(TooLargeError):
            decompress(zeros, "zstd", 4 * MIB, grown.append)

    assert peak_memory(unpack) < 8 * MIB
    assert sum(grown) <= 4 * MIB


ATTACK = """
import resource, zstandard
from holter.server.ingest_http import validate
from holter.server.ingest_http.body_limits import BodyError
from holter.server.ingest_http.compression import decompress
from holter.server.ingest_http.json_body import LayoutCache
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
body = zstandard.ZstdCompressor().compress(
    b'{"project":"p","run":"r","columns":{"step":[' + b"0," * (30 * 2**20) + b"0]}}")
assert len(body) < 10_000
try:
    validate.delivery_from_json(decompress(body, "zstd", 64 * 2**20, lambda size: None), LayoutCache())
except BodyError as error:
    print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before)
"""


@pytest.mark.slow
def test_kilobytes_of_compressed_zeros_take_no_gigabytes() -> None:
    kilobytes = int(subprocess.check_output([sys.executable, "-c", ATTACK], text=True))
    assert kilobytes < 300 * 1024  # twice what it decompresses to, and the attack's own copy
