"""Settings that torchtitan prints before its first step: model, devices, batch, activation checkpointing."""

from __future__ import annotations

import re
from math import prod

from holter.ingest.console.dialect import DialectState, LineKind, LineSettings
from holter.ingest.console.dialects.arguments import as_printed
from holter.types import ConfigValue

_MODEL = re.compile(r"Building (\S{1,60} \S{1,60}) with (?:\w{1,40}: )?\w{1,60}\((.{0,4000})\)")
_ARGUMENT = re.compile(r"\b([A-Za-z_]\w{0,60})=('[^']*'|[^\s,()\[\]{}]+)(?=[,)\]]|$)")
_SIZE = re.compile(r"Model .{1,120} size: ([\d,]{1,30}) total parameters")
_DEVICE = re.compile(r"(?:GPU|CUDA|XPU) capacity: (.{1,80}?)(?: \(\d{1,4}\))? with ([\d.]{1,12})GiB memory")
_PEAK = re.compile(r"Peak FLOPS used for computing MFU: ([\d.e+]{1,20})")
_MESH = re.compile(r"Building \d-D device mesh with \[([^\]]{1,200})\], \[([\d, ]{1,100})\]")
_BATCH = re.compile(r"(?:starts at step \d+, with|Trainer is initialized with) (local batch size .*)")
_NUMBER = re.compile(
    r"(local batch size|global batch size|gradient accumulation steps|sequence length) (\d{1,12})"
)
_STEPS = re.compile(r"total steps (\d{1,12}) \(warmup (\d{1,12})\)")
_RECOMPUTED = re.compile(r"Applied (\w{1,40}) activation checkpointing to the model")
_NAMES = {"sequence length": "seq_len"}


def _model(line: str, state: DialectState) -> LineSettings | None:
    """`Building llama3 8B with TransformerModelArgs(dim=4096, n_layers=32, …)`."""
    match = _MODEL.search(line)
    if match is None:
        return None
    arguments = {name: as_printed(text.strip("'")) for name, text in _ARGUMENT.findall(match[2])}
    return LineSettings({"model": match[1], **arguments})


def _size(line: str, state: DialectState) -> LineSettings | None:
    match = _SIZE.search(line)
    return LineSettings({"num_parameters": int(match[1].replace(",", ""))}) if match else None


def _device(line: str, state: DialectState) -> LineSettings | None:
    """`CUDA capacity: NVIDIA H200 with 139.81GiB memory`."""
    match = _DEVICE.search(line)
    return LineSettings({"gpu.name": match[1], "gpu.memory_gib": float(match[2])}) if match else None


def _peak(line: str, state: DialectState) -> LineSettings | None:
    match = _PEAK.search(line)
    return LineSettings({"peak_flops": as_printed(match[1])}) if match else None


def _mesh(line: str, state: DialectState) -> LineSettings | None:
    """`Building 2-D device mesh with ['dp_shard', 'tp'], [4, 2]`: all devices, and each parallelism."""
    match = _MESH.search(line)
    if match is None:
        return None
    names = re.findall(r"\w{1,40}", match[1])
    sizes = [int(size) for size in re.findall(r"\d{1,9}", match[2])]
    if len(names) != len(sizes):
        return None
    degrees: dict[str, ConfigValue] = {
        f"parallelism.{name}": size for name, size in zip(names, sizes, strict=True)
    }
    return LineSettings({"world_size": prod(sizes), **degrees})


def _batch(line: str, state: DialectState) -> LineSettings | None:
    """`… with local batch size 8, …, sequence length 8192, total steps 1000 (warmup 200)`."""
    match = _BATCH.search(line)
    if match is None:
        return None
    settings: dict[str, ConfigValue] = {
        _NAMES.get(name, name.replace(" ", "_")): int(text) for name, text in _NUMBER.findall(match[1])
    }
    if (steps := _STEPS.search(match[1])) is not None:
        settings |= {"steps": int(steps[1]), "warmup_steps": int(steps[2])}
    return LineSettings(settings)


def _recomputed(line: str, state: DialectState) -> LineSettings | None:
    match = _RECOMPUTED.search(line)
    return LineSettings({"activation_checkpoint.mode": match[1]}) if match else None


KINDS = (
    LineKind(
        pattern=re.compile(rb"Building \S{1,60} \S{1,60} with [\w: ]{1,110}\("),
        parse=_model,
        yields_settings=True,
    ),
    LineKind(pattern=re.compile(rb" total parameters"), parse=_size, yields_settings=True),
    LineKind(pattern=re.compile(rb" capacity: "), parse=_device, yields_settings=True),
    LineKind(pattern=re.compile(rb"Peak FLOPS used for"), parse=_peak, yields_settings=True),
    LineKind(pattern=re.compile(rb"-D device mesh with "), parse=_mesh, yields_settings=True),
    LineKind(pattern=re.compile(rb"with local batch size "), parse=_batch, yields_settings=True),
    LineKind(
        pattern=re.compile(rb" activation checkpointing to the"), parse=_recomputed, yields_settings=True
    ),
)
