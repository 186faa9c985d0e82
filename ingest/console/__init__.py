"""What training programs print: one dialect a file, found by what the text says."""

from __future__ import annotations

from holter.ingest.console import (
    composer,
    deepspeed,
    fairseq,
    hf_trainer,
    key_value,
    litgpt,
    llmc,
    maxtext,
    megatron,
    megatron_progress,
    mlperf,
    modded_nanogpt,
    nanogpt,
    nanotron,
    nemo,
    olmo,
    torchtitan,
)
from holter.ingest.console.dialect import Dialect

_MEGATRON, _TRAINER, _DEEPSPEED = megatron.DIALECT, hf_trainer.DIALECT, deepspeed.DIALECT

DIALECTS: tuple[Dialect, ...] = (
    # DeepSpeed prints into the logs of those that use it, often before they say anything themselves
    _MEGATRON.beside(_DEEPSPEED),
    _TRAINER.beside(_DEEPSPEED),
    megatron_progress.DIALECT,
    nanotron.DIALECT,
    torchtitan.DIALECT,
    mlperf.DIALECT,
    olmo.DIALECT,
    composer.DIALECT,
    nemo.DIALECT,
    maxtext.DIALECT,
    litgpt.DIALECT,
    fairseq.DIALECT,
    nanogpt.DIALECT,
    llmc.DIALECT,
    modded_nanogpt.DIALECT,
    _DEEPSPEED.beside(_MEGATRON, _TRAINER),
    key_value.DIALECT,
)
"""In the order in which they are tried; what fits any text comes last."""
