"""Simulated times of steps and ranks: nothing about speed is measured in laboratory runs."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from laboratory.plan import RunPlan

Values = NDArray[np.float64]
RANK_EVERY = 10
"""Steps between two rows of the table of ranks."""
COMPUTE_SHARE = 0.75
"""Of a step's time; the rest is communication."""


@dataclass(frozen=True, eq=False, kw_only=True)
class AttemptTimes:
    """Seconds per step [n], and for ranks the steps [m] with compute and collective times [m, ranks]."""

    step_time: Values
    rank_steps: Values
    compute: Values
    collective: Values


def simulate_times(plan: RunPlan, steps: list[Values]) -> list[AttemptTimes]:
    """The times of the steps of each attempt."""
    random = np.random.default_rng([plan.seed, plan.index, 77])
    base = float(np.exp(random.uniform(np.log(0.1), np.log(8))))
    spread = random.uniform(0.003, 0.015)
    save_every = int(random.choice((200, 250, 500)))
    rank = slow_rank(plan)
    return [
        _attempt(plan, random, step, attempt, base, spread, save_every, rank)
        for attempt, step in enumerate(steps)
    ]


def slow_rank(plan: RunPlan) -> int:
    """The rank that a straggler's mechanism slows."""
    return (plan.index * 7 + plan.seed) % max(plan.ranks, 1)


def _attempt(
    plan: RunPlan,
    random: np.random.Generator,
    step: Values,
    attempt: int,
    base: float,
    spread: float,
    save_every: int,
    rank: int,
) -> AttemptTimes:
    n = len(step)
    slow_noise = np.convolve(random.normal(0, spread, n + 3), [0.4, 0.3, 0.2, 0.1], mode="valid")[:n]
    time = base * np.exp(random.normal(0, spread, n) + slow_noise)
    time /= 1 - _speed_loss(plan, step, attempt)
    time[step % save_every == save_every - 1] *= 1.5
    time[random.random(n) < 0.001] *= random.uniform(2, 4)
    time[:2] *= 3
    rows = np.flatnonzero(step % RANK_EVERY == 0) if plan.ranks else np.array([], dtype=np.int64)
    compute = COMPUTE_SHARE * time[rows, None] * np.exp(random.normal(0, 0.006, (len(rows), plan.ranks)))
    if plan.mechanism.family == "straggler":
        is_slow = step >= plan.fault_step
        if plan.mechanism.name == "slow_rank_at_times":
            is_slow &= random.random(n) < 0.7
        time = np.where(is_slow, time * (1 + COMPUTE_SHARE * plan.strength), time)
        compute[:, rank] *= np.where(is_slow[rows], 1 + plan.strength, 1)
    longest = compute.max(axis=1, initial=0)[:, None]
    waiting = (1 - COMPUTE_SHARE) * base * np.exp(random.normal(0, 0.01, compute.shape))
    return AttemptTimes(
        step_time=time, rank_steps=step[rows], compute=compute, collective=longest - compute + waiting
    )


def _speed_loss(plan: RunPlan, step: Values, attempt: int) -> Values:
    """The share of the speed that is lost at each step."""
    since = step - plan.fault_step
    if plan.mechanism.name == "speed_step":
        return plan.strength * (since >= 0)
    if plan.mechanism.name == "speed_gradual":
        return plan.strength * np.clip(since / plan.length, 0, 1)
    if plan.mechanism.name == "speed_spell":
        return plan.strength * ((since >= 0) & (since < plan.length))
    if plan.mechanism.name == "speed_after_resume":
        return np.full(len(step), plan.strength * (attempt == 1))
    return np.zeros(len(step))
