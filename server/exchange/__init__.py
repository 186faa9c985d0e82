"""Runs as files and back: what is exported is imported without loss."""

from holter.server.exchange.collections import Taken, import_collection
from holter.server.exchange.export import FORMATS, Exported, MissingPyarrowError, exported
from holter.server.exchange.imports import Imported, ImportRefusedError, import_file

__all__ = [
    "FORMATS",
    "Exported",
    "ImportRefusedError",
    "Imported",
    "MissingPyarrowError",
    "Taken",
    "exported",
    "import_collection",
    "import_file",
]
