"""Differences between the settings of runs: under common names, without what only looks different."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum

from holter.attempts.config import ConfigByAttempt, newest_settings
from holter.config_keys import common_names
from holter.environment_names import OF_ONE_LAUNCH, PACKAGES, PREFIX
from holter.types import ConfigValue


class SettingCategory(StrEnum):
    """What a setting is about."""

    CONFIGURATION = "configuration"
    """The training itself: model, data, optimizer."""
    LAUNCH = "launch"
    """How it is spread over devices, and how long it lasts."""
    ENVIRONMENT = "environment"
    """Software and variables."""
    HARDWARE = "hardware"
    """Devices, links and machines."""
    IDENTITY = "identity"
    """Names, paths, ports and times, which differ between any two runs."""


_START, _END = r"(^|[^a-z])", r"($|[^a-z])"
_IDENTITY = re.compile(
    rf"{_START}(run_?id|run_?name|run|exp(eriment)?(_?(name|id))?|name|names|group|entity|project|host|hosts|"
    rf"hostname|node|job|job_id|job_name|pod|pid|uuid|id|path|paths|dir|dirs|folder|file|files|url|uri|port|addr|"
    rf"address|date|time|timestamp|started|start_time|log|logs|logging|logger|wandb|mlflow|tensorboard|output|"
    rf"save|resume|load|ckpt|checkpoint|user|tag|tags|notes|argv|command|restart_count|serial|bus_id){_END}"
)
_DATA = re.compile(r"data|corpus|train_?files?|blend|tokenizer|model_name|model_path|pretrained|base_model")
_HARDWARE = re.compile(
    r"(environment/)?(gpu|gpus|device|devices|accelerator|driver|cpu|cpus|memory|nic|ib|nvlink|topology)([._/]|$)|"
    r"nccl\.(ib|socket|net|oob|gdrdma|channels|nvls|ofi|nics)|slurm\.(partition|nodelist)|gpu_?(name|type|count)"
)
_LAUNCH = re.compile(
    rf"(tensor|pipeline|data|context|expert|sequence)_?(model_)?parallel|{_START}(tp|pp|dp|cp|ep){_END}|world_?size|"
    r"nnodes|num_?nodes|nodes$|num_?(gpus|devices|processes|workers)|per_?node|micro_?batch|per_device|"
    r"grad(ient)?_?acc(um)?|fsdp|zero|shard|offload|recompute|(activation|gradient)_?checkpoint|launcher|backend|"
    r"compile|workers|prefetch|pin_?memory|overlap|bucket|slurm|torchrun"
)
_ENVIRONMENT = re.compile(
    r"environment/|nccl|cuda|cudnn|(torch|python|transformers|flash_attn|deepspeed|megatron)(_core)?[._]?version|"
    r"(^|[._/])version$|git([._/]|_?(commit|branch|sha|hash|changed))|commit|env\.|package"
)
_UNSET = frozenset({"", "none", "null", "nan", "~", "n/a"})
_NOTHING = _UNSET | frozenset({"[]", "{}", "false", "off", "no", "0", "0.0"})
_PRECISIONS = {
    "bfloat16": "bf16", "torch.bfloat16": "bf16", "float16": "fp16", "half": "fp16", "torch.float16": "fp16",
    "float32": "fp32", "torch.float32": "fp32", "float": "fp32",
}  # fmt: skip


@dataclass(frozen=True, kw_only=True, slots=True)
class SettingDifference:
    """A setting that differs between runs, by its common name.

    `names` are its names in the runs, `values` its newest values, None where a run does not state it.
    `folded`: not all runs state it, and it is empty, off or 0 where they do, as a default would be.
    """

    name: str
    category: SettingCategory
    names: tuple[str | None, ...]
    values: tuple[ConfigValue | None, ...]
    folded: bool


@dataclass(frozen=True, kw_only=True, slots=True)
class SettingsComparison:
    """The differences between the settings of runs, and how many settings all state with equal values."""

    differences: tuple[SettingDifference, ...]
    equal: int

    def of(self, *categories: SettingCategory, folded: bool = False) -> list[SettingDifference]:
        """The differences of some categories; `folded`: also those that may be defaults."""
        return [
            each for each in self.differences if each.category in categories and (folded or not each.folded)
        ]


def settings_of_run(config: ConfigByAttempt) -> dict[str, ConfigValue]:
    """The newest value of each setting of a run by its own name.

    Of settings that single processes state, those that all agree on; lists of packages as a setting each.
    """
    by_process: dict[str, set[ConfigValue]] = {}
    for key, values in config.items():
        if key.labels:
            by_process.setdefault(key.name, set()).add(values[max(values)])
    agreed = {name: next(iter(values)) for name, values in by_process.items() if len(values) == 1}
    return dict(_with_packages(agreed | newest_settings(config)))


def _with_packages(settings: Mapping[str, ConfigValue]) -> Iterable[tuple[str, ConfigValue]]:
    prefix = f"{PREFIX}{PACKAGES}"
    for name, value in settings.items():
        if not (name.startswith(prefix) and isinstance(value, str)):
            yield name, value
            continue
        for line in value.splitlines():
            package, _, version = line.replace("==", " ").strip().partition(" ")
            if package:
                yield f"{prefix}{package}", version.strip()


def compare_settings(runs: Sequence[Mapping[str, ConfigValue]]) -> SettingsComparison:
    """The differences between the settings of runs, those of the training first, then by name."""
    named: list[dict[str, str]] = []
    for settings in runs:
        environment = {name: name for name in settings if name.startswith(PREFIX)}
        common = common_names(name for name in settings if name not in environment)
        named.append({shared: own for own, shared in (common | environment).items()})
    every = dict.fromkeys(name for names in named for name in names)
    differences, equal = [], 0
    for name in every:
        names = tuple(own.get(name) for own in named)
        values = tuple(
            None if own is None else settings[own] for own, settings in zip(names, runs, strict=True)
        )
        plain = [None if value is None else _plain(value) for value in values]
        if all(value == plain[0] for value in plain):
            equal += 1
            continue
        stated = [str(value) for value in plain if value is not None]
        folded = len(stated) < len(plain) and all(value in _NOTHING for value in stated)
        differences.append(
            SettingDifference(
                name=name,
                category=category_of(name),
                names=names,
                values=values,
                folded=folded,
            )
        )
    order = list(SettingCategory)
    differences.sort(key=lambda each: (order.index(each.category), each.folded, each.name))
    return SettingsComparison(differences=tuple(differences), equal=equal)


def category_of(name: str) -> SettingCategory:
    """What a setting is about, by its common name."""
    plain = name.lower()
    last = plain.removeprefix(PREFIX)
    if plain.startswith(PREFIX) and last.partition("/")[0] in OF_ONE_LAUNCH:
        return SettingCategory.IDENTITY
    if _HARDWARE.match(plain):
        return SettingCategory.HARDWARE
    if _ENVIRONMENT.search(plain):
        return SettingCategory.ENVIRONMENT
    if _IDENTITY.search(plain) and not _DATA.search(plain):
        return SettingCategory.IDENTITY
    return SettingCategory.LAUNCH if _LAUNCH.search(plain) else SettingCategory.CONFIGURATION


def _plain(value: ConfigValue) -> str:
    """A value as text by which equal values are equal: 1e-4, "0.0001" and 0.0001; true and "True"; bf16."""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, str):
        text = value.strip().strip("'\"")
        number = _number(text)
        if number is None:
            lower = text.lower()
            if lower in _UNSET:
                return ""
            return _PRECISIONS.get(lower, lower if lower in _NOTHING | {"true"} else _same_json(text))
        value = number
    return f"{float(value):.12g}"


def _number(text: str) -> float | None:
    try:
        return None if text.lower() in _UNSET else float(text.replace("_", ""))
    except ValueError:
        return None


def _same_json(text: str) -> str:
    """Lists and objects with uniform spaces and order of keys; other texts as they are."""
    if text[:1] not in "[{":
        return text
    try:
        return json.dumps(json.loads(text), sort_keys=True)
    except ValueError:
        return re.sub(r"\s+", "", text)
