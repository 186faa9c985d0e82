"""The training loop of one run, whose complete state can be saved and restored."""

from __future__ import annotations

import copy
import math
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from laboratory.plan import RunPlan
from laboratory.training.data import DataStream, Examples
from laboratory.training.models import build_model
from laboratory.training.optimizers import build_optimizer, scheduled_rate

Values = NDArray[np.float64]
PROBE_EVERY = 20
"""Steps between two losses on examples that are never trained on: the state of the model without noise."""
NONFINITE_STEPS = 60
"""A run ends after so many steps in a row without a finite loss."""


class Intervention:
    """What a mechanism changes in the loop. The base class changes nothing."""

    def __init__(self, plan: RunPlan) -> None:
        self.plan = plan
        self.start, self.strength, self.length = plan.fault_step, plan.strength, plan.length

    def lasts(self, step: int) -> bool:
        """Whether the step is one of the `length` steps from the start on."""
        return self.start <= step < self.start + self.length

    def growth(self, step: int) -> float:
        """From 0 to 1 over `length` steps."""
        return min(max((step - self.start + 1) / self.length, 0.0), 1.0)

    def begin(self, trainer: Trainer) -> None:
        """Called before the first step with the fault, on the state that the fault-free run has then."""

    def batch(self, step: int, batch: Examples, trainer: Trainer) -> Examples:
        """The batch that is trained on."""
        return batch

    def losses(self, step: int, losses: Tensor) -> Tensor:
        """The losses of the examples [n]."""
        return losses

    def batch_size(self, step: int, size: int) -> int:
        """The number of examples."""
        return size

    def rate(self, step: int, rate: float) -> float:
        """The learning rate, as it is logged."""
        return rate

    def hidden_rate(self, step: int, rate: float) -> float:
        """The learning rate, as it is used."""
        return rate

    def clip(self, step: int, clip: float | None) -> float | None:
        """The limit of the gradient's norm."""
        return clip

    def gradient(self, step: int, trainer: Trainer, norm: float) -> None:
        """Changes the gradient, after clipping; `norm` is its norm before."""

    def after_update(self, step: int, trainer: Trainer) -> None:
        """Changes the state after an update."""

    def position(self, step: int, position: int) -> int:
        """Where in the stream of data the batch begins."""
        return position


class Trainer:
    """Trains the model of a plan step by step; `position` counts the examples that were read."""

    def __init__(self, plan: RunPlan, stream: DataStream) -> None:
        torch.manual_seed(plan.seed * 1_000_003 + plan.index)
        self.plan, self.stream = plan, stream
        self.model = build_model(plan.model, plan.width)
        self.optimizer = build_optimizer(plan.optimizer, self.model)
        self.position = 0
        self.random = torch.Generator().manual_seed(plan.index)

    def state(self) -> dict[str, Any]:
        """A copy of everything that training continues from."""
        states = {"model": self.model.state_dict(), "optimizer": self.optimizer.state_dict()}
        return copy.deepcopy({**states, "position": self.position})

    def restore(self, state: dict[str, Any]) -> None:
        """Continue from a copy of a state."""
        state = copy.deepcopy(state)
        self.model.load_state_dict(state["model"])
        self.optimizer.load_state_dict(state["optimizer"])
        self.position = state["position"]

    def train(
        self, first: int, last: int, fault: Intervention, saves: dict[int, dict[str, Any]] | None = None
    ) -> tuple[dict[str, Values], Values]:
        """The logged columns of steps [first, last), and the probe's losses [n, 2] as (step, loss).

        `saves` receives the states before its steps. Ends early where nothing is finite any more.
        """
        rows: list[dict[str, float]] = []
        probe: list[tuple[int, float]] = []
        nonfinite = 0
        for step in range(first, last):
            if saves is not None and step in saves:
                saves[step] = self.state()
            if step % PROBE_EVERY == 0:
                probe.append((step, self._probe()))
            rows.append({"step": step, **self._step(step, fault)})
            nonfinite = 0 if math.isfinite(rows[-1]["loss"]) else nonfinite + 1
            if nonfinite >= NONFINITE_STEPS:
                break
        columns = {name: np.array([row[name] for row in rows]) for name in rows[0]}
        return columns, np.array(probe, dtype=np.float64).reshape(-1, 2)

    def _step(self, step: int, fault: Intervention) -> dict[str, float]:
        plan = self.plan
        size = fault.batch_size(step, plan.batch_size)
        position = fault.position(step, self.position)
        batch = fault.batch(step, self.stream.batch(position, size), self)
        self.position = position + size
        losses = fault.losses(step, self.model.losses(batch))
        loss = losses.mean()
        rate = fault.rate(step, scheduled_rate(plan.schedule, plan.peak_rate, plan.warmup, step, plan.steps))
        for group in self.optimizer.param_groups:
            group["lr"] = fault.hidden_rate(step, rate)
        self.optimizer.zero_grad()
        loss.backward()
        limit = fault.clip(step, plan.clip)
        norm = float(nn.utils.clip_grad_norm_(self.model.parameters(), limit or math.inf))
        fault.gradient(step, self, norm)
        if self._is_applied(step, loss.item(), fault):
            self.optimizer.step()
        fault.after_update(step, self)
        datasets = {}
        if plan.datasets:
            half = losses.detach()
            datasets = {
                f"loss/{plan.datasets[0]}": float(half[: size // 2].mean()),
                f"loss/{plan.datasets[1]}": float(half[size // 2 :].mean()),
            }
        return {"loss": loss.item(), "grad_norm": norm, "rate": rate, "batch_size": size, **datasets}

    def _is_applied(self, step: int, loss: float, fault: Intervention) -> bool:
        """Whether the update happens: mechanisms of single bad batches end where a scaler would skip them."""
        skips = self.plan.mechanism.name in ("overflow_batch", "nan_batch")
        return math.isfinite(loss) or not (skips and fault.lasts(step))

    @torch.no_grad()
    def _probe(self) -> float:
        return float(self.model.losses(self.stream.probe).mean())
