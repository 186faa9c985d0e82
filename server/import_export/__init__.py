"""Runs as files and back: what is exported is imported without loss."""

from holter.server.import_export.export import FORMATS, Exported, MissingPyarrowError, exported
from holter.server.import_export.import_file import ImportRefusedError, import_file
from holter.server.import_export.importer import Imported, Into

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
