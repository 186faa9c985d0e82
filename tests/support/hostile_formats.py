"""A format as an installed package announces it, whose files do harm while they are detected or read.

The first line of a file says what: `read loop`, `read memory`, `read crash`, `read hang`, `detect loop`,
`detect crash`. `install` makes it known to processes that get its folder in PYTHONPATH. A loop that has
begun leaves the file `looping` in that folder.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterator, Mapping
from pathlib import Path, PurePath
from typing import Any, BinaryIO

from holter.ingest.format import FormatRole
from holter.types import Batch, Unreadable

SUFFIX = ".harm"
LOOPING = "HARMFUL_FORMAT_LOOPING"
"""The environment variable with the file that shows that a loop has begun."""


class HarmfulFormat:
    """Claims files that end in `.harm`, and does what their first line says."""

    name = "harmful"
    role = FormatRole()

    def sniff(self, path: PurePath, head: bytes) -> bool:
        """Claim files by their name."""
        if path.suffix != SUFFIX:
            return False
        do_harm("detect", head)
        return True

    def reader(self, path: PurePath, state: Mapping[str, Any]) -> HarmfulFormat:
        """The reader is this object."""
        return self

    def read(self, stream: BinaryIO) -> Iterator[Batch | Unreadable]:
        """Do what the first line says, and read nothing."""
        do_harm("read", stream.read())
        yield from ()

    def state(self) -> Mapping[str, Any]:
        """There is none."""
        return {}


def do_harm(phase: str, content: bytes) -> None:
    """Do what a file says, if it says it of this phase."""
    when, _, what = content.decode().partition("\n")[0].partition(" ")
    if when != phase:
        return
    if what == "loop":
        Path(os.environ[LOOPING]).touch()
        while True:
            pass
    elif what == "memory":
        kept = []
        while True:
            kept.append(bytes(10**6))
    elif what == "crash":
        os.abort()
    elif what == "hang":
        time.sleep(3600)


def install(folder: Path) -> dict[str, str]:
    """Write the metadata of a package that announces the format; returns the environment that finds it."""
    info = folder / "harmful_formats-1.0.dist-info"
    info.mkdir(parents=True, exist_ok=True)
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: harmful-formats\nVersion: 1.0\n")
    entry = f"harmful = {__name__}:HarmfulFormat"
    (info / "entry_points.txt").write_text(f"[holter.formats]\n{entry}\n")
    repository = Path(__file__).parents[2]
    paths = os.pathsep.join((str(folder), str(repository)))
    return {"PYTHONPATH": paths, LOOPING: str(folder / "looping")}
