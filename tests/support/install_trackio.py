"""Versions of trackio's client, each in an environment of its own below the user's cache folder.

`python -m tests.support.install_trackio` installs the newest one. It is not among the dependencies of the
tests, whose version of pillow it excludes.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

VERSIONS = ("0.43.0", "0.33.0", "0.24.0")
NEWEST = VERSIONS[0]
_CACHE = Path(os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache")) / "holter" / "trackio"
_SECONDS = 900
# versions before 0.38 import what newer ones of huggingface_hub do not have
_OLD = ("huggingface-hub<1.32",)


def trackio_python(version: str = NEWEST) -> Path | None:
    """The Python of an environment with a version of the client, None where it is not installed."""
    complete = (_CACHE / version / "installed").exists()
    return _CACHE / version / "bin" / "python" if complete else None


def install(version: str = NEWEST) -> Path:
    """Install a version where it is missing. Raises CalledProcessError, TimeoutExpired."""
    if (python := trackio_python(version)) is not None:
        return python
    folder = _CACHE / version
    python = folder / "bin" / "python"
    subprocess.run([sys.executable, "-m", "venv", str(folder)], check=True)
    command = [str(python), "-m", "pip", "install", "-q", "--disable-pip-version-check"]
    others = _OLD if int(version.split(".")[1]) < 38 else ()
    subprocess.run([*command, f"trackio=={version}", "psutil", *others], check=True, timeout=_SECONDS)
    (folder / "installed").touch()
    return python


def main() -> None:
    """Install the newest version; say so where that is not possible, since its tests are skipped then."""
    try:
        install()
    except (subprocess.CalledProcessError, subprocess.TimeoutExpired) as error:
        sys.stderr.write(f"trackio {NEWEST} cannot be installed: {error}\n")


if __name__ == "__main__":
    main()
