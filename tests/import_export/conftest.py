"""Files that the real clients of trackers wrote (data/make.py), unpacked for each test."""

from __future__ import annotations

import gzip
import tarfile
from pathlib import Path

import pytest

from tests.support.servers import holter, quiet_surroundings, serve

__all__ = ["holter", "quiet_surroundings", "serve"]

DATA = Path(__file__).parent / "data"


@pytest.fixture
def tracker_files(tmp_path: Path) -> Path:
    """A folder with `mlflow.db`, `mlruns`, `trackio/llm.db` and `neptune`."""
    folder = tmp_path / "trackers"
    (folder / "trackio").mkdir(parents=True)
    (folder / "mlflow.db").write_bytes(gzip.decompress((DATA / "mlflow.db.gz").read_bytes()))
    (folder / "trackio" / "llm.db").write_bytes(gzip.decompress((DATA / "trackio-llm.db.gz").read_bytes()))
    for name, inside in (("mlruns", folder), ("neptune", folder / "neptune")):
        with tarfile.open(DATA / f"{name}.tar.gz") as packed:
            packed.extractall(inside, filter="data")
    return folder
