"""Dialects of training programs, one per file; a text's dialect is detected by its signature."""

from __future__ import annotations

from holter.ingest.console.dialect import ConsoleDialect
from holter.ingest.console.dialects import (
    bars,
    caffe,
    cell_tables,
    columns,
    composer,
    deepspeed,
    fairseq,
    fixed_tables,
    grouped_tables,
    hf_trainer,
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
    plain_lines,
    positional,
    tables,
    torchtitan,
    ultralytics,
    verl,
)

_MEGATRON, _TRAINER, _DEEPSPEED = megatron.DIALECT, hf_trainer.DIALECT, deepspeed.DIALECT

FRAMEWORKS: tuple[ConsoleDialect, ...] = (
    # DeepSpeed prints into the logs of frameworks that use it, often before their own lines
    _MEGATRON.followed_by(_DEEPSPEED),
    _TRAINER.followed_by(_DEEPSPEED),
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
    ultralytics.DIALECT,
    llmc.DIALECT,
    modded_nanogpt.DIALECT,
    verl.DIALECT,
    caffe.DIALECT,
    _DEEPSPEED.followed_by(_MEGATRON, _TRAINER),
)
"""Dialects of frameworks, in the order in which they are tried."""

PLAIN_LINES = plain_lines.DIALECT.of_any_logger()
"""Any program's lines with a step and named numbers."""

GENERIC: tuple[ConsoleDialect, ...] = (
    *(
        dialect.followed_by(plain_lines.OWN_TEXT).of_any_logger()
        for dialect in (
            fixed_tables.DIALECT,
            bars.DIALECT,
            tables.DIALECT,
            columns.DIALECT,
            cell_tables.DIALECT,
            grouped_tables.DIALECT,
        )
    ),
    positional.DIALECT.followed_by(plain_lines.OWN_TEXT.of_any_logger()),
    plain_lines.OWN_TEXT.of_any_logger(),
)
"""Dialects for any program, tried last."""
