"""Collections of runs that other trackers have stored: read once, never written to."""

from __future__ import annotations

from pathlib import Path

from holter.ingest.trackers.base import Collection
from holter.ingest.trackers.mlflow_db import MlflowDatabase
from holter.ingest.trackers.mlflow_files import MlflowFiles
from holter.ingest.trackers.neptune import Neptune
from holter.ingest.trackers.trackio import Trackio
from holter.ingest.trackers.wandb_csv import WandbCsv

COLLECTIONS: tuple[Collection, ...] = (MlflowDatabase(), MlflowFiles(), Trackio(), Neptune(), WandbCsv())


def find_collection(path: Path) -> Collection | None:
    """The kind of collection at a path; None if there is none."""
    return next((collection for collection in COLLECTIONS if collection.matches(path)), None)
