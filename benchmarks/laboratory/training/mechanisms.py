"""The mechanisms of `lists.py` as changes to the training loop."""

from __future__ import annotations

import math

import torch
from torch import Tensor

from laboratory.plan import RunPlan, replay_of
from laboratory.training.data import Examples
from laboratory.training.optimizers import build_optimizer
from laboratory.training.trainer import Intervention, Trainer


class BatchGrowth(Intervention):
    def batch_size(self, step: int, size: int) -> int:
        return size * (round(self.strength) if step >= self.start else 1)


class RateDrop(Intervention):
    def rate(self, step: int, rate: float) -> float:
        return rate / 5 if step >= self.start else rate


class ShuffledLabels(Intervention):
    def batch(self, step: int, batch: Examples, trainer: Trainer) -> Examples:
        return batch.with_moved_targets() if self.lasts(step) else batch

    def gradient(self, step: int, trainer: Trainer, norm: float) -> None:
        if self.lasts(step):
            multiply_gradient(trainer, self.strength)


class ForeignBatches(Intervention):
    def batch(self, step: int, batch: Examples, trainer: Trainer) -> Examples:
        return trainer.stream.foreign(trainer.position, len(batch.inputs)) if self.lasts(step) else batch

    def gradient(self, step: int, trainer: Trainer, norm: float) -> None:
        if self.lasts(step):
            multiply_gradient(trainer, self.strength)


class OneDatasetShuffled(Intervention):
    def batch(self, step: int, batch: Examples, trainer: Trainer) -> Examples:
        half = len(batch.inputs) // 2
        return batch[:half].joined(batch[half:].with_moved_targets()) if self.lasts(step) else batch


