"""Prometheus remote write 1.0: bodies of protobuf, compressed by Snappy's block format."""

from __future__ import annotations

from collections.abc import Callable

import cramjam
from google.protobuf.message import DecodeError

from holter.server.ingest_http.compression import CompressionError, TooLargeError
from holter.server.machine_metrics.protobuf_messages import WriteRequest
from holter.server.machine_metrics.samples import (
    MAX_SAMPLES,
    MachineSample,
    RequestSamples,
    TooManySamplesError,
    is_number,
    prometheus_series,
)


class RemoteWriteError(ValueError):
    """A body is not what remote write 1.0 sends."""


def decompress_snappy(body: bytes, limit: int, grow: Callable[[int], None]) -> bytes:
    """A body without its compression; its length is known before. Raises TooLargeError, CompressionError."""
    try:
        size = cramjam.snappy.decompress_raw_len(body)
        if size > limit:
            raise TooLargeError(limit, "of remote write: lower max_samples_per_send")
        grow(size)
        return bytes(cramjam.snappy.decompress_raw(body))
    except cramjam.DecompressionError as error:
        raise CompressionError(f"the body is not snappy: {error}") from error


def parse_write_request(content: bytes, allowed: Callable[[str], bool]) -> RequestSamples:
    """The samples of allowed metrics; NaN, with which series end, is left out without a word.

    Raises RemoteWriteError and TooManySamplesError.
    """
    try:
        request = WriteRequest.FromString(content)
    except DecodeError as error:
        raise RemoteWriteError(f"the body is no WriteRequest: {error}") from error
    samples: list[MachineSample] = []
    for series in request.timeseries:
        labels = {label.name: label.value for label in series.labels}
        name = labels.get("__name__", "")
        if not name:
            raise RemoteWriteError("a series has no label __name__")
        if not allowed(name):
            continue
        if len(samples) + len(series.samples) > MAX_SAMPLES:
            raise TooManySamplesError
        metric, own, host, settings = prometheus_series(name, tuple(sorted(labels.items())))
        samples += [
            MachineSample(metric, own, host, sample.timestamp / 1000, sample.value, settings)
            for sample in series.samples
            if is_number(sample.value)
        ]
    return RequestSamples(samples, {})
