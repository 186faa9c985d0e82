"""Numbers that no run has cost no more than the record that contains them, wherever they are in a log."""

from __future__ import annotations

import itertools
import re
from typing import Any

import pytest

from tests.support.format_samples import SAMPLES

_NUMBER = re.compile(rb"\d+")
_PLACES = 40
"""Numbers of each sample that are replaced, one at a time."""
_LARGEST = 60_000
TEXTS = sorted(key for key, (_, content) in SAMPLES.items() if content.isascii() and len(content) < _LARGEST)
ABSURD = {
    "hundreds of digits": b"9" * 400,
    "beyond 64 bits": b"9" * 25,
    "beyond a float": b"9e999",
    "below zero": b"-7",
    "digits of another script": "\u0663\u00b2".encode(),
}


@pytest.mark.slow
@pytest.mark.parametrize("key", TEXTS)
def test_an_absurd_number_is_reported_or_passed_over(key: str, reading: Any) -> None:
    name, content = SAMPLES[key]
    chosen = reading.format_of(name, content)
    complete = content if content[:1] in b"{[" else content[:12_000]
    found = list(_NUMBER.finditer(complete))
    chosen_places = found[:: max(1, len(found) // _PLACES)]
    for place, number in itertools.product(chosen_places, ABSURD.values()):
        result = reading.read_complete(
            name, complete[: place.start()] + number + complete[place.end() :], chosen=chosen
        )
        assert result.count + len(result.unreadable) < 3 * len(complete)


@pytest.mark.parametrize("number", ABSURD.values(), ids=ABSURD)
def test_torchtitans_events_with_absurd_numbers_are_reported(reading: Any, number: bytes) -> None:
    event = b'{"log_type":"x","log_type_name":"step_end","rank":0,"time_us":%s,"step":1,"value":%s}\n'
    result = reading.read_complete(
        "trace.jsonl", event % (b"1700000000000000", b"1") + event % (number, number)
    )
    assert result.count + len(result.unreadable) == 2
