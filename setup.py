"""Maps the top-level folders onto one package, `holter`.

The folders are at the top of the repository for readers; an installation must not put packages
named `server` or `ui` into site-packages. A wheel or sdist uses the mapping. An editable
install uses a git-ignored folder of relative links, so that one plain path entry makes every tool
(type checkers, linters, editors) resolve the real files.
"""

from __future__ import annotations

import os
import shutil
import sys
from pathlib import Path

from setuptools import setup

ROOT = Path(__file__).resolve().parent
FOLDERS = {
    "holter": "core",
    "holter.cli": "cli",
    "holter.server": "server",
    "holter.ingest": "ingest",
    "holter.detectors": "detectors",
    "holter.ui": "ui",
    "holter.migrations": "alembic",
}


def find_packages() -> dict[str, str]:
    """Every package with its folder: the entries of FOLDERS and their subfolders with modules."""
    packages = {}
    for package, folder in FOLDERS.items():
        packages[package] = folder
        for path in sorted((ROOT / folder).rglob("*")):
            if path.is_dir() and any(path.glob("*.py")) and path.name != "__pycache__":
                relative = path.relative_to(ROOT / folder)
                packages[".".join((package, *relative.parts))] = f"{folder}/{relative.as_posix()}"
    return packages


def link_editable() -> None:
    """Create `.editable/holter` with links to the files of core/ and to the other folders."""
    target = ROOT / ".editable" / "holter"
    shutil.rmtree(target, ignore_errors=True)
    target.mkdir(parents=True)
    for entry in (ROOT / "core").iterdir():
        if entry.name != "__pycache__":
            (target / entry.name).symlink_to(os.path.relpath(entry, target))
    for package, folder in FOLDERS.items():
        if package != "holter":
            (target / package.split(".")[1]).symlink_to(os.path.relpath(ROOT / folder, target))


if "editable_wheel" in sys.argv:
    link_editable()
    setup(package_dir={"": ".editable"}, packages=list(find_packages()))
else:
    setup(package_dir=find_packages(), packages=list(find_packages()))
