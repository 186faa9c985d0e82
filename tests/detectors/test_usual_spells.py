"""How long a spell may last by chance, from those that a run has shown."""

from __future__ import annotations

import numpy as np
import pytest

from holter.detectors.throughput.usual_spells import UsualSpellThresholds, longest_by_chance, spell_lengths

LIMITS = UsualSpellThresholds()


def test_spells_are_the_runs_of_slow_blocks() -> None:
    is_slow = np.array([1, 1, 0, 0, 1, 0, 1, 1, 1], dtype=bool)
    assert spell_lengths(is_slow).tolist() == [2, 1, 3]
    assert spell_lengths(np.zeros(4, dtype=bool)).tolist() == []


def test_a_run_without_spells_sets_no_limit() -> None:
    assert longest_by_chance(np.array([], dtype=np.int64), LIMITS) == 0


def test_one_spell_says_little_about_the_next() -> None:
    assert longest_by_chance(np.array([4]), LIMITS) == pytest.approx(4 + 4 * np.log(20))


def test_spells_of_equal_length_are_soon_told_from_longer_ones() -> None:
    few, many = (longest_by_chance(np.full(count, 4), LIMITS) for count in (2, 100))
    assert few > many
    assert 4 < many < 10


@pytest.mark.parametrize("seed", range(5))
def test_spells_that_end_at_random_hardly_exceed_their_limit(seed: int) -> None:
    random = np.random.default_rng(seed)
    exceeded = sum(
        int((random.geometric(0.4, 20) > longest_by_chance(random.geometric(0.4, 20), LIMITS)).any())
        for _ in range(400)
    )
    assert exceeded / 400 < 0.1


def test_long_slow_downs_are_no_spells() -> None:
    short = np.array([2, 3, 2, 4])
    assert longest_by_chance(np.append(short, 200), LIMITS) == longest_by_chance(short, LIMITS)
