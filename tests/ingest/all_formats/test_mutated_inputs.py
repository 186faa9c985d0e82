"""No mutated input makes a reader raise, take more than 5 s of processor time per MB, or 300 MB of memory.

30,000 inputs are read here, 1,000,000 by `make fuzz`, which says how to repeat one.
"""

from __future__ import annotations

import os
import random

import pytest

from tests.support.fuzzing import structures
from tests.support.fuzzing.campaign import make_input, measure, run_campaign
from tests.support.fuzzing.seeds import Seed
from tests.support.fuzzing.targets import DifferentResultError, FuzzTarget, targets

INPUTS = int(os.environ.get("HOLTER_TEST_FUZZ_INPUTS", "30000"))
SEED = int(os.environ.get("HOLTER_TEST_FUZZ_SEED", "0"))


@pytest.mark.slow
@pytest.mark.timeout(1800)
def test_no_mutated_input_exceeds_a_limit() -> None:
    summaries = run_campaign(INPUTS, seed=SEED)
    assert sum(summary.inputs for summary in summaries.values()) >= 0.99 * INPUTS
    problems = [problem for summary in summaries.values() for problem in summary.problems]
    assert not problems, "\n\n".join(map(str, problems))


def test_every_format_and_kind_of_file_is_fuzzed() -> None:
    assert all(target.seeds for target in targets().values())
    assert {"file", "folder", "scrape", "tracker/neptune", "import/json", "format/nccl"} <= set(targets())


def test_an_input_depends_on_its_number_and_the_seed_alone() -> None:
    target = targets()["format/csv"]
    inputs = [make_input(target, 0, index) for index in range(20)]
    assert inputs == [make_input(target, 0, index) for index in range(20)]
    assert inputs != [make_input(target, 1, index) for index in range(20)]


def test_damage_within_records_leaves_their_checksums_correct() -> None:
    sample = next(seed for seed in targets()["format/tensorboard"].seeds if len(seed.content) > 300)
    damaged = structures.damage_records(sample.content, random.Random(1))
    assert damaged != sample.content
    assert structures.tf_file(structures.tf_records(damaged)) == damaged


def _slow() -> None:
    sum(range(50_000_000))


def _hungry() -> None:
    assert len(bytearray(600 * 2**20))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("read", "kind"),
    [
        (lambda: {}["missing"], "KeyError"),
        (_hungry, "hungry"),
        (_slow, "slow"),
    ],
    ids=["raises", "hungry", "slow"],
)
def test_readers_that_exceed_a_limit_are_noticed(
    read: object, kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tests.support.fuzzing.campaign.SHORTEST", 0.1 if kind == "slow" else 60.0)
    target = FuzzTarget("bad", [Seed("a", b"")], lambda *_: b"", lambda *_: read())  # type: ignore[operator]
    assert measure(target, "a", b"", 0).kind == kind


@pytest.mark.slow
def test_memory_that_earlier_inputs_left_behind_is_not_that_of_the_next() -> None:
    kept: list[bytes] = []
    reads = (lambda *_: kept.append(b"1" * 400 * 2**20), lambda *_: None)
    keeping_and_not = [FuzzTarget("bad", [Seed("a", b"")], lambda *_: b"", read) for read in reads]
    assert [measure(target, "a", b"", 0).kind for target in keeping_and_not] == ["hungry", ""]


def test_reading_that_depends_on_where_a_file_was_cut_is_noticed() -> None:
    assert issubclass(DifferentResultError, AssertionError)  # it is a problem, not a refusal
    assert not any(issubclass(DifferentResultError, target.refuses) for target in targets().values())
