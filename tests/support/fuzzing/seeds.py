"""Small, representative samples of every format, from which mutated inputs are made."""

from __future__ import annotations

import functools
import json
import random
from collections.abc import Iterator
from contextlib import suppress
from pathlib import PurePath
from typing import Any, NamedTuple

from holter.custom_format import CustomFormat
from holter.ingest import formats
from holter.ingest.communication import safe_pickle
from holter.ingest.format import Format
from tests.support.format_samples import DATA, SAMPLES
from tests.support.fuzzing.structures import tf_file, tf_records

EXPORTS = DATA.parent / "import_export" / "data"
CUSTOM = (
    CustomFormat(
        name="fuzzed",
        patterns=(
            r"^(?P<time>\S+ \S+) \[(?P<rank>\d+)\] it (?P<step>[\d,]+): (?P<metric>\w+) = (?P<value>\S+)$",
            r"it (?P<step>\d+) loss=(?P<loss>\S+) (?P<word>\w+)",
            r"norm (?P<norm>.+)",
        ),
        labels=("word",),
        names={"loss": "train/loss"},
    ),
)
_CUSTOM_LINES = (
    b"2026-01-31 12:00:00 [3] it 1,000: loss = 2.5\n[node1:0]: it 7 loss=3.5 warm\n\x1b[32mnorm 0.25\x1b[0m\n"
    b"it 8 loss=nan cold\nnorm 1e5,\n2026-01-31T12:00:07Z it 9 loss=2.25 warm\n"
)
_SMALL = 3000
"""Bytes to which samples are reduced, as far as their format still claims them."""


class Seed(NamedTuple):
    """A sample: the name of its file, its content, and, for a pickle, the value that it holds."""

    name: str
    content: bytes
    value: Any = None


GUESSED = [
    Seed(f"guessed{number}.log", text.encode())
    for number, text in enumerate(
        (
            "",
            "0.91\n0.74\n0.63\n0.58\n",
            "loss acc\n0.9 0.1\n0.8 0.2\n0.7 0.3\n0.6 0.4\n",
            "E: 0 | A: 0.11 | R: -0.79\nE: 1 | A: 0.12 | R: -0.69\nE: 2 | A: 0.13 | R: -0.59\n" * 3,
            "loss [1]: 3.5\nloss [2]: 3.1\nloss [3]: 2.9\nloss [4]: 2.5\nloss [5]: 2.25\n",
            "Pass 1\n1 0.5 0.6 val\n2 0.4 0.7 val\nPass 2\n1 0.3 0.8 val\n2 0.2 0.9 val\n",
            "[[0, 0.5], [1, 0.4], [2, 0.3]]\n{'loss': [0.5, 0.4], 'acc': [0.1, 0.2]}\n",
            "Fold 1/3: 80 rows\nBest val acc: 40.4%\nFold 2/3: 80 rows\nBest val acc: 41.4%\n",
            "   loss  acc\n0  0.5  0.6\n1  0.4  0.7\n2  0.3  0.8\n"
            "Epoch 1\nA 0.5\nB 0.4\nEpoch 2\nA 0.3\nB 0.2\n",
            "model,loss,acc\nunet,0.5,0.6\nunet,0.4,0.7\nvit,0.3,0.8\nvit,0.2,0.9\n",
        )
    )
]
"""Texts that no format claims, which are read when they are given by hand."""


@functools.cache
def fuzzed_formats() -> dict[str, Format]:
    """All formats, and a custom one."""
    return formats(CUSTOM)


@functools.cache
def format_seeds() -> dict[str, list[Seed]]:
    """Reduced samples by the name of the format that claims them."""
    samples = {**SAMPLES, "custom": ("custom.log", _CUSTOM_LINES)}
    seeds: dict[str, list[Seed]] = {}
    for name, content in samples.values():
        claimed = _claims(name, content)
        reduced = next((small for small in _reductions(content) if _claims(name, small) == claimed), content)
        seeds.setdefault(claimed, []).append(Seed(name, reduced, _dump(claimed, reduced)))
    return seeds


def _claims(name: str, content: bytes) -> str:
    path, head = PurePath(name), content[:65536]
    return next((format_.name for format_ in fuzzed_formats().values() if format_.sniff(path, head)), "")


def _dump(claimed: str, content: bytes) -> Any:
    """What a pickle of the same dump holds; only dumps of the Flight Recorder come as pickles, too."""
    if claimed != "flight-recorder":
        return None
    return json.loads(content) if content[:1] == b"{" else safe_pickle.loads(content)


def _reductions(content: bytes) -> Iterator[bytes]:
    """Shorter samples, the shortest first."""
    if len(content) <= _SMALL:
        return
    with suppress(ValueError):
        document = json.loads(content)
        for length in (2, 4, 12, 40):
            yield json.dumps(_shortened(document, length)).encode()
    records = tf_records(content) if b"brain.Event" in content[:100] else []
    if records:
        yield tf_file([record for record in records[:30] if len(record) < _SMALL])
        yield tf_file(records[:30])
    lines = content.splitlines(keepends=True)
    for count in (20, 60, 200, 1000):
        chosen = sorted(random.Random(0).sample(range(len(lines)), min(count, len(lines))))
        yield b"".join([*lines[:8], *(lines[index] for index in chosen if index >= 8)])
        yield b"".join(lines[: 3 * count])


def _shortened(value: Any, length: int) -> Any:
    """A JSON value with at most so many items in each list and object, and with short texts."""
    if isinstance(value, list):
        return [_shortened(item, length) for item in value[:length]]
    if isinstance(value, dict):
        return {key: _shortened(item, length) for key, item in list(value.items())[: length * 8]}
    return value[:300] if isinstance(value, str) else value
