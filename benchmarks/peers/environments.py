"""Installs the newest version of each peer into a cache folder of this user, and looks up its version."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path

CACHE = Path(os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache")) / "holter" / "peers"
_TIMEOUT_SECONDS = 900
_PINNED_PIP = "pip>=25.1"  # prints the installed and the newest version of a package


class PeerUnavailableError(Exception):
    """A peer cannot be installed; the message is the reason."""


@dataclass(frozen=True, kw_only=True)
class PeerEnvironment:
    """The Python that runs a peer, the peer's version, and `remark`: why it may not be the newest one."""

    python: Path
    version: str
    remark: str = ""


def own_environment() -> PeerEnvironment:
    """Holter's own environment."""
    return PeerEnvironment(python=Path(sys.executable), version=version("holter"), remark="this checkout")


def install_package(package: str, *others: str) -> PeerEnvironment:
    """Install or upgrade a Python package in an environment of its own. Raises PeerUnavailableError."""
    folder = CACHE / package
    python = folder / "bin" / "python"
    if not python.exists():
        _run([sys.executable, "-m", "venv", str(folder)], "virtual environment not created")
        _run([str(python), "-m", "pip", "install", "-q", "-U", _PINNED_PIP], "pip not installed")
    installed, newest = _versions(python, package)
    if installed is None or installed != newest:
        _run([str(python), "-m", "pip", "install", "-q", "-U", package, *others], "not installed")
        installed, newest = _versions(python, package)
    if installed is None:
        raise PeerUnavailableError("not installed: pip does not list it")
    remark = "the newest"
    if newest is None:
        remark = "the newest version could not be looked up"
    elif installed != newest:
        remark = f"{newest} is newer: {_why_not(python, f'{package}=={newest}')}"
    return PeerEnvironment(python=python, version=installed, remark=remark)


def _versions(python: Path, package: str) -> tuple[str | None, str | None]:
    """The installed and the newest version of a package; None if unknown."""
    output = _output([str(python), "-m", "pip", "index", "versions", package])
    found = (re.search(rf"^\s*{word}:\s*(\S+)", output, re.MULTILINE) for word in ("INSTALLED", "LATEST"))
    installed, newest = (match and match[1] for match in found)
    return installed or _installed(python, package), newest


def _installed(python: Path, package: str) -> str | None:
    match = re.search(r"^Version: (\S+)", _output([str(python), "-m", "pip", "show", package]), re.MULTILINE)
    return match and match[1]


def _why_not(python: Path, requirement: str) -> str:
    """The error when a version is asked for explicitly."""
    try:
        _run([str(python), "-m", "pip", "install", "-q", "--dry-run", requirement], "not installable")
    except PeerUnavailableError as error:
        return str(error)
    return "it contradicts the versions of other packages"


def unpack_debian(package: str) -> PeerEnvironment:
    """Unpack the newest package of Debian (of unstable) without installing it, so that it starts no service.

    Raises PeerUnavailableError.
    """
    folder = CACHE / package
    folder.mkdir(parents=True, exist_ok=True)
    options = _unstable(folder)
    _run(["apt-get", *options, "update"], "packages of Debian not listed")
    policy = re.search(r"Candidate: (\d\S*)", _output(["apt-cache", *options, "policy", package]))
    if policy is None:
        raise PeerUnavailableError(f"Debian has no package {package} for this system")
    newest, marker = policy[1], folder / "version"
    if not marker.exists() or marker.read_text() != newest:
        _run(["apt-get", *options, "download", f"{package}={newest}"], "not downloaded", folder)
        archive = max(folder.glob("*.deb"), key=lambda path: path.stat().st_mtime)
        _run(["dpkg", "-x", str(archive), str(folder)], "not unpacked")
        archive.unlink()
        marker.write_text(newest)
    remark = "the newest package of Debian; upstream may have a newer one"
    return PeerEnvironment(python=Path(sys.executable), version=re.split(r"[+-]", newest)[0], remark=remark)


def _unstable(folder: Path) -> list[str]:
    """Options of apt for Debian unstable, from this machine's mirror, with lists and settings apart."""
    formats = ["--format", "$(ORIGIN) $(REPO_URI)", "Created-By: Packages"]
    targets = [line.split() for line in _output(["apt-get", "indextargets", *formats]).splitlines()]
    mirror = next((words[1] for words in targets if words[0] == "Debian"), None)
    if mirror is None:
        raise PeerUnavailableError("this system has no mirror of Debian")
    sources, lists, cache = folder / "sources.list", folder / "lists", folder / "cache"
    for path in (lists / "partial", cache / "archives" / "partial"):
        path.mkdir(parents=True, exist_ok=True)
    sources.write_text(f"deb {mirror} unstable main\n")
    settings: Mapping[str, Path | str] = {
        "Dir::Etc::sourcelist": sources,
        "Dir::Etc::sourceparts": "/dev/null",
        "Dir::State::lists": lists,
        "Dir::Cache": cache,
        "APT::Sandbox::User": "root",
    }
    return [option for name, value in settings.items() for option in ("-o", f"{name}={value}")]


def _output(command: list[str]) -> str:
    """What a command prints, also when it fails."""
    try:
        return subprocess.run(command, capture_output=True, text=True, timeout=_TIMEOUT_SECONDS).stdout
    except (OSError, subprocess.TimeoutExpired):
        return ""


def _run(command: list[str], failure: str, folder: Path | None = None) -> None:
    try:
        process = subprocess.run(
            command, cwd=folder, capture_output=True, text=True, timeout=_TIMEOUT_SECONDS
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise PeerUnavailableError(f"{failure}: {error}") from error
    if process.returncode:
        lines = [line.strip() for line in process.stderr.splitlines() if line.strip()]
        reason = lines[-1] if lines else str(process.returncode)
        raise PeerUnavailableError(f"{failure}: {reason.removeprefix('ERROR: ').removeprefix('E: ')}")
