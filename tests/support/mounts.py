"""Small disks for tests, which are unmounted whatever happens."""

from __future__ import annotations

import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.support.requirements import skip_missing


@contextmanager
def mounted_tmpfs(size: int) -> Iterator[Path]:
    """A new folder on a disk of its own of `size` bytes, which other users can enter, too."""
    folder = Path(tempfile.mkdtemp(prefix="holter-disk-"))
    try:
        command = ["mount", "-t", "tmpfs", "-o", f"size={size}", "tmpfs", str(folder)]
        mounted = subprocess.run(command, capture_output=True, text=True, check=False)
        if mounted.returncode:
            skip_missing(f"permission to mount: {mounted.stderr.strip()}", fails_in_ci=False)
        yield folder
    finally:
        unmount(folder)
        folder.rmdir()


def unmount(folder: Path) -> None:
    """Unmount a folder if it is mounted, even while a process that has not ended yet uses it."""
    if folder.is_mount() or _is_bind_mount(folder):
        subprocess.run(["umount", "--lazy", str(folder)], check=True)


def _is_bind_mount(folder: Path) -> bool:
    mounts = Path("/proc/self/mountinfo").read_text().splitlines()
    return any(line.split()[4] == str(folder.resolve()) for line in mounts)
