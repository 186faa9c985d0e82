"""What a formula is: a name for good, where it comes from, and FLOPs of training on one token."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from holter.flops.shape import ModelShape


@dataclass(frozen=True, kw_only=True)
class Formula:
    """How somebody counts the floating point operations of training, forward and backward.

    `per_token(shape, recomputed)` gives FLOPs of one token; `recomputed` (all activations are computed again)
    matters only to formulas that count it: what they have divided by the peak is then HFU, not MFU. `causal`:
    of the attention only the half below the diagonal is counted. `source` names repository, file and version.
    """

    name: str
    title: str
    source: str
    causal: bool
    per_token: Callable[[ModelShape, bool], float]
