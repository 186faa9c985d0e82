"""Launches of Hugging Face's Trainer: each makes a folder, and some go on where an earlier one ended."""

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
_BEGAN = re.compile(r".*tfevents\.(\d{10})\..*")
_ARGUMENTS = b"args/text_summary"  # the Trainer's first record: its arguments as JSON
_OUTPUT = re.compile(rb'"output_dir": ("(?:[^"\\]|\\.)*")')
_INTERVAL = re.compile(rb'"logging_steps": (\d+)')


@dataclass(frozen=True, kw_only=True, slots=True)
class TrainerLaunch:
    """What a launch says of itself. `began` in Unix seconds; `interval` and `first_step` in steps."""

    output: str
    began: int
    interval: int
    first_step: int


def may_be_launch(file: Path) -> bool:
    """Whether a file stands in a folder such as `May05_12-30-00_node7`, torch's and the Trainer's name."""
    return _FOLDER.fullmatch(file.parent.name) is not None and _BEGAN.fullmatch(file.name) is not None


def read_launch(file: Path, format_: Format) -> TrainerLaunch | bool:
    """The launch that a file begins with, or whether it can still become one: its first step is awaited.

    Raises OSError where the file cannot be read.
    """
    head = read_head(file)
    records = format_.reader(file, {}).read(io.BytesIO(head))
    record = next((one for one in records if not isinstance(one, Batch) or len(one.steps)), None)
    if record is None:
        return len(head) < HEAD_BYTES
    output, interval, began = _OUTPUT.search(head), _INTERVAL.search(head), _BEGAN.fullmatch(file.name)
    if not isinstance(record, Batch) or _ARGUMENTS not in head or output is None or began is None:
        return False
    return TrainerLaunch(
        output=json.loads(output[1]),
        began=int(began[1]),
        interval=int(interval[1]) if interval else 0,
        first_step=int(record.steps[0]),
    )


def continued_launches(launches: Mapping[Path, TrainerLaunch]) -> dict[Path, Path]:
    """By the folder of each launch that goes on from an earlier one: the folder of that run's first launch.

    A launch goes on from the one before it with the same output folder if its first step lies beyond the
    first step of that run, and beyond the first at which it would have logged had it begun anew.
    """
    first: dict[tuple[Path, str], Path] = {}
    found = {}
    for folder, launch in sorted(launches.items(), key=lambda item: (item[1].began, item[0])):
        key = folder.parent, launch.output
        begun = first.get(key)
        if begun is not None and launch.first_step > max(launches[begun].first_step, launch.interval):
            found[folder] = begun
        else:
            first[key] = folder
    return found
