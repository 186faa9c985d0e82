"""Numbers of steps that count none of the training: the length of an episode, or of something else."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from holter.ingest.console.line.line_counters import Counter, CounterField
from holter.ingest.console.line.number_field import NumberField

_LENGTH = re.compile(r"(?i)(?:(?:num(?:ber)?|no\.?|n)[ _](?:of[ _])?|ep(?:isode)?[ _])?steps")
_LENGTHS = frozenset({"steps", "env steps", "it", "iters", "iterations"})
"""What may be the length of an episode."""
REWARD = re.compile(r"(?i)reward|return|score")
"""Names of what an episode is about."""


def is_length(field: NumberField, counters: list[CounterField]) -> bool:
    """Whether a number of steps is the length of an episode.

    `Episode: 3, reward: 1.5, steps: 120`, `Episode 3 - truncated at step 1000. Reward: 5`,
    `Episode: 3, Number of steps: 120`.
    """
    is_other = bool(counters) and counters[0].counter is Counter.OTHER
    is_named = _LENGTH.fullmatch(field.english) is not None
    is_length = is_named or field.before.endswith((" at ", " in ", " after "))
    return is_other and is_length and field.total_index < 0


def is_length_of_other(
    field: NumberField, counters: Sequence[CounterField], texts: Sequence[str], *, has_metrics: bool
) -> bool:
    """Whether steps are the length of something else than the training.

    They are behind what counts steps already, `iteration: 10 | loss: 83.4 | steps: 158`, or in
    parentheses behind a value, `Success (R: 99.00, Steps: 6)`.
    """
    if field.english.lower() != "steps" or field.total_index >= 0:
        return False
    if counters:
        return any(each.counter is Counter.STEP for each in counters)
    before = "".join(texts[: field.index + 1])
    return has_metrics and before.count("(") > before.count(")")


def is_length_next_to_reward(
    field: NumberField, counters: Sequence[CounterField], names: Iterable[str]
) -> bool:
    """Whether steps next to a reward are the length of an episode: `Ep 200: Reward=0.8 | Steps=14`.

    `names` are those of the metrics before them, or also the texts behind them.
    """
    is_episode = bool(counters) and counters[0].counter in (Counter.EPOCH, Counter.OTHER)
    # `Episode: 3, reward: 1.5, step: 200`, but `Episode: 3, step: 4500, reward: 1.5`
    is_last = counters[-1:] != [] and counters[-1].counter is Counter.OTHER
    name = field.english.lower()
    is_length = name in _LENGTHS or (name == "step" and is_last)
    return is_episode and is_length and field.total_index < 0 and any(map(REWARD.search, names))
