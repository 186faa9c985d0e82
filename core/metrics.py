"""What a metric's name says it is: the conventions of the frameworks, gathered in one table."""

from __future__ import annotations

import re
from enum import StrEnum

from holter.types import SeriesKey


class Role(StrEnum):
    """What a series measures, as far as charts and detectors care."""

    LOSS = "loss"
    DATASET_LOSS = "dataset_loss"
    EVAL_LOSS = "eval_loss"
    THROUGHPUT = "throughput"
    STEP_TIME = "step_time"
    MFU = "mfu"
    GRAD_NORM = "grad_norm"
    LEARNING_RATE = "learning_rate"
    LOSS_SCALE = "loss_scale"
    MIXTURE = "mixture"
    BATCH_SIZE = "batch_size"
    COMPUTE_TIME = "compute_time"
    COLLECTIVE_TIME = "collective_time"
    MEMORY = "memory"
    OTHER = "other"


# Read after `_plain`: lower case, separators as one underscore, folders kept as "/". First match wins.
_PATTERNS: tuple[tuple[Role, str], ...] = (
    # Megatron repeats its curves over samples, tokens and FLOPs: other axes of a curve already there
    (Role.OTHER, r".* vs (samples|tokens|gigaflos.*|steps)"),
    (
        Role.EVAL_LOSS,
        r"(.*/)?(eval|val|valid|validation|test)(uation)?([/_ ].*)?loss.*|.*loss[_ ](eval|val|valid|validation|test)\b.*",
    ),
    (Role.LOSS_SCALE, r"(.*/)?(grad_?)?(loss_?scale|scaler?|grad_scale)"),
    (Role.GRAD_NORM, r"(.*/)?(total_)?(grad(ient)?_?norm|gnorm|norm/grad|optim/total_grad_norm)(_step)?"),
    (Role.LEARNING_RATE, r"(.*/)?(lr|learning_?rate)([_-]?\w*)?(/.*)?|lr-\w+.*"),
    (Role.MFU, r"(.*/)?(mfu|hfu|model_flops_utili[sz]ation)(\(%\))?"),
    (
        Role.THROUGHPUT,
        r"(.*/)?(\w*tokens?_(per|/)_?s(ec(ond)?)?(_per_(gpu|device))?|tok/s|tok_per_sec|tokens/s|tps|wps|"
        r"\w*samples_(per|/)_?s(ec(ond)?)?|samples/sec|samples/s|steps_per_sec(ond)?|it/s|"
        r"throughput(\(tps\))?|\w*tflops?(/s)?(/gpu|/device)?(_per_(gpu|device))?|throughput_per_gpu.*|"
        r"train_speed.*|batches_per_sec|tokens/train_per_sec_per_gpu)",
    ),
    (
        Role.STEP_TIME,
        r"(.*/)?(step_?time|iter(ation)?_?time|elapsed_time_per_iteration.*|train_step_time|"
        r"train_step_timing(_in_s)?|time_per_step|sec(ond)?s_per_step|step_avg|seconds|iter_time.*|step_duration|dt)"
        r"(_?\(?m?s\)?)?",
    ),
    (Role.COMPUTE_TIME, r"(.*/)?(compute|forward_backward|fwd_bwd)_time"),
    (Role.COLLECTIVE_TIME, r"(.*/)?(collective|comm(unication)?|nccl|allreduce|all_reduce)_time"),
    (Role.MIXTURE, r"mix(ture)?/.+"),
    (Role.BATCH_SIZE, r"(.*/)?(global_)?batch_?size"),
    (Role.DATASET_LOSS, r"(train/)?loss/.+|(.*/)?loss[_ ]by[_ ]\w+/.+"),
    (
        Role.LOSS,
        r"(.*/)?(lm_|train_|training_|reduced_train_|cross_?entropy_|ce_|global_avg_|nll_|total_|policy_)?"
        r"(loss|nll|cross_?entropy|crossentropyloss)(_step)?|(.*/)?loss/train(/total)?|trl|"
        r"loss_metrics/global_avg_loss|(.*/)?train_loss(_step)?|.*-training/lm_loss",
    ),
    (Role.MEMORY, r"(.*/)?\w*(memory|mem|rss)\w*(/.*)?(\(.*\))?"),
)
_COMPILED = tuple((role, re.compile(pattern)) for role, pattern in _PATTERNS)


def _plain(metric: str) -> str:
    if " vs " in metric:
        return metric.lower()
    return re.sub(r"[\s_-]+", "_", metric.strip().lower())


def role_of(key: SeriesKey) -> Role:
    """The role of a series, by its metric's name; a training loss labelled with a dataset is that dataset's."""
    plain = _plain(key.metric)
    role = next((role for role, pattern in _COMPILED if pattern.fullmatch(plain)), Role.OTHER)
    if role is Role.LOSS and any(name == "dataset" for name, _ in key.labels):
        return Role.DATASET_LOSS
    return role
