"""The size and shape of a model, from which the server computes TFLOPS and MFU."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from typing import Any

_MAX_PARAMETERS = 1_000_000


def describe_model(model: Any) -> dict[str, Any]:
    """The model's own configuration, as Hugging Face, litgpt and nanoGPT attach it, and its parameters.

    Parameters that a rank has a part of only (ZeRO, FSDP) are not counted.
    """
    model = getattr(model, "module", model)
    described: dict[str, Any] = {}
    config = getattr(model, "config", None)
    if callable(to_dict := getattr(config, "to_dict", None)):
        described |= to_dict()
    elif isinstance(config, Mapping):
        described |= config
    elif config is not None and hasattr(config, "__dict__"):
        described |= vars(config)
    if (parameters := count_parameters(model)) is not None:
        described["num_parameters"] = parameters
    return described


def count_parameters(model: Any) -> int | None:
    """The number of weights of a torch or Keras model; None for others, and for parts of a model."""
    if callable(count := getattr(model, "count_params", None)):
        return int(count())
    if not callable(parameters := getattr(model, "parameters", None)):
        return None
    total = 0
    for number, weight in enumerate(parameters()):
        if number > _MAX_PARAMETERS or hasattr(weight, "ds_id") or hasattr(weight, "_local_tensor"):
            return None
        total += int(weight.numel())
    return total or None


def describe_device() -> dict[str, Any]:
    """The name of the GPU that torch uses already; no device is initialised for it."""
    cuda = sys.modules.get("torch.cuda")
    if cuda is None or not cuda.is_initialized():
        return {}
    return {"gpu_name": str(cuda.get_device_name())}
