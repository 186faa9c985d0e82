"""One run and its twin: trained once without the fault, and again from the saved state with it."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import torch
from numpy.typing import NDArray

from laboratory.plan import RunPlan
from laboratory.recording import Columns, Recording
from laboratory.training.data import DataStream
from laboratory.training.mechanisms import MECHANISMS
from laboratory.training.trainer import Intervention, Trainer

TIMES_ONLY = ("throughput", "straggler")
"""Families whose losses are those of the fault-free run."""
UNSEEN_AFTER = 400
"""Steps' worth of examples beyond those of the plan, for data that continue elsewhere."""


def record(plan: RunPlan) -> Recording:
    """Train the run of a plan. A fault-free run that diverges is trained again at a third of its rate."""
    torch.set_num_threads(1)
    torch.use_deterministic_algorithms(True)
    for _ in range(4):
        recording = _record(plan)
        loss = recording.twin["loss"]
        if np.isfinite(loss).all() and loss[-100:].mean() < loss[:20].mean():
            return recording
        plan = replace(plan, peak_rate=plan.peak_rate / 3)
    raise RuntimeError(
        f"run {plan.name} does not train without its fault, even at a rate of {plan.peak_rate}"
    )


def _record(plan: RunPlan) -> Recording:
    growth = round(plan.strength) if plan.mechanism.name == "batch_growth" else 1
    examples = plan.batch_size * (plan.steps * growth + UNSEEN_AFTER)
    stream = DataStream(plan.model, (plan.seed, plan.index), examples, plan.label_noise, len(plan.datasets))
    fault = MECHANISMS[plan.mechanism.name](plan)
    trainer = Trainer(plan, stream)
    if not _has_twin(plan):
        columns, probe = trainer.train(0, plan.steps, fault)
        return Recording(plan=plan, attempts=_restarted(plan, columns), twin=columns, probe=probe)
    older = plan.fault_step - plan.length
    saves = {plan.fault_step: {}, older: {}}
    twin, probe = trainer.train(0, plan.steps, Intervention(plan), saves)
    state = saves[plan.fault_step]
    if not state:  # nothing was finite any more before the fault
        return Recording(plan=plan, attempts=(twin,), twin=twin, probe=probe)
    if plan.mechanism.name == "older_weights":
        state["model"] = saves[older]["model"]
    trainer.restore(state)
    fault.begin(trainer)
    branch, _ = trainer.train(plan.fault_step, plan.steps, fault)
    if plan.restarts:
        return Recording(plan=plan, attempts=(_until(twin, plan.crash_step), branch), twin=twin, probe=probe)
    before = _until(twin, plan.fault_step)
    whole = {name: np.concatenate((before[name], branch[name])) for name in branch}
    return Recording(plan=plan, attempts=(whole,), twin=twin, probe=probe)


def _has_twin(plan: RunPlan) -> bool:
    """Whether the losses differ from those of the fault-free run."""
    if plan.mechanism.family == "healthy":
        return plan.mechanism.name == "resume_reshuffled"
    return plan.mechanism.family not in TIMES_ONLY


def _restarted(plan: RunPlan, columns: Columns) -> tuple[Columns, ...]:
    """The attempts of a run that repeats the same steps bit for bit after a restart."""
    if not plan.restarts:
        return (columns,)
    return _until(columns, plan.crash_step), _rows(columns, columns["step"] >= plan.fault_step)


def _until(columns: Columns, step: int) -> Columns:
    return _rows(columns, columns["step"] < step)


def _rows(columns: Columns, chosen: NDArray[np.bool_]) -> Columns:
    return {name: values[chosen] for name, values in columns.items()}
