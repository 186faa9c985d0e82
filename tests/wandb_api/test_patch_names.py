"""The names of changed files are read from a patch, whatever its content and wherever it is cut."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from holter.client.git_state import MAX_CHANGED_NAMED, changed_files_settings
from holter.server.wandb_api.patch_names import PatchNames

PATCH = b"""diff --git a/train.py b/train.py
index 1..2 100644
--- a/train.py
+++ b/train.py
@@ -1,2 +1,2 @@
-diff --git a/x b/x
+diff --git a/secret b/secret
 diff --git a/y b/y
diff --git a/old name.py b/new.py
similarity index 100%
diff --git a/data b/c b/data b/c
diff --git plain.py plain.py
"""


@pytest.mark.parametrize("size", [1, 7, 10_000])
def test_names_are_those_of_headers(size: int) -> None:
    patch = PatchNames()
    for begin in range(0, len(PATCH), size):
        patch.feed(PATCH[begin : begin + size])
    assert patch.names == ["train.py", "new.py", "data b/c", "plain.py"]
    assert patch.count == 4


def test_a_patch_of_any_length_takes_little_memory() -> None:
    patch = PatchNames()
    for number in range(1000):
        patch.feed(f"diff --git a/{number} b/{number}\n+".encode() + 10_000 * b"x" + b"\n")
    patch.feed(100_000 * b"diff --git ")
    assert (patch.count, len(patch.names)) == (1000, MAX_CHANGED_NAMED)
    assert changed_files_settings(patch.names, 1000)["git_changed_files"].endswith("and 970 more")
    assert len(patch._line) < 10_000


def test_the_output_of_git_is_read(tmp_path: Path) -> None:
    def git(*arguments: str) -> bytes:
        identity = ["-c", "user.name=a", "-c", "user.email=a@b", "-c", "commit.gpgsign=false"]
        return subprocess.run(
            ["git", *identity, *arguments], cwd=tmp_path, check=True, capture_output=True
        ).stdout

    git("init", "-q")
    for name in ("a.py", "b c.py", "d.bin"):
        (tmp_path / name).write_bytes(b"\0 first\n")
    git("add", ".")
    git("commit", "-q", "-m", "first")
    (tmp_path / "b c.py").write_text("second\n")
    (tmp_path / "d.bin").write_bytes(b"\0 second\n")
    patch = PatchNames()
    patch.feed(git("diff", "--submodule=diff", "--text", "HEAD"))
    assert patch.names == ["b c.py", "d.bin"]
