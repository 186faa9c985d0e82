"""Texts in which several speak: training in its dialect, a house's own, NCCL, kernels, schedulers."""

from holter.ingest.stdout.formats import console_dialects, text_formats

__all__ = ["console_dialects", "text_formats"]
