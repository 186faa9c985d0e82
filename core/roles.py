"""The roles of metrics by their names: the conventions of the frameworks in one table."""

from __future__ import annotations

import re
from collections.abc import Mapping
from enum import StrEnum
from functools import lru_cache

from holter.speed_names import DURATIONS, RATES, TIME_UNIT, TIMES_OF_STEPS
from holter.translated_words import in_english
from holter.types import SeriesKey


class Role(StrEnum):
    """The quantity that a series measures, as far as charts and detectors need to know it."""

    LOSS = "loss"
    DATASET_LOSS = "dataset_loss"
    EVAL_LOSS = "eval_loss"
    LOSS_TERM = "loss_term"
    ACCURACY = "accuracy"
    REWARD = "reward"
    KL = "kl"
    THROUGHPUT = "throughput"
    STEP_TIME = "step_time"
    DURATION = "duration"
    MFU = "mfu"
    GRAD_NORM = "grad_norm"
    LEARNING_RATE = "learning_rate"
    LOSS_SCALE = "loss_scale"
    MIXTURE = "mixture"
    BATCH_SIZE = "batch_size"
    SEQUENCE_LENGTH = "sequence_length"
    GRADIENT_CLIPPING = "gradient_clipping"
    PRECISION = "precision"
    HYPERPARAMETER = "hyperparameter"
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
    Role.DURATION: "Duration",
    Role.MFU: "MFU",
    Role.EVAL_LOSS: "Evaluation loss",
    Role.DATASET_LOSS: "Loss by dataset",
    Role.LOSS_TERM: "Loss terms",
    Role.ACCURACY: "Accuracy",
    Role.REWARD: "Reward",
    Role.KL: "KL divergence",
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


EVALUATION_WORDS = (
    *("eval", "evaluate", "evaluated", "evaluating", "evaluation"),
    *("val", "valid", "validate", "validating", "validation"),
    *("test", "testing", "dev", "heldout", "holdout"),
)
"""Words for the data that a model is evaluated on, as the names of metrics and lines of logs have them."""

