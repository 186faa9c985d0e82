"""The roles of metrics by their names: the conventions of the frameworks in one table."""

from __future__ import annotations

import re
from collections.abc import Mapping
from enum import StrEnum
from functools import lru_cache

from holter.types import SeriesKey


class Role(StrEnum):
    """The quantity that a series measures, as far as charts and detectors need to know it."""

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
    SKIPPED = "skipped_steps"
    FAULTS = "faults"
    GPU_ACTIVITY = "gpu_activity"
    SEQUENCE = "sequence"
    EPOCH = "epoch"
    OTHER = "other"


ROLE_TITLES: Mapping[Role, str] = {
    Role.LOSS: "Loss",
    Role.THROUGHPUT: "Throughput",
    Role.GRAD_NORM: "Gradient norm",
    Role.LEARNING_RATE: "Learning rate",
    Role.STEP_TIME: "Step time",
    Role.MFU: "MFU",
    Role.EVAL_LOSS: "Evaluation loss",
    Role.DATASET_LOSS: "Loss by dataset",
    Role.LOSS_SCALE: "Loss scale",
    Role.MIXTURE: "Mixture",
    Role.BATCH_SIZE: "Batch size",
    Role.COMPUTE_TIME: "Compute time",
    Role.COLLECTIVE_TIME: "Collective time",
    Role.MEMORY: "Memory",
    Role.SKIPPED: "Skipped steps",
    Role.FAULTS: "Faults",
    Role.GPU_ACTIVITY: "GPU activity",
    Role.SEQUENCE: "Collectives",
}
"""The roles that have charts, in the order of charts, with their titles for people."""


