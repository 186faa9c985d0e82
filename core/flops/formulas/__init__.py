"""The formulas by which FLOPs of training are counted, each by name with its source."""

from __future__ import annotations

from collections.abc import Mapping

from holter.flops.formulas.composer import COMPOSER
from holter.flops.formulas.formula import Formula
from holter.flops.formulas.llmc import LLMC
from holter.flops.formulas.megatron_causal import MEGATRON_CAUSAL
from holter.flops.formulas.megatron_full import MEGATRON_FULL
from holter.flops.formulas.megatron_paper import BIGSCIENCE, MEGATRON_PAPER
from holter.flops.formulas.nanotron import NANOTRON
from holter.flops.formulas.own import OWN, Recomputed
from holter.flops.formulas.palm import PALM
from holter.flops.formulas.stas import STAS
from holter.flops.formulas.torchtitan import OLMO_CORE, TORCHTITAN

__all__ = ["FORMULAS", "Formula", "Recomputed"]

FORMULAS: Mapping[str, Formula] = {
    one.name: one
    for one in (
        OWN, PALM, MEGATRON_FULL, MEGATRON_CAUSAL, TORCHTITAN, OLMO_CORE, LLMC, MEGATRON_PAPER, BIGSCIENCE,
        STAS, COMPOSER, NANOTRON,
    )
}  # fmt: skip
