"""Which file systems tell of changes: of what another machine writes, the kernel here never hears."""

from __future__ import annotations

import re
from pathlib import Path

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
