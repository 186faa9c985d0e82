"""Texts in which several speak: training in its dialect, a house's own, NCCL, kernels, schedulers."""

from holter.ingest.stdout.formats import dialects, texts

__all__ = ["dialects", "texts"]
