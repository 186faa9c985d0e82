"""What a format promises: the bytes of one kind of log become batches."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import PurePath
from typing import Any, BinaryIO, Protocol

from holter.types import Batch, Unreadable


class Reader(Protocol):
    """Reads one source. Holds what it must remember between two looks at a growing file."""

    def read(self, stream: BinaryIO) -> Iterator[Batch | Unreadable]:
        """Yield everything complete from the stream's position on, then return.

        Whenever it yields, and when it returns, `stream.tell()` and `state()` describe the place right
        after what was yielded: going on from there loses and repeats nothing. A record that is not
        complete yet is left for the next call. A batch holds a bounded number of points.
        """
        ...

    def state(self) -> Mapping[str, Any]:
        """What another reader needs to go on from here, as JSON-able values."""
        ...


class Format(Protocol):
    """One kind of log. No I/O policy of its own: who opens, follows and retries is not its business.

    A format with an attribute `among_text` that is true has its records among other text: they may begin
    far behind a file's head, which `sniff` is then asked about piece by piece. One with an attribute `beside`
    that is true says nothing that a run's other logs say: its series have steps of their own, told by their
    label `steps`.
    One with an attribute `adds` that is true tells of a run's steps what its other logs do not: it is read
    together with them.
    One with an attribute `states_only` that is true has no rows: it makes no run, and is read where logs of
    one stand beside it.
    """

    @property
    def name(self) -> str:
        """What it is called, e.g. in cursors."""
        ...

    def sniff(self, path: PurePath, head: bytes) -> bool:
        """Whether a file of this name that begins with `head` (up to 64 KiB) is of this kind."""
        ...

    def reader(self, path: PurePath, state: Mapping[str, Any]) -> Reader:
        """A reader for one source; `state` is empty at the first look, else what `state()` gave.

        Where another content has taken the file's place, `state` is `{"rewritten": <the old state>}` and
        reading begins at 0; a format that has no use for it ignores it.
        """
        ...


def is_among_text(format_: Format) -> bool:
    """Whether a format's records stand among other text."""
    return bool(getattr(format_, "among_text", False))


def adds(format_: Format) -> bool:
    """Whether a format tells of a run's steps what its other logs do not."""
    return bool(getattr(format_, "adds", False))


def stands_beside(format_: Format) -> bool:
    """Whether a format's series have steps of their own, so that they add to other logs of a run."""
    return bool(getattr(format_, "beside", False))


def states_only(format_: Format) -> bool:
    """Whether a format states how launches are set up, and has no rows at all."""
    return bool(getattr(format_, "states_only", False))
