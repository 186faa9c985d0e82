"""Looks into a file of `holter export`, and takes nothing."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from holter.server.import_export.read_file import read_file
from holter.server.import_export.validation import checked


@dataclass(frozen=True, kw_only=True, slots=True)
class Seen:
    """What a file holds. `project` and `run` are None where it holds points alone."""

    project: str | None
    run: str | None
    points: int
    series: int
    attempts: int
    incidents: int


def look_into(path: Path) -> Seen:
    """Read all of a file. Raises ValueError, MissingPyarrowError, OSError."""
    keys, attempts, points = set(), set(), 0
    with path.open("rb") as file:
        about, kept, rows = read_file(file)
        about = None if about is None else checked(about)
        for portion in rows:
            points += len(portion.step)
            keys.update(portion.keys)
            attempts.update(np.unique(portion.attempt).tolist())
    if not points:
        raise ValueError("it holds no points")
    named = kept or about or {}
    return Seen(
        project=named.get("project"), run=named.get("name") or named.get("run"), points=points,
        series=len(keys), attempts=len(attempts), incidents=len(about["incidents"]) if about else 0,
    )  # fmt: skip
