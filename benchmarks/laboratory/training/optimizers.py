"""Optimizers and schedules of the learning rate."""

from __future__ import annotations

import math
from collections.abc import Iterable

import torch
from torch import Tensor, nn
from torch.optim import SGD, AdamW, NAdam, Optimizer, RAdam, RMSprop


class Lion(Optimizer):
    """Updates by the sign of the momentum (Chen et al. 2023, arXiv 2302.06675)."""

    def __init__(self, parameters: Iterable[nn.Parameter], lr: float) -> None:
        super().__init__(parameters, {"lr": lr, "betas": (0.9, 0.99)})

    @torch.no_grad()
    def step(self) -> None:  # type: ignore[override]
        """One update of every parameter."""
        for group in self.param_groups:
            first, second = group["betas"]
            for parameter in group["params"]:
                momentum: Tensor = self.state[parameter].setdefault("exp_avg", torch.zeros_like(parameter))
                update = momentum.lerp(parameter.grad, 1 - first).sign_()
                parameter.sub_(update, alpha=group["lr"])
                momentum.lerp_(parameter.grad, 1 - second)


def build_optimizer(name: str, model: nn.Module) -> Optimizer:
    """The optimizer of that name in `lists.py`; its rate is set before each step."""
    parameters = list(model.parameters())
    if name == "sgd_momentum":
        return SGD(parameters, lr=0.1, momentum=0.9)
    if name == "adamw":
        return AdamW(parameters, lr=0.1, betas=(0.9, 0.99), weight_decay=0.01)
    if name == "rmsprop":
        return RMSprop(parameters, lr=0.1, alpha=0.99)
    if name == "nadam":
        return NAdam(parameters, lr=0.1, betas=(0.9, 0.98))
    if name == "radam":
        return RAdam(parameters, lr=0.1, betas=(0.9, 0.995))
    if name == "lion":
        return Lion(parameters, lr=0.1)
    raise ValueError(f"no optimizer is named {name}")


def scheduled_rate(name: str, peak: float, warmup: int, step: int, steps: int) -> float:
    """The learning rate at a step of a schedule over `steps` steps."""
    if step < warmup:
        return peak * (step + 1) / warmup
    done = min((step - warmup) / (steps - warmup), 1.0)
    if name == "constant":
        return peak
    if name == "cosine":
        return peak * (0.1 + 0.45 * (1 + math.cos(math.pi * done)))
    if name == "wsd":
        return peak * min(1.0, max(0.1, (1 - done) / 0.2))
    if name == "linear":
        return peak * (1 - 0.9 * done)
    if name == "inverse_sqrt":
        return peak * (warmup / (step + 1)) ** 0.5
    if name == "step_decay":
        return peak * 0.4 ** int(3 * done)
    raise ValueError(f"no schedule is named {name}")
