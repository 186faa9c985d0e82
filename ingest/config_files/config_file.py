"""What programs write down of a launch beside its logs: config.json, hparams.yaml, torchtitan's TOML ...

How settings files are called, and the names by which their content is known to be settings of training.
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


def is_config_file(path: PurePath, head: bytes) -> bool:
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
    return are_training_settings({found.decode() for found in _KEY.findall(head) + _SECTION.findall(head)})


def are_training_settings(names: set[str]) -> bool:
    """Whether enough of these names are such that settings of training have."""
    return len({name.lower() for name in names} & _TRAINING) >= _ENOUGH


MAX_FILE_BYTES = 1024 * 1024
_OF_WANDB = "_wandb"


class ConfigFile:
    """Its settings by dotted names, without what is private; no points. `states_only`: it makes no run, and
    is read only where logs of one stand beside it.

    A file counts once it is whole; one that was written anew with other values speaks of a later launch.
    """

    name: ClassVar[str] = "settings"
    role: ClassVar[FormatRole] = FormatRole(content=Content.SETTINGS)

    def sniff(self, path: PurePath, head: bytes) -> bool:
        """A name that settings have, and content that is some."""
        return is_config_file(path, head)

    def reader(self, path: PurePath, state: Mapping[str, Any]) -> ConfigFileReader:
        """A reader that resumes from `state`, or that says what a file written anew says."""
        return ConfigFileReader(path.suffix.lower(), state)


class ConfigFileReader:
    """Reads one file, all of it at once, and tells it again where anything in it is new."""

    def __init__(self, suffix: str, state: Mapping[str, Any]) -> None:
        self._suffix = suffix
        self._anew = "rewritten" in state
        while "rewritten" in state:  # it was written anew before it was read
            state = state["rewritten"]
        self._said: str = state.get("said", "")
        self._problems = ProblemBuffer(state)

    def state(self) -> Mapping[str, Any]:
        """A mark of what was said last."""
        known = {"said": self._said, **self._problems.state()}
        return {"rewritten": known} if self._anew else known

    def read(self, stream: BinaryIO) -> Iterator[Batch | Unreadable]:
        """Yield what a whole file says, unless that was said before; see `Reader`."""
        yield from self._problems.drain()
        place = stream.tell()
        stream.seek(0)
        data = stream.read(MAX_FILE_BYTES + 1)
        end = len(data) if self._suffix == ".json" else data.rfind(b"\n") + 1
        if end <= place:
            stream.seek(place)
            return
        config = self._config(data[:end]) if len(data) <= MAX_FILE_BYTES else None
        if len(data) > MAX_FILE_BYTES:
            self._problems.add("file", f"expected settings of at most {MAX_FILE_BYTES:,} bytes")
            end = stream.seek(0, 2)
        elif config is None:
            stream.seek(place)
            yield from self._problems.drain()
            return
        said = f"{crc32(repr(sorted((config or {}).items())).encode()):08x}"
        anew, self._anew = self._anew and bool(self._said), False
        stream.seek(end)
        if config and said != self._said:
            self._said = said
            batch = batch_from_rows([], config=config)
            yield Batch(steps=batch.steps, times=batch.times, columns=(), restarts=anew, config=config)
        yield from self._problems.drain()

    def _config(self, data: bytes) -> Config | None:
        """What the bytes say; None where they are no whole document."""
        try:
            found = parse_mapping(self._suffix, data)
        except ValueError as error:
            self._problems.add("file", str(error))
            return {}
        if found is None:
            return None
        kept, count = bounded_settings(_unwrapped(found))
        if count > MAX_SETTINGS:
            self._problems.add("file", f"expected at most {MAX_SETTINGS:,} settings, found {count:,}")
        return kept


def _unwrapped(found: Mapping[Any, Any]) -> Mapping[Any, Any]:
    """W&B's config.yaml has each value below a key `value`, and what is its own beside them."""
    if _OF_WANDB not in found:
        return found
    pairs = ((key, one) for key, one in found.items() if key != _OF_WANDB)
    return {key: one["value"] if isinstance(one, Mapping) and "value" in one else one for key, one in pairs}
