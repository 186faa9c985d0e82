"""Holter: a heart monitor for training runs.

`holter.init(...).log(...)` sends metrics from a training process (standard library only);
`holter.analyze(...)` detects findings in arrays and data frames in a notebook, `holter.findings_frame(...)`
converts them to a data frame (both need `holter[detect]`).
"""

from __future__ import annotations

from importlib import import_module
from importlib.metadata import version
from typing import Any

__version__ = version("holter")
__all__ = ["__version__", "analyze", "diff", "findings_frame", "init"]

# imported on first use, so that a training process does not import numpy, nor a notebook the client
_LAZY = {
    "init": "holter.client",
    "analyze": "holter.cli.notebook",
    "findings_frame": "holter.cli.notebook",
    "diff": "holter.cli.notebook_diff",
}


def __getattr__(name: str) -> Any:
    if name in _LAZY:
        try:
            return getattr(import_module(_LAZY[name]), name)
        except ModuleNotFoundError as error:
            raise ImportError(f"holter.{name} needs {error.name}: pip install 'holter[detect]'") from error
    raise AttributeError(f"module 'holter' has no attribute {name!r}")
