"""The state of the git repository that a script belongs to: commit, branch, changed files."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from holter.environment_names import GIT_CHANGED, GIT_CHANGED_FILES

MAX_CHANGED_NAMED = 30
MAX_PARENTS = 40
_COMMAND_SECONDS = 0.25


def read_git_state(folder: Path, *, timeout: float = _COMMAND_SECONDS) -> dict[str, Any]:
    """Commit, branch, and number and names of tracked files with changes; empty outside a repository.

    The commit is read from files. Changed files need the command `git`, which is ended after `timeout`
    seconds: `git_changed` is then missing. Contents of files are never read.
    """
    git = _git_folder(folder)
    if git is None:
        return {}
    found = _read_head(git)
    changed = _changed_files(folder, min(timeout, _COMMAND_SECONDS))
    if changed is None:
        return found
    return found | changed_files_settings(changed, len(changed))


def changed_files_settings(names: Sequence[str], count: int) -> dict[str, Any]:
    """The settings that state changed files: `count` of them, of which `names` are the first ones."""
    if not count:
        return {GIT_CHANGED: 0}
    named = list(names[:MAX_CHANGED_NAMED])
    more = [f"and {count - len(named)} more"] if count > len(named) else []
    return {GIT_CHANGED: count, GIT_CHANGED_FILES: "\n".join(named + more)}


def _git_folder(folder: Path) -> Path | None:
    for parent in (folder, *folder.parents)[:MAX_PARENTS]:
        git = parent / ".git"
        if git.is_dir():
            return git
        if git.is_file():  # a worktree or a submodule
            stated = git.read_text(errors="replace").partition("gitdir:")[2].strip()
            return (parent / stated) if stated else None
    return None


def _read_head(git: Path) -> dict[str, Any]:
    head = (git / "HEAD").read_text(errors="replace").strip()
    reference = head.partition("ref: ")[2]
    if not reference:
        return {"git_commit": head[:64]}
    found = {"git_branch": reference.removeprefix("refs/heads/")}
    common = git
    if (git / "commondir").is_file():
        common = git / (git / "commondir").read_text(errors="replace").strip()
    commit = _read_reference(common, reference)
    return found | ({"git_commit": commit[:64]} if commit else {})


def _read_reference(git: Path, reference: str) -> str | None:
    path = git / reference
    if path.is_file():
        return path.read_text(errors="replace").strip()
    packed = git / "packed-refs"
    for line in packed.read_text(errors="replace").splitlines() if packed.is_file() else ():
        commit, _, name = line.partition(" ")
        if name == reference:
            return commit
    return None


def _changed_files(folder: Path, timeout: float) -> list[str] | None:
    import subprocess  # noqa: PLC0415 - takes milliseconds, which a process without repository need not spend

    # no lock of the index, no program that the repository's configuration names, no question to the user
    command = ["git", "-c", "core.fsmonitor=false", "status", "--porcelain=v1", "-z", "--untracked-files=no"]
    environ = os.environ | {"GIT_OPTIONAL_LOCKS": "0", "GIT_TERMINAL_PROMPT": "0"}
    if timeout <= 0:
        return None
    try:
        result = subprocess.run(
            [*command, "--ignore-submodules"],
            cwd=folder,
            env=environ,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=timeout,
            check=True,
        )
    except (OSError, subprocess.SubprocessError):
        return None
    return parse_status_names(result.stdout.decode(errors="replace"))


def parse_status_names(output: str) -> list[str]:
    """The names of changed files in the output of `git status --porcelain=v1 -z`."""
    names, entries = [], iter(output.split("\0"))
    for entry in entries:
        if len(entry) > 3:
            names.append(entry[3:])
            if entry[0] in "RC":  # followed by the original name
                next(entries, None)
    return names
