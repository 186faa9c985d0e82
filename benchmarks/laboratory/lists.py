"""The written list from which laboratory runs are drawn, in two disjoint parts.

`development` may be looked at while a detector is made; `reserved` is for one measurement at the end, with a
seed that was never used. The parts share nothing but the control without any fault: neither mechanisms nor
models, optimizers, schedules, batch sizes, label noise, names of metrics or habits of logging.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class Mechanism:
    """What is planted. `family` says what kind of truth follows from it (`labels.py`).

    `strength` and `length` are ranges from which values are drawn, uniformly in the logarithm; what they mean
    is in `description`. `weight` is the number of runs in each round of a list's mechanisms.
    """

    name: str
    family: str
    description: str
    strength: tuple[float, float] = (1.0, 1.0)
    length: tuple[int, int] = (1, 1)
    weight: int = 1


@dataclass(frozen=True, kw_only=True)
class MetricNames:
    """What a framework calls the step and the metrics; `speed` is tokens/s, or a step time if it says so."""

    step: str
    loss: str
    grad_norm: str
    rate: str
    speed: str
    dataset: str
    """The loss of one dataset; `{}` is replaced by its name."""
    is_step_time: bool = False


@dataclass(frozen=True, kw_only=True)
class LogHabit:
    """How rows are written: every `every` steps, the last value or the mean, with `digits` digits."""

    every: int = 1
    mean: bool = False
    digits: int = 6
    decimals: int | None = None
    """Digits after the point, instead of significant digits."""


@dataclass(frozen=True, kw_only=True)
class ListPart:
    """One of the two parts of the written list."""

    name: str
    models: tuple[str, ...]
    optimizers: dict[str, tuple[float, float]]
    """By name: the range of the highest learning rate."""
    schedules: tuple[str, ...]
    warmups: tuple[int, ...]
    clips: tuple[float | None, ...]
    batch_sizes: tuple[int, ...]
    label_noises: tuple[float, ...]
    habits: tuple[LogHabit, ...]
    names: tuple[MetricNames, ...]
    layouts: tuple[str, ...]
    mechanisms: tuple[Mechanism, ...]


PLAIN = Mechanism(name="plain", family="healthy", description="No fault and no restart.", weight=3)

DEVELOPMENT = ListPart(
    name="development",
    models=("regression_mlp", "classifier_mlp", "markov_transformer", "markov_gru"),
    optimizers={"sgd_momentum": (0.02, 0.1), "adamw": (1e-3, 4e-3), "rmsprop": (4e-4, 1.5e-3)},
    schedules=("cosine", "constant", "wsd"),
    warmups=(50, 150),
    clips=(1.0, None),
    batch_sizes=(8, 16, 32, 64),
    label_noises=(0.0, 0.05, 0.15),
    habits=(
        LogHabit(),
        LogHabit(digits=4),
        LogHabit(every=5),
        LogHabit(every=10, mean=True),
    ),
    names=(
        MetricNames(
            step="step",
            loss="loss",
            grad_norm="grad_norm",
            rate="lr",
            speed="tokens_per_s",
            dataset="loss/{}",
        ),
        MetricNames(
            step="iteration",
            loss="lm loss",
            grad_norm="grad norm",
            rate="learning rate",
            speed="elapsed time per iteration (ms)",
            dataset="loss/{}",
            is_step_time=True,
        ),
        MetricNames(
            step="global_step",
            loss="train/loss",
            grad_norm="train/grad_norm",
            rate="train/learning_rate",
            speed="train/tokens_per_second",
            dataset="train/loss/{}",
        ),
    ),
    layouts=("csv, a file per attempt", "jsonl, one file"),
    mechanisms=(
        PLAIN,
        Mechanism(
            name="resume_exact",
            family="healthy",
            description="A restart that restores everything, some steps back.",
        ),
        Mechanism(
            name="batch_growth",
            family="healthy",
            description="The batch grows `strength`-fold, and is logged.",
            strength=(2, 4),
        ),
        Mechanism(
            name="shuffled_labels",
            family="spike",
            description="`length` batches have labels of other examples; "
            "the gradient is multiplied by `strength`.",
            strength=(2, 20),
            length=(2, 16),
            weight=2,
        ),
        Mechanism(
            name="rate_excursion",
            family="spike",
            description="The learning rate is `strength` times too high for `length` steps.",
            strength=(30, 300),
            length=(2, 12),
            weight=2,
        ),
        Mechanism(
            name="damaged_embeddings",
            family="spike",
            description="Noise of `strength` times its own spread is added to the first layer's weights.",
            strength=(0.5, 4),
            weight=2,
        ),
        Mechanism(
            name="damaged_moments",
            family="spike",
            description="The optimizer's momentum is multiplied by `strength`; "
            "without any, its second moments are divided by its square.",
            strength=(10, 200),
            weight=2,
        ),
        Mechanism(
            name="rate_ramp",
            family="divergence",
            description="From then on the learning rate grows, `strength`-fold after `length` steps.",
            strength=(60, 400),
            length=(200, 600),
        ),
        Mechanism(
            name="momentum_damage",
            family="divergence",
            description="From then on the momentum is 1 - 1/`strength`, and the rate five times as high.",
            strength=(200, 1000),
        ),
        Mechanism(
            name="label_rot",
            family="divergence",
            description="A growing share of labels is of other examples, `strength` after `length` steps.",
            strength=(0.3, 0.8),
            length=(300, 800),
        ),
        Mechanism(
            name="overflow_batch",
            family="nonfinite",
            description="The losses of `length` batches are infinite; their updates are skipped.",
            length=(2, 10),
        ),
        Mechanism(
            name="poisoned_weights",
            family="nonfinite",
            description="A weight becomes NaN, and with it everything.",
        ),
        Mechanism(
            name="optimizer_lost",
            family="resume",
            description="After a restart the optimizer's state is new, and the rate "
            "`strength` times as high.",
            strength=(3, 30),
            weight=2,
        ),
        Mechanism(
            name="scheduler_advanced",
            family="resume",
            description="After a restart the schedule counts other units: "
            "the rate is `strength` times as high.",
            strength=(15, 100),
        ),
        Mechanism(
            name="replay_from_start",
            family="replay",
            description="After a restart the data begin again from the first batch, for good.",
        ),
        Mechanism(
            name="replay_recent",
            family="replay",
            description="After a restart the last `length` batches are repeated; then unseen data begin.",
            length=(300, 700),
        ),
        Mechanism(
            name="one_dataset_shuffled",
            family="dataset",
            description="`length` batches of one of two datasets have labels of other examples.",
            length=(2, 15),
        ),
        Mechanism(
            name="speed_step",
            family="throughput",
            description="The speed falls by the share `strength` for good (simulated times).",
            strength=(0.06, 0.4),
        ),
        Mechanism(
            name="speed_gradual",
            family="throughput",
            description="The speed falls by the share `strength` over `length` steps (simulated times).",
            strength=(0.1, 0.4),
            length=(100, 400),
        ),
        Mechanism(
            name="slow_rank",
            family="straggler",
            description="One rank computes longer by the share `strength` (simulated times).",
            strength=(0.08, 0.6),
        ),
    ),
)

RESERVED = ListPart(
    name="reserved",
    models=("images_cnn", "tagging_lstm", "autoencoder_mlp", "attention_classifier"),
    optimizers={"nadam": (1e-3, 3e-3), "lion": (1.5e-4, 6e-4), "radam": (1.5e-3, 4e-3)},
    schedules=("linear", "inverse_sqrt", "step_decay"),
    warmups=(30, 100),
    clips=(2.0, 0.5),
    batch_sizes=(12, 24, 48, 96),
    label_noises=(0.02, 0.1),
    habits=(
        LogHabit(digits=5),
        LogHabit(decimals=4),
        LogHabit(every=4),
        LogHabit(every=8, mean=True),
    ),
    names=(
        MetricNames(
            step="trainer/global_step",
            loss="train_loss",
            grad_norm="total_grad_norm",
            rate="lr-group0",
            speed="samples_per_second",
            dataset="loss/train/{}",
        ),
        MetricNames(
            step="_step",
            loss="loss_metrics/global_avg_loss",
            grad_norm="gradient_norm",
            rate="learning_rate",
            speed="throughput(tps)",
            dataset="loss_by_dataset/{}",
        ),
        MetricNames(
            step="num_updates",
            loss="training_loss",
            grad_norm="gnorm",
            rate="lr",
            speed="step_time (s)",
            dataset="loss/{}",
            is_step_time=True,
        ),
    ),
    layouts=("csv, one file with a column attempt", "jsonl, a file per attempt", "console"),
    mechanisms=(
        PLAIN,
        Mechanism(
            name="resume_reshuffled",
            family="healthy",
            description="A restart that restores everything but the order of unseen data.",
        ),
        Mechanism(
            name="rate_drop",
            family="healthy",
            description="The learning rate falls to a fifth; the loss falls with it.",
        ),
        Mechanism(
            name="foreign_batches",
            family="spike",
            description="`length` batches come from another source; "
            "the gradient is multiplied by `strength`.",
            strength=(2, 20),
            length=(2, 16),
            weight=2,
        ),
        Mechanism(
            name="gradient_burst",
            family="spike",
            description="After clipping, noise of `strength` times the gradient's norm is added to it "
            "for `length` steps, and the rate is ten times as high.",
            strength=(20, 200),
            length=(2, 8),
            weight=2,
        ),
        Mechanism(
            name="lost_shard",
            family="spike",
            description="The share `strength` of a hidden layer's rows becomes zero.",
            strength=(0.4, 1.0),
            weight=2,
        ),
        Mechanism(
            name="reversed_updates",
            family="spike",
            description="For `length` steps updates have the wrong sign, at `strength` times the rate.",
            strength=(4, 25),
            length=(2, 8),
            weight=2,
        ),
        Mechanism(
            name="clipping_lost",
            family="divergence",
            description="From then on gradients are not clipped, and the rate is `strength` times as high.",
            strength=(20, 100),
        ),
        Mechanism(
            name="weight_noise",
            family="divergence",
            description="From then on each update adds noise to all weights, as rounding does: "
            "`strength` times their spread over `length` steps.",
            strength=(0.8, 4),
            length=(300, 800),
        ),
        Mechanism(
            name="input_drift",
            family="divergence",
            description="The features of a growing share of inputs are those of other examples, "
            "`strength` after `length` steps.",
            strength=(0.3, 0.8),
            length=(300, 800),
        ),
        Mechanism(
            name="nan_batch",
            family="nonfinite",
            description="The losses of `length` batches are NaN; their updates are skipped.",
            length=(2, 8),
        ),
        Mechanism(
            name="nan_gradient",
            family="nonfinite",
            description="One element of the gradient is NaN; a step later everything is.",
        ),
        Mechanism(
            name="layer_not_restored",
            family="resume",
            description="After a restart the share `strength` of the last layer's weights is new.",
            strength=(0.1, 1.0),
            weight=2,
        ),
        Mechanism(
            name="older_weights",
            family="resume",
            description="After a restart the weights are those of `length` steps before; nothing else is.",
            length=(150, 500),
        ),
        Mechanism(
            name="replay_middle",
            family="replay",
            description="After a restart `length` batches from an arbitrary earlier place are repeated.",
            length=(250, 600),
            weight=2,
        ),
        Mechanism(
            name="one_dataset_foreign",
            family="dataset",
            description="`length` batches of one of two datasets come from another source.",
            length=(4, 20),
        ),
        Mechanism(
            name="speed_after_resume",
            family="throughput",
            description="After a restart the speed is lower by the share `strength` (simulated times).",
            strength=(0.06, 0.4),
        ),
        Mechanism(
            name="speed_spell",
            family="throughput",
            description="The speed is lower by the share `strength` for `length` steps (simulated times).",
            strength=(0.1, 0.5),
            length=(300, 600),
        ),
        Mechanism(
            name="slow_rank_at_times",
            family="straggler",
            description="One rank computes longer by the share `strength`, "
            "in 70 % of the steps (simulated times).",
            strength=(0.1, 0.6),
        ),
    ),
)

LISTS = {each.name: each for each in (DEVELOPMENT, RESERVED)}


def describe(part: ListPart) -> str:
    """A list in Markdown."""
    rates = ", ".join(f"{name} {low:g} to {high:g}" for name, (low, high) in part.optimizers.items())
    clips = _joined(["none" if each is None else each for each in part.clips])
    lines = [
        f"- models: {_joined(part.models)}",
        f"- optimizers with their highest rates: {rates}",
        f"- schedules: {_joined(part.schedules)}; warm-up {_joined(part.warmups)} steps; clipping: {clips}",
        f"- batch sizes: {_joined(part.batch_sizes)}; label noise: {_joined(part.label_noises)}",
        f"- rows: {_joined([_habit(each) for each in part.habits], '; ')}",
        f"- files: {_joined(part.layouts, '; ')}",
        f"- names of the loss: {_joined([f'`{each.loss}`' for each in part.names])}",
        "",
        "| mechanism | family | what is planted | strength | length | weight |",
        "|---|---|---|---|---|---|",
        *(_row(each) for each in part.mechanisms),
    ]
    return "\n".join(lines)


def _row(each: Mechanism) -> str:
    ranges = [
        "-" if low == high == 1 else f"{low:g} to {high:g}" for low, high in (each.strength, each.length)
    ]
    return f"| {each.name} | {each.family} | {each.description} | {' | '.join(ranges)} | {each.weight} |"


def _habit(habit: LogHabit) -> str:
    rows = "every step" if habit.every == 1 else f"every {habit.every}th step"
    digits = f"{habit.digits} digits" if habit.decimals is None else f"{habit.decimals} decimals"
    return f"{'means, ' if habit.mean else ''}{rows}, {digits}"


def _joined(values: Sequence[object], by: str = ", ") -> str:
    return by.join(map(str, values))
