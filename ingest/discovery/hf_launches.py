"""Launches of Hugging Face's Trainer: each makes a folder, and some continue the run of an earlier one."""

from __future__ import annotations

import io
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from holter.ingest.format import Format
from holter.ingest.open_log import HEAD_BYTES, read_head
from holter.types import Batch

_FOLDER = re.compile(r"[A-Z][a-z]{2}\d\d_\d\d-\d\d-\d\d_.*")
_STARTED = re.compile(r".*tfevents\.(\d{10})\..*")
_ARGUMENTS = b"args/text_summary"  # the Trainer's first record: its arguments as JSON
_OUTPUT = re.compile(rb'"output_dir": ("(?:[^"\\]|\\.)*")')
_INTERVAL = re.compile(rb'"logging_steps": (\d+)')


@dataclass(frozen=True, kw_only=True, slots=True)
class TrainerLaunch:
    """One launch, from its event file. `started` in Unix seconds; `interval` and `first_step` in steps."""

    output: str
    started: int
    interval: int
    first_step: int


def may_be_launch(file: Path) -> bool:
    """Whether a file is in a folder such as `May05_12-30-00_node7`, as torch and the Trainer name them."""
    return _FOLDER.fullmatch(file.parent.name) is not None and _STARTED.fullmatch(file.name) is not None


def read_launch(file: Path, format_: Format) -> TrainerLaunch | bool:
    """The launch that a file begins with; True while its first step is not written yet, False if it is none.

    Raises OSError if the file cannot be read.
    """
    head = read_head(file)
    records = format_.reader(file, {}).read(io.BytesIO(head))
    first = next((record for record in records if not isinstance(record, Batch) or len(record.steps)), None)
    if first is None:
        return len(head) < HEAD_BYTES
    output, interval, started = _OUTPUT.search(head), _INTERVAL.search(head), _STARTED.fullmatch(file.name)
    if not isinstance(first, Batch) or _ARGUMENTS not in head or output is None or started is None:
        return False
    return TrainerLaunch(
        output=json.loads(output[1]),
        started=int(started[1]),
        interval=int(interval[1]) if interval else 0,
        first_step=int(first.steps[0]),
    )


def continued_launches(launches: Mapping[Path, TrainerLaunch]) -> dict[Path, Path]:
    """The folder of the run's first launch, by the folder of each launch that continues a run.

    A launch continues the one before it with the same output folder if its first step is beyond the first
    step of that run, and beyond the first step that a new run would log.
    """
    first: dict[tuple[Path, str], Path] = {}
    continued = {}
    for folder, launch in sorted(launches.items(), key=lambda item: (item[1].started, item[0])):
        key = folder.parent, launch.output
        begun = first.get(key)
        if begun is not None and launch.first_step > max(launches[begun].first_step, launch.interval):
            continued[folder] = begun
        else:
            first[key] = folder
    return continued
