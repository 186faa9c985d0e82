"""Waits for changes below the watched roots, by notifications of the kernel or by polling.

The kernel does not report what another machine writes to a remote file system: such roots are polled.
"""

from __future__ import annotations

import logging
import re
import threading
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from watchfiles import watch

_log = logging.getLogger(__name__)

MOUNT_TABLE = Path("/proc/self/mountinfo")
POLL_SECONDS = 0.5
SWEEP_SECONDS = 5.0  # roots with notifications are scanned now and then, too: the kernel may drop some

_STEP_MS = 20
_DEBOUNCE_MS = 100
_TIMEOUT_MS = 250
_REMOTE = re.compile(
    r"nfs\d?|cifs|smb\w*|ncpfs|afs|9p|ceph|glusterfs|lustre|gpfs|mmfs|beegfs|wekafs|pvfs2|orangefs|panfs|"
    r"virtiofs|vboxsf|prl_fs|fuse(\.(?!snapfuse|fuse-overlayfs|overlayfs).*)?|fuseblk|drvfs"
)


class Changes(NamedTuple):
    """`paths` have changed; the roots in `sweep` are due for a full scan."""

    paths: frozenset[Path]
    sweep: frozenset[Path]


class FolderWatch:
    """The watched roots, and when each is due for a full scan."""

    def __init__(
        self, roots: Sequence[Path], *, poll: float | None, clock: Callable[[], float], stop: threading.Event
    ) -> None:
        self._clock, self._stop = clock, stop
        notify = poll is None
        self.notified = [root for root in roots if notify and root.is_dir() and not is_remote(root)]
        self._interval = {
            root: SWEEP_SECONDS if root in self.notified else poll or POLL_SECONDS for root in roots
        }
        # due at once, for what changed before the kernel was asked for notifications
        self._next = dict.fromkeys(roots, clock())

    def swept(self, root: Path, cost: float) -> None:
        """Schedule the next full scan of a root; one that took long is repeated less often."""
        self._next[root] = self._clock() + max(self._interval[root], 10 * cost)

    def changes(self) -> Iterator[Changes]:
        """Yield several times a second, whether or not anything has changed, until the stop is set."""
        if self.notified:
            try:
                yield from self._notifications()
            except (OSError, RuntimeError) as error:  # the limit of watches is reached, or a root is gone
                _log.warning(
                    "folders are scanned every %s s, since the kernel reports no changes: %s",
                    POLL_SECONDS,
                    error,
                )
                for root in self.notified:
                    self._interval[root] = POLL_SECONDS
                    self._next[root] = self._clock()
        while not self._stop.wait(self._pause()):
            yield Changes(frozenset(), self._due())

    def _notifications(self) -> Iterator[Changes]:
        notifications = watch(
            *self.notified,
            watch_filter=None,
            debounce=_DEBOUNCE_MS,
            step=_STEP_MS,
            stop_event=self._stop,
            rust_timeout=_TIMEOUT_MS,
            yield_on_timeout=True,
            ignore_permission_denied=True,
        )
        for changed in notifications:
            yield Changes(frozenset(Path(path) for _, path in changed), self._due())

    def _due(self) -> frozenset[Path]:
        now = self._clock()
        return frozenset(root for root, due_at in self._next.items() if due_at <= now)

    def _pause(self) -> float:
        return max(0.01, min(_TIMEOUT_MS / 1000, min(self._next.values()) - self._clock()))


def is_remote(path: Path, *, table: Path = MOUNT_TABLE) -> bool:
    """Whether changes below a path need polling; False if there is no mount table to read."""
    try:
        text = table.read_text(errors="replace")
    except OSError:
        return False
    return _REMOTE.fullmatch(file_system(path.resolve(), text)) is not None


def file_system(path: Path, table: str) -> str:
    """The type of the file system of a path, from the text of a mount table (proc(5), mountinfo)."""
    depth, found = -1, ""
    for line in table.splitlines():
        before, _, after = line.partition(" - ")
        words, kind = before.split(), after.split()
        if len(words) < 5 or not kind:
            continue
        mount_point = Path(re.sub(r"\\(\d{3})", lambda octal: chr(int(octal[1], 8)), words[4]))
        if path.is_relative_to(mount_point) and len(mount_point.parts) >= depth:
            depth, found = len(mount_point.parts), kind[0]
    return found
