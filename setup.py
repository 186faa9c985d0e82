"""Maps the top-level folders onto one package, `holter`.

The folders stand at the top of the repository for people; an installation must not put packages
called `server` or `ui` into site-packages. A wheel or sdist gets the mapping as it is. An editable
install gets a git-ignored folder of relative links, so that one plain path entry makes every tool
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


def packages() -> dict[str, str]:
    """Every package with its folder: the table above and what lies below each entry."""
    found = {}
    for package, folder in FOLDERS.items():
        found[package] = folder
        for below in sorted((ROOT / folder).rglob("*")):
            if below.is_dir() and any(below.glob("*.py")) and below.name != "__pycache__":
                relative = below.relative_to(ROOT / folder)
                found[".".join((package, *relative.parts))] = f"{folder}/{relative.as_posix()}"
    return found


def link_editable() -> None:
    """Make `.editable/holter`: links to the files of core/, and to the other folders beside them."""
    house = ROOT / ".editable" / "holter"
    shutil.rmtree(house, ignore_errors=True)
    house.mkdir(parents=True)
    for entry in (ROOT / "core").iterdir():
        if entry.name != "__pycache__":
            (house / entry.name).symlink_to(os.path.relpath(entry, house))
    for package, folder in FOLDERS.items():
        if package != "holter":
            (house / package.split(".")[1]).symlink_to(os.path.relpath(ROOT / folder, house))


if "editable_wheel" in sys.argv:
    link_editable()
    setup(package_dir={"": ".editable"}, packages=list(packages()))
else:
    setup(package_dir=packages(), packages=list(packages()))
