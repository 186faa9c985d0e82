"""Config files that programs write next to a launch's logs: config.json, hparams.yaml, torchtitan's TOML.

A file is recognized by its name, and by the names of training settings in its content.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import PurePath
from typing import Any, BinaryIO, ClassVar
from zlib import crc32

from holter.flops.config_names import NAMES
from holter.ingest.config_files.parse import MAX_SETTINGS, bounded_settings, parse_mapping
from holter.ingest.errors import ProblemBuffer
from holter.ingest.format import Content, FormatRole
from holter.ingest.rows import batch_from_rows
from holter.types import Batch, Config, Unreadable

MAX_FILE_BYTES = 1024 * 1024
_WANDB_KEY = "_wandb"
_FILE_NAME = re.compile(
    r"(?:(?:model|train|training|run|experiment)[_-]?)?config\.(?:json|ya?ml|toml)"
    r"|(?:default|accelerate)[_-]?config\.ya?ml"
    r"|(?:training_|train_)?args\.(?:json|ya?ml)|(?:hyperparameters|hparams)\.ya?ml"
    r"|(?:ds|deepspeed|zero)[\w.-]{0,40}\.json"
)
_OTHER_TOML = re.compile(r"pyproject|cargo|poetry|uv|ruff|holter")
_KEY = re.compile(rb"(?:^|[\n{,])[ \t]*[\"']?([A-Za-z_]\w{1,60})[\"']?[ \t]*[:=]")
_SECTION = re.compile(rb"\n?\[([\w.]{1,60})\]")
_MIN_KNOWN_SETTINGS = 2
_TRAINING_SETTINGS = frozenset(
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


class ConfigFile:
    """Settings by dotted names, without private ones, and no points.

    A config file makes no run, and is read only next to the logs of one. It is read once it is complete; one
    that is rewritten with other values belongs to a later launch.
    """

    name: ClassVar[str] = "settings"
    role: ClassVar[FormatRole] = FormatRole(content=Content.SETTINGS)

    def sniff(self, path: PurePath, head: bytes) -> bool:
        """The name of a config file, and content with settings of training."""
        return _is_config_file(path, head)

    def reader(self, path: PurePath, state: Mapping[str, Any]) -> ConfigFileReader:
        """A reader that resumes from `state`, also for a file that has been rewritten."""
        return ConfigFileReader(path.suffix.lower(), state)


class ConfigFileReader:
    """Reads one file when it is complete, and again when a setting in it has changed."""

    def __init__(self, suffix: str, state: Mapping[str, Any]) -> None:
        self._suffix = suffix
        self._is_rewritten = "rewritten" in state
        while "rewritten" in state:  # rewritten again before it was read
            state = state["rewritten"]
        self._checksum: str = state.get("said", "")
        self._problems = ProblemBuffer(state)

    def state(self) -> Mapping[str, Any]:
        """A checksum of the settings yielded last, and the problems not reported yet."""
        state = {"said": self._checksum, **self._problems.state()}
        return {"rewritten": state} if self._is_rewritten else state

    def read(self, stream: BinaryIO) -> Iterator[Batch | Unreadable]:
        """Yield the settings of a complete file, unless they are those yielded last; see `Reader`."""
        yield from self._problems.drain()
        position = stream.tell()
        stream.seek(0)
        data = stream.read(MAX_FILE_BYTES + 1)
        end = len(data) if self._suffix == ".json" else data.rfind(b"\n") + 1
        if end <= position:
            stream.seek(position)
            return
        config = self._config(data[:end]) if len(data) <= MAX_FILE_BYTES else None
        if len(data) > MAX_FILE_BYTES:
            self._problems.add("file", f"expected settings of at most {MAX_FILE_BYTES:,} bytes")
            end = stream.seek(0, 2)
        elif config is None:
            stream.seek(position)
            yield from self._problems.drain()
            return
        checksum = f"{crc32(repr(sorted((config or {}).items())).encode()):08x}"
        is_restart, self._is_rewritten = self._is_rewritten and bool(self._checksum), False
        stream.seek(end)
        if config and checksum != self._checksum:
            self._checksum = checksum
            batch = batch_from_rows([], config=config)
            yield Batch(steps=batch.steps, times=batch.times, columns=(), restarts=is_restart, config=config)
        yield from self._problems.drain()

    def _config(self, data: bytes) -> Config | None:
        """The settings of a document; None if it is incomplete or no mapping."""
        try:
            mapping = parse_mapping(self._suffix, data)
        except ValueError as error:
            self._problems.add("file", str(error))
            return {}
        if mapping is None:
            return None
        settings, count = bounded_settings(_without_wandb_wrappers(mapping))
        if count > MAX_SETTINGS:
            self._problems.add("file", f"expected at most {MAX_SETTINGS:,} settings, found {count:,}")
        return settings


def _without_wandb_wrappers(mapping: Mapping[Any, Any]) -> Mapping[Any, Any]:
    """The settings of W&B's config.yaml, which has each value below a key `value`, and a key of its own."""
    if _WANDB_KEY not in mapping:
        return mapping
    return {
        key: value["value"] if isinstance(value, Mapping) and "value" in value else value
        for key, value in mapping.items()
        if key != _WANDB_KEY
    }


def _is_config_file(path: PurePath, head: bytes) -> bool:
    """Whether a file has the name of a config file, and begins with names of training settings."""
    name = path.name.lower()
    is_named_so = _FILE_NAME.fullmatch(name) or (path.suffix == ".toml" and not _OTHER_TOML.match(name))
    if not is_named_so or b"\0" in head:
        return False
    first = head.lstrip()[:1]
    if not first or (first == b"{") != (path.suffix == ".json"):
        return False
    if name.startswith("hparams."):  # PyTorch Lightning's name
        return _KEY.search(head) is not None
    return are_training_settings({key.decode() for key in _KEY.findall(head) + _SECTION.findall(head)})


def are_training_settings(names: set[str]) -> bool:
    """Whether at least `_MIN_KNOWN_SETTINGS` of these names are known settings of training."""
    return len({name.lower() for name in names} & _TRAINING_SETTINGS) >= _MIN_KNOWN_SETTINGS