# Patterns of the full name after any folders ("train/", "Train loss/"), as `_normalize` returns it: in lower
# case, spaces and dashes as one underscore. The first role with a match wins.
_RATE = r"(_per_|/)(s|sec|second)(ond)?"
_EACH = r"(_per_|/)(gpu|device)"
_NAMES: tuple[tuple[Role, tuple[str, ...]], ...] = (
    # Megatron logs its curves again over samples, tokens and FLOPs: the same curve on other axes
    (Role.OTHER, (r".* vs (samples|tokens|gigaflos.*|steps)",)),
    (
        Role.EVAL_LOSS,
        (
            r"(eval|val|valid|validation|test)(uation)?([/_].*)?loss.*",
            r".*loss[_/](eval|val|valid|validation|test)(uation)?",
        ),
    ),
    (Role.LOSS_SCALE, (r"(grad_?)?loss_?scale", r"(grad_)?scaler?")),
    (Role.GRAD_NORM, (r"(total_|global_)?(grad|gradient)_?norm(_step)?", r"gnorm", r"norm/grad")),
    (Role.LEARNING_RATE, (r"(lr|learning_?rate)(_\w+)?(/.*)?",)),
    (Role.MFU, (r"(mfu|hfu|model_flops_utili[sz]ation)(\(%\))?",)),
    (
        Role.THROUGHPUT,
        (
            rf"(\w*_)?(tokens?|tok|samples|steps|batches){_RATE}({_EACH})?",
            r"tokens/train_per_sec_per_gpu",
            rf"(\w*_)?tflops?({_RATE})?({_EACH})?({_RATE})?",
            r"per_device_tflops_per_sec",
            r"throughput(\(tps\)|_per_gpu.*)?",
            r"train_speed.*",
            r"tps|wps|it/s",
        ),
    ),
    (
        Role.STEP_TIME,
        (
            r"(train_)?(step|iter|iteration)_?(time|timing|duration)(_?(in_)?\(?(s|ms|seconds)\)?)?",
            r"elapsed_time_per_iteration.*",
            r"time_per_step|sec(ond)?s_per_step|step_avg|dt",
        ),
    ),
    (Role.COMPUTE_TIME, (r"(compute|forward_backward|fwd_bwd)_time",)),
    (
        Role.COLLECTIVE_TIME,
        (r"(collective|comm|communication|nccl|allreduce|all_reduce)_time(_?\(?(us|ms|s|seconds)\)?)?",),
    ),
    (Role.MIXTURE, (r"mix(ture)?/.+",)),
    (Role.BATCH_SIZE, (r"(global_)?batch_?size",)),
    (
        Role.LOSS,
        (
            r"(lm|train|training|epoch|batch|reduced_train|ce|cross_entropy|global_avg|nll|total|policy)_(loss|nll)(_step)?",
            r"loss/train(/total)?",
            r"(loss|nll|trl|cross_?entropy)(loss)?(_step)?",
        ),
    ),
    (Role.DATASET_LOSS, (r"loss/.+", r"loss_by_\w+/.+")),
    (Role.SKIPPED, (r"(num(ber)?_(of_)?)?(skipped|nan)_(iterations|iters|steps)(_total)?",)),
    (
        Role.FAULTS,
        (
            r"(\w*_)?s?xid(_errors?)?",
            r"gpu_(lost|resets|requires_reset)|ring_timeouts|ras_uncorrectable_errors",
            r"[\w.]*uncorrect(ed|able)_?(memory_?)?(ecc_?)?(errors?)?(_total)?",
            r"(\w*_)?ecc_(errors?_)?(uncorrect\w*|dbe\w*)",
            r"(\w*_)?row_remap_(failure|pending)|(\w*_)?uncorrectable_remapped_rows",
            r"(\w*_)?nvlink\w*_error\w*",
        ),
    ),
    (Role.GPU_ACTIVITY, (r"gpu_(util|power|tensor_active)(_\((%|w)\))?",)),
    (
        Role.SEQUENCE,
        (r"(\w*_)?(coll|collective|nccl|pg)_?(seq\w*|sn|op_?count)", r"op_?count|seq_(id|number)"),
    ),
    (Role.EPOCH, (r"epoch",)),
    # the load and the speed of memory, not how much of it is used
    (
        Role.OTHER,
        (
            r"[\w.]*mem\w*(clock|bandwidth|util|errors|temp)[\w.]*(\(.*\))?",
            r"ecc\.[\w.]*",
            r"(system\.)?gpu\.\d+\.memory",
        ),
    ),
    (
        Role.MEMORY,
        (
            r"[\w.]*memory[\w.]*(%|/.*)?(\(.*\))?",
            r"([\w.]*_)?(mem|rss|vram|fb)(_[\w.]*)?(/.*)?(\(.*\))?",
            r"([\w.]+\.)?(max_)?rss(_?(kb|mb|gb))?|gb_free",
        ),
    ),
)
_COMPILED = tuple((role, re.compile(rf"(.*/)?({'|'.join(names)})")) for role, names in _NAMES)


def _normalize(metric: str) -> str:
    if " vs " in metric:
        return metric.lower()
    return re.sub(r"[\s_-]+", "_", metric.strip().lower())


class MetricWithRole(str):
    """A metric's name with the role that the user set for it; equal to the plain name."""

    __slots__ = ("role",)
    role: Role

    def __new__(cls, metric: str, role: Role) -> MetricWithRole:
        named = super().__new__(cls, metric)
        named.role = role
        return named

    def __getnewargs__(self) -> tuple[str, Role]:  # type: ignore[override]  # for copying and pickling
        return str(self), self.role


@lru_cache(maxsize=100_000)  # thousands of ranks log the same names
def _by_name(metric: str) -> Role:
    normalized = _normalize(metric)
    return next((role for role, pattern in _COMPILED if pattern.fullmatch(normalized)), Role.OTHER)


def role_of(key: SeriesKey) -> Role:
    """The role of a series: as the user set it, or else by its metric's name.

    A training loss with a label `dataset` is the loss of that dataset, not of the run.
    """
    if isinstance(key.metric, MetricWithRole):
        return key.metric.role
    role = _by_name(key.metric)
    if role is Role.LOSS and any(name == "dataset" for name, _ in key.labels):
        return Role.DATASET_LOSS
    return role
