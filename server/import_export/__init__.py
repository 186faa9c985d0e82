"""Export of runs to files, and import of these and of other trackers' runs."""

from holter.server.import_export.export import FORMATS, ExportedRun, MissingPyarrowError, open_export
from holter.server.import_export.import_file import ImportRefusedError, import_file
from holter.server.import_export.importer import ImportContext, ImportProgress

__all__ = [
    "FORMATS",
    "ExportedRun",
    "ImportContext",
    "ImportProgress",
    "ImportRefusedError",
    "MissingPyarrowError",
    "import_file",
    "open_export",
]
