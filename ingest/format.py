"""The protocol of formats: readers that turn the bytes of one kind of log into batches."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from enum import Enum
from pathlib import PurePath
from typing import Any, BinaryIO, Protocol, runtime_checkable

from holter.types import Batch, Unreadable


class Content(Enum):
    """What a kind of log contributes to a run."""

    TRAINING = "training"
    """The run's own curves. Of several logs of one run with the same curves, the most exact is read."""
    SUPPLEMENT = "supplement"
    """Curves on the training's steps that the run's other logs lack: read in addition to them."""
    OWN_STEPS = "own steps"
    """Series whose steps are not those of training, as their label `steps` states: read in addition."""
    SETTINGS = "settings"
    """Settings of launches and no rows: makes no run, and is read where logs of one run are next to it."""


@dataclass(frozen=True, kw_only=True, slots=True)
class FormatRole:
    """How the files of a format relate to the other logs of a run.

    `in_text`: the records are embedded in other text and may begin far behind a file's head, so that `sniff`
    is also called with later parts of the file.
    """

    content: Content = Content.TRAINING
    in_text: bool = False

    @property
    def has_own_steps(self) -> bool:
        """Whether all series of the format have steps of their own."""
        return self.content is Content.OWN_STEPS

    @property
    def is_additional(self) -> bool:
        """Whether files of the format are read in addition to other logs of a run, not instead of them."""
        return self.content in (Content.SUPPLEMENT, Content.OWN_STEPS)

    @property
    def is_settings(self) -> bool:
        """Whether the format has settings of launches and no rows."""
        return self.content is Content.SETTINGS


class Reader(Protocol):
    """Reads one source, and retains what it needs between two reads of a file that is being written."""

    def read(self, stream: BinaryIO) -> Iterator[Batch | Unreadable]:
        """Yield every complete record from the stream's position on, then return.

        Whenever it yields, and when it returns, `stream.tell()` and `state()` describe the position right
        after what was yielded: resuming there neither loses nor repeats anything. An incomplete record is
        left for the next call. A batch has a bounded number of points.
        """
        ...

    def state(self) -> Mapping[str, Any]:
        """What another reader needs to resume here, as JSON-able values."""
        ...


@runtime_checkable
class HoldingReader(Protocol):
    """A reader that holds back records until it has read more of its source."""

    @property
    def is_holding(self) -> bool:
        """Whether it holds any now."""
        ...

    def finish(self) -> Iterator[Batch]:
        """Yield what it holds, where the source is known to end."""
        ...


@runtime_checkable
class Format(Protocol):
    """One kind of log. Opening, tailing and retrying are the caller's business."""

    @property
    def name(self) -> str:
        """The name of the format, e.g. in cursors."""
        ...

    @property
    def role(self) -> FormatRole:
        """How its files relate to the other logs of a run."""
        ...

    def sniff(self, path: PurePath, head: bytes) -> bool:
        """Whether a file of this name that begins with `head` (up to 64 KiB) is of this format."""
        ...

    def reader(self, path: PurePath, state: Mapping[str, Any]) -> Reader:
        """A reader for one source; `state` is empty at first, later what `Reader.state` returned.

        Where the file has been replaced by other content, `state` is `{"rewritten": <the old state>}` and
        reading begins at 0; a format that has no use for it ignores it.
        """
        ...
