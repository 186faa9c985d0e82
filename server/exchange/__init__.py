"""Runs as files and back: what is exported is imported without loss."""

from holter.server.exchange.arriving import Imported, Into
from holter.server.exchange.export import FORMATS, Exported, MissingPyarrowError, exported
from holter.server.exchange.imports import ImportRefusedError, import_file

__all__ = [
    "FORMATS",
    "Exported",
    "ImportRefusedError",
    "Imported",
    "Into",
    "MissingPyarrowError",
    "exported",
    "import_file",
]
