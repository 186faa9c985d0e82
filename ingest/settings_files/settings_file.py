"""What programs write down of a launch beside its logs: config.json, hparams.yaml, torchtitan's TOML ..."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import PurePath
from typing import Any, BinaryIO, ClassVar
from zlib import crc32

from holter.ingest.problems import Problems
from holter.ingest.rows import batch_of
from holter.ingest.settings_files.bounded import MOST, kept_of
from holter.ingest.settings_files.documents import mapping_of
from holter.ingest.settings_files.known import is_settings
from holter.types import Batch, Config, Unreadable

LARGEST = 1024 * 1024
_OF_WANDB = "_wandb"


class SettingsFile:
    """Its settings by dotted names, without what is private; no points. `states_only`: it makes no run, and
    is read only where logs of one stand beside it.

    A file counts once it is whole; one that was written anew with other values speaks of a later launch.
    """

    name: ClassVar[str] = "settings"
    states_only: ClassVar[bool] = True

    def sniff(self, path: PurePath, head: bytes) -> bool:
        """A name that settings have, and content that is some."""
        return is_settings(path, head)

    def reader(self, path: PurePath, state: Mapping[str, Any]) -> SettingsReader:
        """A reader that goes on from `state`, or that says what a file written anew says."""
        return SettingsReader(path.suffix.lower(), state)


class SettingsReader:
    """Reads one file, all of it at once, and tells it again where anything in it is new."""

    def __init__(self, suffix: str, state: Mapping[str, Any]) -> None:
        self._suffix = suffix
        self._anew = "rewritten" in state
        while "rewritten" in state:  # it was written anew before it was read
            state = state["rewritten"]
        self._said: str = state.get("said", "")
        self._problems = Problems(state)

    def state(self) -> Mapping[str, Any]:
        """A mark of what was said last."""
        known = {"said": self._said, **self._problems.state()}
        return {"rewritten": known} if self._anew else known

    def read(self, stream: BinaryIO) -> Iterator[Batch | Unreadable]:
        """Yield what a whole file says, unless that was said before; see `Reader`."""
        yield from self._problems.tell()
        place = stream.tell()
        stream.seek(0)
        data = stream.read(LARGEST + 1)
        end = len(data) if self._suffix == ".json" else data.rfind(b"\n") + 1
        if end <= place:
            stream.seek(place)
            return
        config = self._config(data[:end]) if len(data) <= LARGEST else None
        if len(data) > LARGEST:
            self._problems.add("file", f"expected settings of at most {LARGEST:,} bytes")
            end = stream.seek(0, 2)
        elif config is None:
            stream.seek(place)
            yield from self._problems.tell()
            return
        said = f"{crc32(repr(sorted((config or {}).items())).encode()):08x}"
        anew, self._anew = self._anew and bool(self._said), False
        stream.seek(end)
        if config and said != self._said:
            self._said = said
            batch = batch_of([], config=config)
            yield Batch(steps=batch.steps, times=batch.times, columns=(), restarts=anew, config=config)
        yield from self._problems.tell()

    def _config(self, data: bytes) -> Config | None:
        """What the bytes say; None where they are no whole document."""
        try:
            found = mapping_of(self._suffix, data)
        except ValueError as error:
            self._problems.add("file", str(error))
            return {}
        if found is None:
            return None
        kept, count = kept_of(_unwrapped(found))
        if count > MOST:
            self._problems.add("file", f"expected at most {MOST:,} settings, found {count:,}")
        return kept


def _unwrapped(found: Mapping[Any, Any]) -> Mapping[Any, Any]:
    """W&B's config.yaml has each value below a key `value`, and what is its own beside them."""
    if _OF_WANDB not in found:
        return found
    pairs = ((key, one) for key, one in found.items() if key != _OF_WANDB)
    return {key: one["value"] if isinstance(one, Mapping) and "value" in one else one for key, one in pairs}
