"""LitGPT: `logger_name="holter"` for its pretraining and finetuning, once this is imported.

import holter.integrations.litgpt
litgpt.pretrain.setup(..., logger_name="holter")
"""

from __future__ import annotations

import functools
import sys
from typing import Any

import litgpt.finetune.full
import litgpt.finetune.lora
import litgpt.pretrain
import litgpt.utils

from holter.integrations.guard import guarded
from holter.integrations.lightning import HolterLogger

NAME = "holter"


@guarded
def register() -> None:
    """Let LitGPT's scripts know the name."""
    original = litgpt.utils.choose_logger
    if getattr(original, "knows_holter", False):
        return

    @functools.wraps(original)
    def choose_logger(logger_name: str, out_dir: Any, name: str, *args: Any, **kwargs: Any) -> Any:
        if logger_name == NAME:
            return HolterLogger(project=name)
        return original(logger_name, out_dir, name, *args, **kwargs)

    choose_logger.knows_holter = True  # type: ignore[attr-defined]
    for module in [module for name, module in sys.modules.items() if name.split(".")[0] == "litgpt"]:
        if getattr(module, "choose_logger", None) is original:
            module.choose_logger = choose_logger  # type: ignore[attr-defined]


register()
