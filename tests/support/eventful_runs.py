"""Runs in which every kind of event happens, for tests of all detectors."""

from __future__ import annotations

import numpy as np

from holter.types import RunData
from tests.support.curves import loss_curve, rank_times, run, series, speed_curve


def clock(speed: np.ndarray) -> dict[str, np.ndarray]:
    """Wall times of steps of 200,000 tokens at such a speed."""
    return {"time": 1.7e9 + np.cumsum(2e5 / speed)}


def eventful_runs() -> dict[str, RunData]:
    """Runs in which something happens that some detector speaks of."""
    rng = np.random.default_rng(7)
    n = 3000
    spiky = loss_curve(rng, n)
    spiky[1200:1230] += 3.0
    spiky[1800:] += np.minimum(np.arange(n - 1800) / 200, 3.0)
    spiky[2500:2503] = np.nan
    slow = speed_curve(rng, n)
    slow[1500:2200] *= 0.85
    drifting = speed_curve(rng, n)
    drifting[1000:] *= np.exp(-np.minimum(np.arange(n - 1000) / 8000, 0.2))
    stream = rng.normal(0, 1, n)
    replay_step = np.concatenate([np.arange(900), np.arange(800, 2400)])
    place = np.concatenate([np.arange(900), np.arange(1600)])
    replay_attempt = np.repeat([0, 1], [900, 1600])
    base = 2.0 + 6.0 * (replay_step + 20.0) ** -0.35
    replayed = base * np.exp(0.05 * stream[place] + rng.normal(0, 0.02, len(place)))
    ranks = rank_times(rng, 150, 8, slow=[(3, 60, 149, 1.15), (5, 20, 22, 1.3), (5, 30, 33, 1.3)])
    waits = 2.0 * np.arange(n)
    waits[1000:] += 7200
    return {
        "numbers": overflows(rng, n),
        "data": other_data(rng, n),
        "machines": failing_machines(rng, n),
        "evaluations": evaluations(rng, spiky),
        "spikes": run(series("loss", spiky)),
        "slow": run(series("tokens_per_s", slow, **clock(slow)), series("step_time", 1e5 / slow)),
        "drifting": run(series("tokens_per_s", drifting, **clock(drifting))),
        "replay": run(series("loss", replayed, step=replay_step, attempt=replay_attempt)),
        "ranks": run(*ranks, series("step_time", 1.0 / slow)),
        "silence": run(series("loss", loss_curve(rng, n), time=1.7e9 + waits)),
    }


def evaluations(rng: np.random.Generator, loss: np.ndarray) -> RunData:
    """Two evaluations every 25 steps that jump, are NaN, turn upwards after a restart; and the loss."""
    at = np.concatenate((np.arange(0, 1800, 25), np.arange(1500, 3000, 25)))
    where = {"step": at, "attempt": np.repeat([0, 1], [72, 60])}
    losses = []
    for noise in (0.004, 0.008):
        value = (2.0 + 6.0 * (at + 200.0) ** -0.35) * np.exp(rng.normal(0, noise, len(at)))
        value[40:42] *= 1.2
        value[60:] *= 1.1
        value[100:] += np.arange(32) * 0.03
        value[68] = np.nan
        losses.append(value)
    both = [series(f"eval/{name}_loss", one, **where) for name, one in zip("ab", losses, strict=True)]
    return run(series("loss", loss), series("lr", np.full(len(loss), 1e-3)), *both)


def overflows(rng: np.random.Generator, n: int) -> RunData:
    """Gradients overflow and the loss scale collapses; later a logger hides NaN."""
    loss, norm, scale = loss_curve(rng, n), np.exp(rng.normal(0, 0.2, n)), np.full(n, 2.0**16)
    norm[1000:1008] = np.inf
    scale[1001:1500] = np.exp2(np.maximum(16.0 - np.arange(1, 500), 9))
    loss[2000:2060], loss[2500:2520], norm[2700:2720] = 0.0, loss[2499], 0.0
    return run(series("loss", loss), series("grad_norm", norm), series("loss_scale", scale))


def other_data(rng: np.random.Generator, n: int) -> RunData:
    """The shares of two datasets change, come back and change again with a restart; both learn something."""
    at = np.arange(n)
    shares = np.where((at >= 900) & (at < 1600) | (at >= 2400), 0.8, 0.2)
    learnt = 1 - 0.3 / (1 + np.exp(-(at - 2000) / 10.0))
    losses = [level * (1 + 0.02 * rng.normal(0, 1, n)) * learnt for level in (1.8, 3.0)]
    where = {"attempt": (at >= 2400).astype(int)}
    total = (1 - shares) * losses[0] + shares * losses[1]
    both = [series(f"loss/{name}", one, **where) for name, one in zip("ab", losses, strict=True)]
    return run(series("loss", total, **where), *both)


def failing_machines(rng: np.random.Generator, n: int) -> RunData:
    """Memory leaks until a restart, a GPU reports faults, a rank falls out of step for a while."""
    at = np.arange(n)
    where = {"step": at * 10, "attempt": (at >= 2400).astype(int)}
    memory = 30 + 2e-3 * np.minimum(at, 1500) + 0.02 * rng.normal(0, 1, n)
    number = 40.0 * at[:, None] + rng.integers(0, 2, (n, 4))
    number[700:720] = number[700].max()
    number[700:720, 2] -= 1
    return run(
        series("memory(GiB)", memory, **where),
        series("xid", np.where(at < 1200, 0, 79), **where),
        series("loss", loss_curve(rng, n), **where),
        *(series("coll_sn", number[:, rank], rank=rank, **where) for rank in range(4)),
    )


EVENTFUL = eventful_runs()
