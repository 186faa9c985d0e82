"""Distinguishing network file systems, for which the kernel reports no changes, from local ones."""

from __future__ import annotations

from pathlib import Path

import pytest

from holter.ingest.tailing.watcher import file_system, is_remote

TABLE = r"""22 1 259:2 / / rw,relatime shared:1 - ext4 /dev/nvme0n1p2 rw
30 22 0:26 / /home rw,nosuid shared:5 - nfs4 server:/home rw,vers=4.2
31 22 0:27 / /lustre/scratch\040one rw shared:6 - lustre 10.0.0.1@tcp:/scratch rw
32 30 0:28 / /home/me/local rw shared:7 - xfs /dev/sdb1 rw
33 22 0:29 / /mnt/bucket rw - fuse.s3fs s3fs rw
34 22 0:30 / /container rw - overlay overlay rw
35 22 0:31 / /shm rw - tmpfs tmpfs rw
"""


@pytest.mark.parametrize(
    ("path", "kind", "remote"),
    [
        ("/var/log", "ext4", False),
        ("/home/me/runs", "nfs4", True),
        ("/home/me/local/runs", "xfs", False),
        ("/homework", "ext4", False),
        ("/lustre/scratch one/runs", "lustre", True),
        ("/mnt/bucket/runs", "fuse.s3fs", True),
        ("/container/runs", "overlay", False),
        ("/shm", "tmpfs", False),
    ],
)
def test_the_innermost_mount_decides(path: str, kind: str, remote: bool, tmp_path: Path) -> None:
    table = tmp_path / "mountinfo"
    table.write_text(TABLE)
    assert file_system(Path(path), TABLE) == kind
    assert is_remote(Path(path), table=table) is remote


def test_without_a_mount_table_nothing_counts_as_remote(tmp_path: Path) -> None:
    assert not is_remote(tmp_path, table=tmp_path / "none")
