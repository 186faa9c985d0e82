"""Draws the plan of one run from a list: everything about it, before anything is trained."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from laboratory.lists import LISTS, ListPart, LogHabit, Mechanism, MetricNames

RESTARTING = {"resume", "replay"}
RESTARTS = {"resume_exact", "resume_reshuffled", "speed_after_resume"}
"""Mechanisms of other families that restart the run."""
SAVE_EVERY = 40
"""Steps between two checkpoints: a multiple of every interval of logging."""


@dataclass(frozen=True, kw_only=True)
class RunPlan:
    """One run as it was drawn; `fault_step` is the first step with the fault, or of the second attempt."""

    list_name: str
    seed: int
    index: int
    mechanism: Mechanism
    strength: float
    length: int
    fault_step: int
    crash_step: int
    """The first attempt ends before this step; at least `fault_step`. Without a restart, equal to it."""
    steps: int
    model: str
    width: int
    optimizer: str
    peak_rate: float
    schedule: str
    warmup: int
    clip: float | None
    batch_size: int
    label_noise: float
    habit: LogHabit
    names: MetricNames
    layout: str
    ranks: int
    """How many ranks have a table of their times; 0: none."""

    @property
    def name(self) -> str:
        """The name of the run's folder."""
        return f"{self.list_name[:3]}-{self.seed}-{self.index:04}"

    @property
    def restarts(self) -> bool:
        """Whether the run has a second attempt."""
        return self.mechanism.family in RESTARTING or self.mechanism.name in RESTARTS

    @property
    def datasets(self) -> tuple[str, ...]:
        """The datasets whose losses are logged apart; empty: none."""
        return ("web", "code") if self.mechanism.family == "dataset" or self.index % 7 == 3 else ()


def draw(list_name: str, seed: int, index: int) -> RunPlan:
    """The plan of a run: the same for the same list, seed and index."""
    parts = LISTS[list_name]
    mechanism = _mechanism(parts, seed, index)
    random = np.random.default_rng([seed, index, *list_name.encode()])
    steps = int(random.integers(1500, 2400))
    fault_step = int(steps * random.uniform(0.4, 0.6))
    optimizer = str(random.choice(list(parts.optimizers)))
    layout = str(random.choice(parts.layouts))
    # a printed log next to a table is understood as its copy
    has_ranks = mechanism.family == "straggler" or (random.random() < 0.1 and layout != "console")
    plan = RunPlan(
        list_name=list_name,
        seed=seed,
        index=index,
        mechanism=mechanism,
        strength=_log_uniform(random, *mechanism.strength),
        length=round(_log_uniform(random, *mechanism.length)),
        fault_step=fault_step,
        crash_step=fault_step,
        steps=steps,
        model=str(random.choice(parts.models)),
        width=int(random.choice((24, 32, 48))),
        optimizer=optimizer,
        peak_rate=_log_uniform(random, *parts.optimizers[optimizer]),
        schedule=str(random.choice(parts.schedules)),
        warmup=int(random.choice(parts.warmups)),
        clip=parts.clips[random.integers(len(parts.clips))],
        batch_size=int(random.choice(parts.batch_sizes)),
        label_noise=float(random.choice(parts.label_noises)),
        habit=parts.habits[random.choice(len(parts.habits), p=_habit_odds(len(parts.habits)))],
        names=parts.names[random.integers(len(parts.names))],
        layout=layout,
        ranks=int(random.choice((4, 8, 16))) if has_ranks else 0,
    )
    back = int(random.integers(20, 120))  # a rollback
    if not plan.restarts:
        return plan
    saved = fault_step // SAVE_EVERY * SAVE_EVERY
    return replace(plan, fault_step=saved, crash_step=saved + back)


def replay_of(plan: RunPlan) -> tuple[int, int]:
    """By how many steps the data of a replay are older, and for how many steps they are repeated."""
    rest = plan.steps - plan.fault_step
    if plan.mechanism.name == "replay_from_start":
        return plan.fault_step, rest
    length = min(plan.length, rest - 150)
    if plan.mechanism.name == "replay_recent":
        length = length // SAVE_EVERY * SAVE_EVERY
        return length, length
    lag = length + (plan.fault_step - length) * (plan.index % 5 + 1) // 6
    return lag // SAVE_EVERY * SAVE_EVERY, length


def _mechanism(parts: ListPart, seed: int, index: int) -> Mechanism:
    """The mechanisms in rounds, each round in an order of its own: few runs contain all of them."""
    one_round = [each for each in parts.mechanisms for _ in range(each.weight)]
    number, place = divmod(index, len(one_round))
    order = np.random.default_rng([seed, number, *parts.name.encode()]).permutation(len(one_round))
    return one_round[order[place]]


def _habit_odds(count: int) -> list[float]:
    """Half of the runs are logged every step with many digits; the other habits share the rest."""
    return [0.5] + [0.5 / (count - 1)] * (count - 1)


def _log_uniform(random: np.random.Generator, low: float, high: float) -> float:
    return float(np.exp(random.uniform(np.log(low), np.log(high))))