# Patterns of the full name after any folders ("train/", "Train loss/"), as `_normalize` returns it: in lower
# case, spaces and dashes as one underscore. The first role with a match wins.
_EVALUATION = rf"({'|'.join(EVALUATION_WORDS)}|held_out)"
_NAMES: tuple[tuple[Role, tuple[str, ...]], ...] = (
    # Megatron logs its curves again over samples, tokens and FLOPs: the same curve on other axes
    (Role.OTHER, (r".* vs (samples|tokens|gigaflos.*|steps)",)),
    # seconds that a batch takes, as Paddle's logs call them
    (Role.OTHER, (r"(avg_)?(batch|reader)_cost",)),
    (
        Role.EVAL_LOSS,
        (
            rf"{_EVALUATION}([/_].*)?loss.*",
            r"cv/(.*[/_])?loss.*",  # of cross-validation; elsewhere the letters are of many things
            rf".*loss[_/]{_EVALUATION}",
        ),
    ),
    (Role.LOSS_SCALE, (r"(grad_?)?loss_?scale", r"(grad_)?scaler?")),
    (Role.GRAD_NORM, (r"(total_|global_)?(grad|gradient)_?norm(_step)?", r"gnorm", r"norm/grad")),
    (Role.LEARNING_RATE, (r"(lr|learning_?rate)(_\w+)?(/.*)?",)),
    (Role.MFU, (r"(mfu|hfu|model_flops_utili[sz]ation)(\(%\))?",)),
    (Role.THROUGHPUT, RATES),
    (Role.STEP_TIME, TIMES_OF_STEPS),
    (Role.DURATION, DURATIONS),
    (Role.COMPUTE_TIME, (rf"(compute|forward_backward|fwd_bwd)_(time|duration){TIME_UNIT}",)),
    (
        Role.COLLECTIVE_TIME,
        (rf"(collective|comm|communication|nccl|allreduce|all_reduce)_(time|duration){TIME_UNIT}",),
    ),
    (Role.MIXTURE, (r"mix(ture)?/.+",)),
    (Role.BATCH_SIZE, (r"(global_)?batch_?size",)),
    (Role.SEQUENCE_LENGTH, (r"(train_|max_)?(seq(uence)?|context)_?len(gth)?",)),
    (
        Role.GRADIENT_CLIPPING,
        (
            r"(max_)?grad(ient)?_?(norm_)?clip(ping)?(_(val(ue)?|norm|threshold|max(_norm)?))?",
            r"clip_?grad(ient)?(_norm|_value)?|max_grad(ient)?_norm|clip(ping)?_threshold",
        ),
    ),
    (Role.PRECISION, (r"(train_|use_)?(precision|amp|bf16|fp16|fp8|autocast)(_bits|_enabled)?",)),
    (
        Role.HYPERPARAMETER,
        (r"weight_decay|(adam_|sgd_)?(momentum|beta_?[12])|(\w+_)?dropout(_rate|_p)?|label_smoothing",),
    ),
    (
        Role.LOSS,
        (
            r"(lm|train|training|epoch|batch|reduced_train|ce|cross_entropy|global_avg|nll|total)_(loss|nll)(_step)?",
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


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


_SPLITS = _words("train training tr")
_EVALUATIONS = frozenset(EVALUATION_WORDS) | {"held"}  # `held-out` is two words
_STATISTICS = _words(
    "avg average mean running smooth smoothed ema epoch step batch iter iteration total global reduced raw "
    "current last per token tokens interval sum unscaled"
)
_OBJECTIVES = _words(
    "mse mae l1 l2 huber ce bce nll xent ctc mlm clm lm contrastive infonce recon reconstruction rec triplet "
    "focal dice hinge diffusion denoising distill distillation cls bbox"
)
_TERMS = _words(
    "policy pg actor critic value vf v q qf entropy g d gen dis disc generator discriminator wgan fake adv "
    "adversarial gan kl kld aux auxiliary balance balancing z reg regularization penalty commit commitment "
    "surrogate"
)
"""Words of losses that need not fall: of policies, critics, adversaries and regularisers."""
_NO_LOSSES = _words("packet weight frame power scale scaler scaling")
"""Words whose losses are no objectives of training."""
_OTHER_OBJECTIVES = _words("ppl perplexity bpb bpc objective cost error xent crossentropy nll")
_ERRORS = _words("mse rmse mae mape huber bce ce elbo l1 l2")
"""Names of errors, which are losses beside the data that they are of: `train_mse`, `val/mae`. Alone they may
be any measure of an evaluation."""
_NORMS = _words("l1 l2")
"""Errors whose names are those of norms, too: `train/l2` may be one of the weights."""
_MODIFIERS = _SPLITS | _EVALUATIONS | _STATISTICS
_HEADS = {
    Role.ACCURACY: _words("acc accuracy accuracies"),
    Role.REWARD: _words("reward rewards rew return returns"),
    Role.KL: _words("kl kld"),
}
_TOP = re.compile(r"top[ _-]?\d{1,3}")
"""An accuracy among the first so many guesses: `top1`, `top-5`."""
_QUALITIES = _words("auc auroc f1 precision recall psnr")
"""Words of what grows as a loss falls, whatever its folder or its output is called: `loss1/auc`."""
_MAX_WORDS = 5
"""Words of a name, at most: longer ones are sentences or paths of modules."""


def _normalize(metric: str) -> str:
    if " vs " in metric:
        return metric.lower()
    return re.sub(r"[\s_-]+", "_", in_english(metric).strip().lower())


def _split_words(metric: str) -> tuple[list[str], list[str]]:
    """The words of a name's folders, and those of its last part; camel case counts as several words."""
    spaced = re.sub(r"(?<=[a-z])(?=[A-Z])", "_", in_english(metric).strip()).lower()
    *folders, last = ([word for word in re.split(r"[\s_.:-]+", part) if word] for part in spaced.split("/"))
    return [word for folder in folders for word in folder], last


def _by_words(metric: str) -> Role | None:
    """The role by the grammar of a name: its head noun, and words before and after that qualify it."""
    folders, words = _split_words(metric)
    if not words or len(words) > _MAX_WORDS:
        return None
    words = [re.sub(r"(?<=\w)loss(es)?$", "_loss", word) for word in words]
    words = [part for word in words for part in word.split("_")]
    words = ["loss" if word == "losses" else word for word in words]
    qualifiers = _MODIFIERS | _OBJECTIVES | _TERMS
    if "loss" in words:
        head = words.index("loss")
        if words[0] in _NO_LOSSES or not qualifiers.issuperset(
            w for w in words[head + 1 :] if not w.isdigit()
        ):
            return None
        return _kind_of_loss({*folders, *words})
    if folders and folders[-1] in ("loss", "losses"):
        # a single letter may name a dataset
        known = all(word in qualifiers and len(word) > 1 for word in words)
        return _kind_of_loss({*folders, *words}) if known else None
    rest = [word for word in words if word not in _MODIFIERS]
    if rest in (["bits", "byte"], ["bits", "char"]) or (len(rest) == 1 and rest[0] in _OTHER_OBJECTIVES):
        return _kind_of_loss({*folders, *words})
    if len(rest) == 1 and rest[0] in _ERRORS:
        data = {*words} if rest[0] in _NORMS else {*folders[-1:], *words}
        if data & (_SPLITS | _EVALUATIONS):
            return _kind_of_loss({*folders, *words})
    return _other_quantity(words)


def _kind_of_loss(words: set[str]) -> Role:
    if words & _EVALUATIONS:
        return Role.EVAL_LOSS
    return Role.LOSS_TERM if words & _TERMS else Role.LOSS


def _other_quantity(words: list[str]) -> Role | None:
    """Accuracy, reward or KL divergence, where that is the last word that is not a modifier."""
    known = [word for word in words if word not in _MODIFIERS | {"div", "divergence", "ep"}]
    if known and _TOP.fullmatch("".join(known[-2:] if known[-1].isdigit() else known[-1:])) is not None:
        return Role.ACCURACY
    return next((role for role, heads in _HEADS.items() if known and known[-1] in heads), None)


def _quality(metric: str) -> Role | None:
    """The role of what is in the folder of a loss, or of an output called so, and is none: `loss1/top-1`."""
    words = _split_words(metric)[1]
    if any("loss" in word for word in words):
        return None
    if _other_quantity(words) is Role.ACCURACY:
        return Role.ACCURACY
    return Role.OTHER if words and words[-1] in _QUALITIES else None


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
    by_name = next((role for role, pattern in _COMPILED if pattern.fullmatch(normalized)), None)
    if by_name in (Role.EVAL_LOSS, Role.DATASET_LOSS) and "/" in metric:
        by_name = _quality(metric) or by_name
    if by_name in (None, Role.DATASET_LOSS):
        by_name = _by_words(metric) or by_name
    if by_name is Role.LOSS and any(word in _TERMS and len(word) > 1 for word in _split_words(metric)[0]):
        return Role.LOSS_TERM
    return Role.OTHER if by_name is None else by_name


def words_of(metric: str) -> frozenset[str]:
    """The words of a metric's name, those of its folders and that before `loss` in one word included."""
    folders, last = _split_words(metric)
    return frozenset((*folders, *(re.sub(r"(?<=\w)loss(es)?$", "", word) for word in last)))


def is_of_evaluation(key: SeriesKey) -> bool:
    """Whether a series is named after evaluations: its speed is not that of the training."""
    return not _EVALUATIONS.isdisjoint(words_of(key.metric))


def is_total_loss(key: SeriesKey) -> bool:
    """Whether the name of a loss qualifies it by no more than its data and statistic: `loss`, `train/total`.

    Other words are those of its terms: `pde_loss`, `loss_recon`.
    """
    return words_of(key.metric) <= _MODIFIERS | {"loss", "losses"}


def is_user_role(key: SeriesKey) -> bool:
    """Whether the user set the role of a series."""
    return isinstance(key.metric, MetricWithRole)


def role_of(key: SeriesKey) -> Role:
    """The role of a series: as the user set it, or else by its metric's name.

    A training loss with a label `dataset` is the loss of that dataset, not of the run.
    """
    if isinstance(key.metric, MetricWithRole):
        return key.metric.role
    role = _by_name(key.metric)
    if role is Role.LOSS and key.label("dataset") is not None:
        return Role.DATASET_LOSS
    return role
