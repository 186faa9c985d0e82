"""Plug-ins for training frameworks: each module needs its framework only, and imports it when it is imported.

`TrainingMonitor` is for loops of one's own; `transformers`, `lightning`, `accelerate`, `keras` and `litgpt`
have a callback, logger or tracker each. No plug-in raises an exception into the training.
"""

from __future__ import annotations

from holter.integrations.monitor import TrainingMonitor

__all__ = ["TrainingMonitor"]
