"""Files and folders that only their owner can read: mode 600 and 700 from the moment they are created."""

from __future__ import annotations

import os
import stat
from contextlib import suppress
from pathlib import Path

PRIVATE_FILE = 0o600
PRIVATE_FOLDER = 0o700
_OTHERS = 0o077


def private_opener(path: str, flags: int) -> int:
    """An opener for `open`, which creates the file readable by its owner only."""
    return os.open(path, flags, PRIVATE_FILE)


def create_private_file(path: Path) -> None:
    """Create an empty file, unless it exists. Raises OSError."""
    with suppress(FileExistsError):
        os.close(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, PRIVATE_FILE))


def create_private_folder(path: Path, *, tighten: bool = False) -> None:
    """Create a folder, unless it exists; parents get the usual mode. Raises OSError.

    `tighten`: make an existing folder private, too; for default folders only, not for those that users chose.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    path.mkdir(mode=PRIVATE_FOLDER, exist_ok=True)
    if tighten:
        restrict_to_owner(path)


def restrict_to_owner(path: Path) -> None:
    """Make an existing file or folder of this user private. Does nothing for others' and for links."""
    with suppress(OSError):
        status = path.lstat()
        mode = stat.S_IMODE(status.st_mode)
        if status.st_uid == os.geteuid() and not stat.S_ISLNK(status.st_mode) and mode & _OTHERS:
            path.chmod(mode & ~_OTHERS)
