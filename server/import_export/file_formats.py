"""The formats of files of runs, and what they need."""

from __future__ import annotations

from importlib.util import find_spec

FORMAT = 1
MEDIA = {
    "csv": "text/csv",
    "json": "application/json",
    "parquet": "application/vnd.apache.parquet",
}
FORMATS = tuple(MEDIA)
"""File formats of exports; all of them can be imported."""


class MissingPyarrowError(ValueError):
    """Parquet files need a package that is not installed."""


def require_pyarrow(form: str) -> None:
    """Raise MissingPyarrowError if a format needs pyarrow and it is not installed."""
    if form == "parquet" and find_spec("pyarrow") is None:
        raise MissingPyarrowError(f"{form} files need pyarrow: pip install 'holter[parquet]'")