class OneDatasetForeign(Intervention):
    def batch(self, step: int, batch: Examples, trainer: Trainer) -> Examples:
        size = len(batch.inputs)
        foreign = trainer.stream.foreign(trainer.position, size - size // 2)
        return batch[: size // 2].joined(foreign) if self.lasts(step) else batch


class RateExcursion(Intervention):
    def rate(self, step: int, rate: float) -> float:
        return rate * self.strength if self.lasts(step) else rate


class DamagedEmbeddings(Intervention):
    @torch.no_grad()
    def begin(self, trainer: Trainer) -> None:
        weight = trainer.model.first.weight
        noise = torch.randn(weight.shape, generator=trainer.random)
        weight.add_(noise * weight.std() * self.strength)


class DamagedMoments(Intervention):
    def begin(self, trainer: Trainer) -> None:
        for state in trainer.optimizer.state.values():
            momenta = [name for name in ("exp_avg", "momentum_buffer") if name in state]
            for name in momenta:
                state[name].mul_(self.strength)
            if not momenta:
                state["square_avg"].div_(self.strength**2)


class GradientBurst(Intervention):
    def gradient(self, step: int, trainer: Trainer, norm: float) -> None:
        if not self.lasts(step):
            return
        parameters = list(trainer.model.parameters())
        limit = trainer.plan.clip or math.inf
        spread = self.strength * min(norm, limit) / math.sqrt(sum(each.numel() for each in parameters))
        for each in parameters:
            each.grad.add_(torch.randn(each.shape, generator=trainer.random), alpha=spread)

    def hidden_rate(self, step: int, rate: float) -> float:
        return rate * 10 if self.lasts(step) else rate


class LostShard(Intervention):
    @torch.no_grad()
    def begin(self, trainer: Trainer) -> None:
        weight = trainer.model.middle.weight
        weight[: max(1, round(self.strength * len(weight)))] = 0


class ReversedUpdates(Intervention):
    def hidden_rate(self, step: int, rate: float) -> float:
        return -self.strength * rate if self.lasts(step) else rate


class RateRamp(Intervention):
    def rate(self, step: int, rate: float) -> float:
        return rate * self.strength ** self.growth(step) if step >= self.start else rate


class MomentumDamage(Intervention):
    def begin(self, trainer: Trainer) -> None:
        momentum = 1 - 1 / self.strength
        for group in trainer.optimizer.param_groups:
            if "betas" in group:
                group["betas"] = (momentum, *group["betas"][1:])
                continue
            group["momentum"] = momentum
            for parameter in group["params"]:
                trainer.optimizer.state[parameter].setdefault("momentum_buffer", torch.zeros_like(parameter))

    def hidden_rate(self, step: int, rate: float) -> float:
        return rate * 5 if step >= self.start else rate


class LabelRot(Intervention):
    def batch(self, step: int, batch: Examples, trainer: Trainer) -> Examples:
        return batch.with_moved_targets(self.strength * self.growth(step))


class InputDrift(Intervention):
    def batch(self, step: int, batch: Examples, trainer: Trainer) -> Examples:
        return batch.with_moved_inputs(self.strength * self.growth(step))


class ClippingLost(Intervention):
    def clip(self, step: int, clip: float | None) -> float | None:
        return None if step >= self.start else clip

    def rate(self, step: int, rate: float) -> float:
        return rate * self.strength if step >= self.start else rate


class WeightNoise(Intervention):
    @torch.no_grad()
    def begin(self, trainer: Trainer) -> None:
        self._spread = [float(each.std(correction=0)) for each in trainer.model.parameters()]

    @torch.no_grad()
    def after_update(self, step: int, trainer: Trainer) -> None:
        size = self.strength / math.sqrt(self.length)
        for each, spread in zip(trainer.model.parameters(), self._spread, strict=True):
            each.add_(torch.randn(each.shape, generator=trainer.random), alpha=spread * size)


class OverflowBatch(Intervention):
    def losses(self, step: int, losses: Tensor) -> Tensor:
        return losses * math.inf if self.lasts(step) else losses


class NanBatch(Intervention):
    def losses(self, step: int, losses: Tensor) -> Tensor:
        return losses * math.nan if self.lasts(step) else losses


class PoisonedWeights(Intervention):
    @torch.no_grad()
    def begin(self, trainer: Trainer) -> None:
        trainer.model.middle.weight[0, 0] = math.nan


class NanGradient(Intervention):
    def losses(self, step: int, losses: Tensor) -> Tensor:
        if step == self.start:
            losses.register_hook(lambda gradient: gradient * math.nan)
        return losses


class OptimizerLost(Intervention):
    def begin(self, trainer: Trainer) -> None:
        trainer.optimizer = build_optimizer(self.plan.optimizer, trainer.model)

    def rate(self, step: int, rate: float) -> float:
        return rate * self.strength


class ScheduleInOtherUnits(Intervention):
    def rate(self, step: int, rate: float) -> float:
        return rate * self.strength


class LayerNotRestored(Intervention):
    @torch.no_grad()
    def begin(self, trainer: Trainer) -> None:
        weight = trainer.model.last.weight
        is_new = torch.rand(weight.shape, generator=trainer.random) < self.strength
        new = torch.randn(weight.shape, generator=trainer.random) * weight.shape[1] ** -0.5
        weight.copy_(torch.where(is_new, new, weight))


class OtherData(Intervention):
    """After the restart, unseen data from a later place of the stream."""

    def position(self, step: int, position: int) -> int:
        return position + 150 * self.plan.batch_size if step == self.start else position


class ReplayedData(Intervention):
    """The stream goes back by `lag` steps at the restart, for `length` steps, then on where it had been."""

    def __init__(self, plan: RunPlan) -> None:
        super().__init__(plan)
        self.lag, self.length = replay_of(plan)

    def position(self, step: int, position: int) -> int:
        size = self.plan.batch_size
        if step == self.start:
            return (self.start - self.lag) * size
        if step == self.start + self.length:
            return (self.plan.crash_step + 1) * size
        return position


MECHANISMS: dict[str, type[Intervention]] = {
    "plain": Intervention,
    "resume_exact": Intervention,
    "resume_reshuffled": OtherData,
    "batch_growth": BatchGrowth,
    "rate_drop": RateDrop,
    "shuffled_labels": ShuffledLabels,
    "one_dataset_shuffled": OneDatasetShuffled,
    "foreign_batches": ForeignBatches,
    "one_dataset_foreign": OneDatasetForeign,
    "rate_excursion": RateExcursion,
    "damaged_embeddings": DamagedEmbeddings,
    "damaged_moments": DamagedMoments,
    "gradient_burst": GradientBurst,
    "lost_shard": LostShard,
    "reversed_updates": ReversedUpdates,
    "rate_ramp": RateRamp,
    "momentum_damage": MomentumDamage,
    "label_rot": LabelRot,
    "clipping_lost": ClippingLost,
    "weight_noise": WeightNoise,
    "input_drift": InputDrift,
    "overflow_batch": OverflowBatch,
    "nan_batch": NanBatch,
    "poisoned_weights": PoisonedWeights,
    "nan_gradient": NanGradient,
    "optimizer_lost": OptimizerLost,
    "scheduler_advanced": ScheduleInOtherUnits,
    "layer_not_restored": LayerNotRestored,
    "older_weights": Intervention,
    "replay_from_start": ReplayedData,
    "replay_recent": ReplayedData,
    "replay_middle": ReplayedData,
    "speed_step": Intervention,
    "speed_gradual": Intervention,
    "speed_after_resume": Intervention,
    "speed_spell": Intervention,
    "slow_rank": Intervention,
    "slow_rank_at_times": Intervention,
}


def multiply_gradient(trainer: Trainer, factor: float) -> None:
    """Multiply the gradient of every parameter."""
    for parameter in trainer.model.parameters():
        parameter.grad.mul_(factor)
