"""What training programs print: one dialect a file, found by what the text says."""

from __future__ import annotations

from holter.ingest.console import key_value, llmc, megatron, modded_nanogpt, nanogpt, torchtitan
from holter.ingest.console.dialect import Dialect

DIALECTS: tuple[Dialect, ...] = (
    megatron.DIALECT,
    torchtitan.DIALECT,
    nanogpt.DIALECT,
    llmc.DIALECT,
    modded_nanogpt.DIALECT,
    key_value.DIALECT,
)
"""In the order in which they are tried; what fits any text comes last."""
