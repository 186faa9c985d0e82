"""Settings under one name: frameworks call the same setting `lr`, `optimizer.lr` or `learning_rate`."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from functools import lru_cache

from holter.flops.config_names import NAMES as SHAPE_NAMES

_SHAPES: Mapping[str, tuple[str, ...]] = {
    "num_layers": SHAPE_NAMES["layers"],
    "hidden_size": (
        *(name for name in SHAPE_NAMES["hidden"] if name not in ("dim", "channels")),
        "embed_dim",
    ),
    "num_attention_heads": SHAPE_NAMES["heads"],
    "num_key_value_heads": SHAPE_NAMES["kv_heads"],
    "ffn_hidden_size": SHAPE_NAMES["ffn"],
    "sequence_length": (*SHAPE_NAMES["sequence"], "n_ctx"),
    "num_experts": SHAPE_NAMES["experts"],
}
COMMON_NAMES: Mapping[str, tuple[str, ...]] = {
    "learning_rate": (
        "lr",
        "base_lr",
        "peak_lr",
        "init_lr",
        "initial_lr",
        "lr0",
        "base_learning_rate",
        "peak_learning_rate",
        "initial_learning_rate",
        "learning_rate_init",
    ),
    "min_learning_rate": ("min_lr", "lr_min", "eta_min", "learning_rate_min"),
    "weight_decay": ("wd", "weightdecay", "adam_weight_decay"),
    "lr_scheduler": (
        "scheduler",
        "lr_scheduler_type",
        "lr_decay_style",
        "lr_schedule",
        "schedule",
        "learning_rate_schedule",
        "lr_scheduler_name",
    ),
    "warmup_steps": ("warmup_iters", "num_warmup_steps", "lr_warmup_iters", "lr_warmup_steps", "warmup"),
    "optimizer": ("optim", "optimizer_name", "optimizer_type", "opt", "optimiser"),
    "beta1": ("adam_beta1", "beta_1"),
    "beta2": ("adam_beta2", "beta_2"),
    "epsilon": ("eps", "adam_eps", "adam_epsilon"),
    "momentum": ("sgd_momentum",),
    "max_grad_norm": (
        "clip_grad",
        "grad_clip",
        "gradient_clip_val",
        "gradient_clipping",
        "grad_clip_norm",
        "clip_grad_norm",
        "max_norm",
        "gradient_clip",
        "clip_norm",
    ),
    "batch_size": ("bs", "batchsize", "batch"),
    "global_batch_size": (
        "train_batch_size",
        "total_batch_size",
        "effective_batch_size",
        "global_train_batch_size",
    ),
    "micro_batch_size": (
        "per_device_train_batch_size",
        "train_micro_batch_size_per_gpu",
        "local_batch_size",
        "device_batch_size",
        "batch_size_per_gpu",
        "device_train_microbatch_size",
    ),
    "gradient_accumulation_steps": (
        "grad_accum",
        "grad_accum_steps",
        "gradient_accumulation",
        "update_freq",
        "accumulate_grad_batches",
        "grad_acc_steps",
        "accumulation_steps",
    ),
    "max_steps": (
        "train_iters",
        "max_iters",
        "total_steps",
        "training_steps",
        "num_train_steps",
        "max_train_steps",
        "num_steps",
        "num_iterations",
        "max_updates",
    ),
    "num_epochs": ("epochs", "num_train_epochs", "max_epochs", "n_epochs", "nb_epochs"),
    "seed": ("random_seed", "rng_seed", "manual_seed", "global_seed"),
    "dropout": ("dropout_rate", "dropout_p", "p_dropout", "dropout_prob"),
    "precision": ("mixed_precision", "dtype", "torch_dtype"),
    "dataset": ("dataset_name", "data_set"),
    "model": ("model_name", "model_name_or_path", "base_model", "arch", "architecture"),
    "tensor_parallel_size": ("tp", "tp_size", "tensor_model_parallel_size", "tensor_parallel_degree"),
    "pipeline_parallel_size": ("pp", "pp_size", "pipeline_model_parallel_size", "pipeline_parallel_degree"),
    "data_parallel_size": ("dp", "dp_size", "data_parallel_degree"),
    "context_parallel_size": ("cp", "cp_size", "context_parallel_degree"),
    "expert_parallel_size": ("ep", "ep_size", "expert_model_parallel_size"),
    "num_nodes": ("nnodes", "n_nodes"),
    **_SHAPES,
}  # fmt: skip
"""The other names of each setting, as the last part of a dotted name in snake case."""

_BY_ALIAS = {alias: common for common, aliases in COMMON_NAMES.items() for alias in (common, *aliases)}
_CONTAINERS = frozenset(
    {
        "args", "arguments", "cfg", "config", "configuration", "hparams", "hyperparameters",
        "hyper_parameters", "params", "parameters", "run_config", "train", "trainer", "training",
        "training_args", "train_config",
    }
)  # fmt: skip
"""Parts at the beginning of a dotted name that only say that it is a setting."""
_OTHER_PHASES = frozenset(
    {"eval", "evaluation", "val", "valid", "validation", "test", "inference", "generation"}
)
_NAMED_BY_PARENT = {
    "optim": "optimizer",
    "optimizer": "optimizer",
    "scheduler": "lr_scheduler",
    "lr_scheduler": "lr_scheduler",
    "model": "model",
    "dataset": "dataset",
}
_NAMING = frozenset({"name", "type", "_target_", "class", "class_name"})
_WORD_BOUNDARY = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")
_SEPARATORS = re.compile(r"[./:]+")


@lru_cache(20_000)
def common_name(name: str) -> str:
    """The common name of a setting: `learning_rate` for `lr`, `optimizer.lr` and `trainer.learningRate`.

    A setting without a common name has its own, in snake case and without a leading `config.` or `args.`.
    Settings of another phase (`eval.batch_size`) have names of their own.
    """
    parts = _parts(name)
    if len(parts) > 1 and parts[-1] in _NAMING and parts[-2] in _NAMED_BY_PARENT:
        return _NAMED_BY_PARENT[parts[-2]]
    if not _OTHER_PHASES.intersection(parts[:-1]):
        return _BY_ALIAS.get(parts[-1], ".".join(parts))
    return ".".join(parts)


def _parts(name: str) -> list[str]:
    """The parts of a dotted name in snake case, without containers before them."""
    words = _WORD_BOUNDARY.sub("_", name.strip().lstrip("-")).lower().replace("-", "_")
    parts = [part for part in _SEPARATORS.split(words) if part] or [words]
    while len(parts) > 1 and parts[0] in _CONTAINERS:
        parts = parts[1:]
    return parts


def common_names(names: Iterable[str]) -> dict[str, str]:
    """The common names of the settings of one run, by their own names.

    Where several settings of the run share a common name (`generator.lr` and `discriminator.lr`), each is
    called by its own: they are different settings.
    """
    own = list(names)
    counts: dict[str, int] = {}
    for name in own:
        counts[common_name(name)] = counts.get(common_name(name), 0) + 1
    return {name: common_name(name) if counts[common_name(name)] == 1 else name for name in own}


def is_called(name: str, wanted: str) -> bool:
    """Whether a person who writes `wanted` means the setting `name`.

    `lr` means every setting with its common name; `hidden` every `model.hidden`; a dotted name
    (`optimizer.lr`) only the setting of that name, or one that ends with it.
    """
    mine, theirs = name.lower(), wanted.lower()
    if mine == theirs or mine.endswith(f".{theirs}"):
        return True
    if _SEPARATORS.search(theirs):
        return False
    return common_name(name) == common_name(wanted)
