"""How settings files are called, and the names by which their content is known to be settings of training."""

from __future__ import annotations

import re
from pathlib import PurePath

from holter.flops.names import NAMES

_FILE = re.compile(
    r"(?:(?:model|train|training|run|experiment)[_-]?)?config\.(?:json|ya?ml|toml)"
    r"|(?:default|accelerate)[_-]?config\.ya?ml"
    r"|(?:training_|train_)?args\.(?:json|ya?ml)|(?:hyperparameters|hparams)\.ya?ml"
    r"|(?:ds|deepspeed|zero)[\w.-]{0,40}\.json"
)
_NO_RUN_OF_OURS = re.compile(r"pyproject|cargo|poetry|uv|ruff|holter")
_KEY = re.compile(rb"(?:^|[\n{,])[ \t]*[\"']?([A-Za-z_]\w{1,60})[\"']?[ \t]*[:=]")
_SECTION = re.compile(rb"\n?\[([\w.]{1,60})\]")
_ENOUGH = 2
_TRAINING = frozenset(
    {
        "learning_rate", "lr", "max_lr", "weight_decay", "warmup_steps", "lr_warmup_steps", "max_grad_norm",
        "grad_clip", "clip_grad", "max_norm", "max_steps", "max_epochs", "train_steps", "num_train_epochs",
        "num_epochs", "epochs", "batch_size", "micro_batch_size", "global_batch_size", "local_batch_size",
        "train_batch_size", "per_device_train_batch_size", "train_micro_batch_size_per_gpu",
        "global_train_batch_size", "device_train_microbatch_size", "gradient_accumulation_steps",
        "zero_optimization", "optimizer", "lr_scheduler", "lr_scheduler_type", "precision", "bf16", "fp16",
        "model_type", "model_name", "model_name_or_path", "base_model", "finetuning_type", "flavor",
        "data_parallel_shard_degree", "tensor_parallel_degree", "tokenizer_path", "log_freq", "output_dir",
        "out_dir", "save_folder", "num_processes", "num_machines", "mixed_precision", "distributed_type",
        "cutoff_len", "template", "max_duration", "dropout", "gradient_checkpointing", "seed",
    }
).union(*NAMES.values())  # fmt: skip


def is_settings(path: PurePath, head: bytes) -> bool:
    """Whether a file is called as settings are, and begins with names that settings of training have."""
    name = path.name.lower()
    ours = _FILE.fullmatch(name) or (path.suffix == ".toml" and not _NO_RUN_OF_OURS.match(name))
    if not ours or b"\0" in head:
        return False
    begins = head.lstrip()[:1]
    if not begins or (begins == b"{") != (path.suffix == ".json"):
        return False
    if name.startswith("hparams."):  # Lightning's name for it
        return _KEY.search(head) is not None
    return are_telling({found.decode() for found in _KEY.findall(head) + _SECTION.findall(head)})


def are_telling(names: set[str]) -> bool:
    """Whether enough of these names are such that settings of training have."""
    return len({name.lower() for name in names} & _TRAINING) >= _ENOUGH
