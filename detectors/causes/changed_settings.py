"""Changed settings: what the configuration of a launch states differently from the one before."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from holter.detectors.causes.logged_changes import CauseCode
from holter.types import ConfigKey, ConfigValue, Labels

ConfigByAttempt = Mapping[ConfigKey, Mapping[int, ConfigValue]]

_START, _END = r"(^|[^a-z])", r"($|[^a-z])"
_OF_THE_LAUNCH = re.compile(
    rf"{_START}(path|paths|dir|dirs|folder|file|files|host|hostname|hosts|node|port|addr|address|url|uri|id|ids|"
    rf"pid|uuid|name|names|date|time|timestamp|log|logs|logger|logging|wandb|tensorboard|save|saves|output|"
    rf"resume|load|ckpt|checkpoint|user|job|slurm|rank|version|commit|hash|tag|tags|notes|master|argv|command|"
    rf"exit|interval|every|verbose|debug|profile|profiler)s?{_END}"
)
"""Settings that differ from launch to launch and change nothing about the training."""
_OF_TRAINING: tuple[tuple[CauseCode, str], ...] = (
    (CauseCode.GRADIENT_CLIPPING, r"clip|max_?grad_?norm"),
    (
        CauseCode.PRECISION,
        r"precision|(^|[^a-z])dtype|(^|[^a-z])(fp16|bf16|fp8|fp32|tf32|amp)($|[^a-z])|loss_?scale",
    ),
    (CauseCode.BATCH_SIZE, r"batch_?size|grad(ient)?_?acc(um)?"),
    (
        CauseCode.SEQUENCE_LENGTH,
        r"seq(uence)?_?len|context_?len|block_?size|max_?(position|length)|(^|[^a-z])n_?ctx",
    ),
    (CauseCode.LEARNING_RATE, r"(^|[^a-z])lr($|[^a-z])|learning_?rate|warm_?up|(^|[^a-z])schedule|lr_?decay"),
    (
        CauseCode.MIXTURE,
        r"mix|blend|(^|[^a-z])data|dataset|corpus|tokenizer|shuffle|(^|[^a-z])seed|split|augment",
    ),
    (
        CauseCode.HYPERPARAMETER,
        r"optim|adam|beta|momentum|weight_?decay|(^|[^a-z])(eps|epsilon|wd|ema)($|[^a-z])|dropout|smoothing|"
        r"temperature|max_?steps|train_?iters|total_?steps|epochs|num_?layers|hidden|num_?heads|n_?layer|"
        r"n_?head|n_?embd|ffn|vocab|activation|norm|init|rope|loss|coef|weight|experts|lora",
    ),
)
_TRAINING_DATA = re.compile(r"(^|_)(train_)?(data|dataset|corpus|blend)_(path|dir|name|file|id)s?$")
_OF_TRAINING_COMPILED = tuple((code, re.compile(pattern)) for code, pattern in _OF_TRAINING)
_OF_SPEED = re.compile(
    r"parallel|world_?size|num_?(nodes|gpus|devices|workers)|workers|zero|fsdp|shard|offload|recompute|"
    r"(activation|gradient)_?checkpoint|nccl|ib_|socket|prefetch|pin_?memory|compile|flash|attention|kernel|"
    r"overlap|bucket|batch_?size|grad(ient)?_?acc(um)?|seq(uence)?_?len|dtype|precision|fp16|bf16|fp8|tf32|cuda"
)


@dataclass(frozen=True, kw_only=True)
class LaunchSettingChange:
    """A setting that a launch states with another value than the newest launch before that stated it."""

    name: str
    labels: Labels
    code: CauseCode
    before: ConfigValue
    after: ConfigValue


def changed_settings(config: ConfigByAttempt, attempt: int, *, of_speed: bool) -> list[LaunchSettingChange]:
    """The settings of the job that changed with an attempt and may matter, by name.

    `of_speed`: those that may matter to the speed of the run, otherwise those that may matter to its loss.
    """
    return list(_changes(config, attempt, of_speed=of_speed))


def _changes(config: ConfigByAttempt, attempt: int, *, of_speed: bool) -> Iterator[LaunchSettingChange]:
    for key in sorted(config):
        values = config[key]
        if attempt not in values or key.labels:
            continue
        earlier = [number for number in values if number < attempt]
        if not earlier:
            continue
        before, after = values[max(earlier)], values[attempt]
        if before == after and isinstance(before, bool) is isinstance(after, bool):
            continue
        code = setting_code(key.name, of_speed=of_speed)
        if code is not None:
            yield LaunchSettingChange(name=key.name, labels=key.labels, code=code, before=before, after=after)


def setting_code(name: str, *, of_speed: bool) -> CauseCode | None:
    """The kind of cause that a change of a setting would be; None for what cannot matter."""
    words = re.sub(r"(?<=[a-z])(?=[A-Z])", "_", name).lower().replace("-", "_")
    if of_speed and _OF_SPEED.search(words):
        return CauseCode.HYPERPARAMETER
    last = words.rsplit(".", 1)[-1]
    if of_speed:
        return None
    if _OF_THE_LAUNCH.search(last.replace("_", " ")):
        return CauseCode.MIXTURE if _TRAINING_DATA.search(last) else None
    for part in (last, words):
        for code, pattern in _OF_TRAINING_COMPILED:
            if pattern.search(part):
                return code
    return None
