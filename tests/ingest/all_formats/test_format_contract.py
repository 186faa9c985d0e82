"""The contract of formats, tested on every sample: nothing lost, nothing repeated, nothing raised."""

from __future__ import annotations

import io
import random
from pathlib import PurePath
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from holter.ingest import formats
from holter.ingest.format import Format

Sample = tuple[str, bytes]
FORMATS = sorted(formats())
LARGEST_BATCH = 65_536

fuzzing = settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])
fuzzing_samples = settings(fuzzing, max_examples=25)
"""Of each of a hundred samples: `test_mutated_inputs.py` damages the same ones in more ways."""


@pytest.fixture(scope="session", params=FORMATS)
def any_format(request: pytest.FixtureRequest) -> Format:
    return formats()[request.param]


def test_exactly_one_format_claims_each_sample_and_reads_from_it(sample: Sample, reading: Any) -> None:
    result = reading.read_sample(*sample)
    assert result.count or result.config


def test_every_format_has_samples(reading: Any) -> None:
    assert {reading.format_of(*sample).name for sample in reading.samples.values()} == set(FORMATS)


def test_a_file_read_byte_by_byte_as_it_grows_gives_the_same_records(
    small_sample: Sample, reading: Any
) -> None:
    name, content = small_sample
    assert reading.read_growing(name, content, range(len(content) + 1)) == reading.read_sample(name, content)


@pytest.mark.slow
def test_a_file_that_grows_in_pieces_of_any_size_gives_the_same_records(sample: Sample, reading: Any) -> None:
    name, content = sample
    chance = random.Random(1)
    sizes = sorted(chance.randrange(len(content)) for _ in range(40))
    assert reading.read_growing(name, content, [*sizes, len(content)]) == reading.read_sample(name, content)


@pytest.mark.slow
@pytest.mark.parametrize("every", [1, 2, 3])
def test_reading_can_stop_after_any_record_and_continue_with_the_state(
    sample: Sample, every: int, reading: Any
) -> None:
    assert reading.read_restarted(*sample, every=every) == reading.read_sample(*sample)


@pytest.mark.slow
def test_a_file_cut_off_anywhere_shows_a_part_of_the_complete_and_nothing_else(
    small_sample: Sample, reading: Any
) -> None:
    name, content = small_sample
    chosen = reading.format_of(name, content)
    complete = reading.read_sample(name, content)
    for size in range(len(content)):
        part = reading.read_complete(name, content[:size], chosen=chosen)
        for key, points in part.points.items():
            assert points == complete.points.get(key, [])[: len(points)]


def test_each_file_is_read_to_its_end(sample: Sample, reading: Any) -> None:
    name, content = sample
    stream = io.BytesIO(content)
    for _ in reading.format_of(name, content).reader(PurePath(name), {}).read(stream):
        pass
    assert stream.tell() == len(content)


@pytest.mark.slow
@fuzzing
@given(noise=st.binary(max_size=2000), sizes=st.lists(st.integers(0, 2000), max_size=4))
def test_noise_is_never_more_than_unreadable(
    any_format: Format, reading: Any, noise: bytes, sizes: list[int]
) -> None:
    complete = reading.read_complete("noise.csv", noise, chosen=any_format)
    assert len(complete.unreadable) <= len(noise)
    grown = reading.read_growing("noise.csv", noise, [*sorted(sizes), len(noise)], chosen=any_format)
    assert (grown.points, grown.config) == (complete.points, complete.config)


@pytest.mark.slow
@fuzzing_samples
@given(data=st.data())
def test_a_damaged_sample_is_read_as_far_as_it_can_be(small_sample: Sample, reading: Any, data: Any) -> None:
    name, content = small_sample
    chosen = reading.format_of(name, content)
    place = data.draw(st.integers(0, len(content) - 1))
    length = data.draw(st.integers(0, 30))
    damaged = content[:place] + data.draw(st.binary(max_size=30)) + content[place + length :]
    complete = reading.read_complete(name, damaged, chosen=chosen)
    stopped = reading.read_restarted(name, damaged, every=1, chosen=chosen)
    assert (stopped.points, stopped.config) == (complete.points, complete.config)


@pytest.mark.slow
@fuzzing_samples
@given(data=st.data())
def test_shuffled_lines_are_read_without_raising(small_sample: Sample, reading: Any, data: Any) -> None:
    name, content = small_sample
    lines = data.draw(st.permutations(content.split(b"\n")))
    shuffled = b"\n".join(lines)
    chosen = reading.format_of(name, content)
    complete = reading.read_complete(name, shuffled, chosen=chosen)
    half = [len(shuffled) // 2, len(shuffled)]
    grown = reading.read_growing(name, shuffled, half, chosen=chosen)
    assert (grown.points, grown.config) == (complete.points, complete.config)


@pytest.mark.parametrize(
    ("name", "header", "row"),
    [
        ("log.csv", b"step,a,b,c\n", b"%d,1,2,3\n"),
        ("log.jsonl", b"", b'{"step":%d,"a":1,"b":2,"c":3}\n'),
    ],
)
def test_batches_of_a_large_file_stay_bounded(name: str, header: bytes, row: bytes, reading: Any) -> None:
    rows = 60_000
    content = header + b"".join(row % step for step in range(rows))
    reader = reading.format_of(name, content).reader(PurePath(name), {})
    batches = [batch.points for batch in reader.read(io.BytesIO(content))]
    assert max(batches) <= LARGEST_BATCH
    assert sum(batches) == 3 * rows
