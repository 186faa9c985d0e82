"""Waits for changes below the watched roots: told by the kernel where that serves, looked for elsewhere.

Which file systems tell of changes: of what another machine writes, the kernel here never hears.
"""

from __future__ import annotations

import logging
import re
import threading
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from watchfiles import watch

MOUNT_TABLE = Path("/proc/self/mountinfo")

_REMOTE = re.compile(
    r"nfs\d?|cifs|smb\w*|ncpfs|afs|9p|ceph|glusterfs|lustre|gpfs|mmfs|beegfs|wekafs|pvfs2|orangefs|panfs|"
    r"virtiofs|vboxsf|prl_fs|fuse(\.(?!snapfuse|fuse-overlayfs|overlayfs).*)?|fuseblk|drvfs"
)


def file_system(path: Path, table: str) -> str:
    """The type of file system that holds a path, from the text of a mount table (proc(5), mountinfo)."""
    best, found = -1, ""
    for line in table.splitlines():
        before, _, after = line.partition(" - ")
        words, kind = before.split(), after.split()
        if len(words) < 5 or not kind:
            continue
        point = Path(re.sub(r"\\(\d{3})", lambda octal: chr(int(octal[1], 8)), words[4]))
        if path.is_relative_to(point) and len(point.parts) >= best:
            best, found = len(point.parts), kind[0]
    return found


def is_remote(path: Path, *, table: Path = MOUNT_TABLE) -> bool:
    """Whether changes below a path must be looked for; False where there is no mount table to ask."""
    try:
        text = table.read_text(errors="replace")
    except OSError:
        return False
    return _REMOTE.fullmatch(file_system(path.resolve(), text)) is not None


_log = logging.getLogger(__name__)

POLL_SECONDS = 0.5
SWEEP_SECONDS = 5.0  # even where the kernel tells, now and then everything is looked at: it may drop messages
_STEP_MS = 20
_DEBOUNCE_MS = 100
_TIMEOUT_MS = 250


class Changes(NamedTuple):
    """`paths` have changed; the roots in `sweep` want to be looked at as a whole."""

    paths: frozenset[Path]
    sweep: frozenset[Path]


class FolderWatch:
    """The roots, and when each must be looked at as a whole."""

    def __init__(
        self, roots: Sequence[Path], *, poll: float | None, clock: Callable[[], float], stop: threading.Event
    ) -> None:
        self._clock, self._stop = clock, stop
        told = poll is None
        self.told = [root for root in roots if told and root.is_dir() and not is_remote(root)]
        self._every = {root: SWEEP_SECONDS if root in self.told else poll or POLL_SECONDS for root in roots}
        # at once, for what changed before the kernel was asked to tell
        self._next = dict.fromkeys(roots, clock())

    def swept(self, root: Path, cost: float) -> None:
        """A look at a whole root is over; an expensive one is repeated less often."""
        self._next[root] = self._clock() + max(self._every[root], 10 * cost)

    def changes(self) -> Iterator[Changes]:
        """Yield several times a second, whether or not anything has changed, until the stop is set."""
        if self.told:
            try:
                yield from self._told()
            except (OSError, RuntimeError) as error:  # the limit of watches is reached, or a root has gone
                _log.warning(
                    "changes are looked for every %s s, since the kernel does not tell: %s",
                    POLL_SECONDS,
                    error,
                )
                for root in self.told:
                    self._every[root] = POLL_SECONDS
                    self._next[root] = self._clock()
        while not self._stop.wait(self._pause()):
            yield Changes(frozenset(), self._due())

    def _told(self) -> Iterator[Changes]:
        found = watch(
            *self.told,
            watch_filter=None,
            debounce=_DEBOUNCE_MS,
            step=_STEP_MS,
            stop_event=self._stop,
            rust_timeout=_TIMEOUT_MS,
            yield_on_timeout=True,
            ignore_permission_denied=True,
        )
        for changed in found:
            yield Changes(frozenset(Path(path) for _, path in changed), self._due())

    def _due(self) -> frozenset[Path]:
        now = self._clock()
        return frozenset(root for root, moment in self._next.items() if moment <= now)

    def _pause(self) -> float:
        return max(0.01, min(_TIMEOUT_MS / 1000, min(self._next.values()) - self._clock()))
