"""Puts Debian's chromium on the machine for the tests of the pages, where that is possible and allowed.

`make test` calls this. It never stops the tests by itself: without a browser they are skipped and say so,
except where CI is set, where a run that tested no page must not pass for a whole one.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys

from tests.support.requirements import in_ci

NAMES = ("chromium", "chromium-browser", "google-chrome-stable", "google-chrome")
INSTALL = ("apt-get", "install", "-y", "--no-install-recommends", "chromium")
SECONDS = 600


def find() -> str | None:
    """The browser to test with: the one TEST_BROWSER names, else the first on the path."""
    named = os.environ.get("TEST_BROWSER")
    if named:
        return named if os.access(named, os.X_OK) else None
    return next((found for name in NAMES if (found := shutil.which(name))), None)


def privilege() -> tuple[str, ...] | None:
    """What goes before a command that installs: nothing for root, sudo where it asks for no password."""
    if os.geteuid() == 0:
        return ()
    if shutil.which("sudo") and _works("sudo", "-n", "true"):
        return ("sudo", "-n")
    return None


def _works(*command: str) -> bool:
    try:
        done = subprocess.run(
            command,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
            timeout=SECONDS,
            env={**os.environ, "DEBIAN_FRONTEND": "noninteractive"},
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        print(f"install_chromium: {' '.join(command)}: {error}", file=sys.stderr)
        return False
    if done.returncode and "install" in command:
        print(f"install_chromium: {' '.join(command)}: {done.stderr.strip()}", file=sys.stderr)
    return done.returncode == 0


def install() -> bool:
    """Install with apt-get where one may; the list of packages is only fetched when it is needed."""
    before = privilege()
    if before is None or not shutil.which("apt-get"):
        return False
    print("Installing Debian's chromium for the tests of the pages ...", flush=True)
    return _works(*before, *INSTALL) or (_works(*before, "apt-get", "update") and _works(*before, *INSTALL))


def main() -> int:
    """0, or 1 where CI is set and there is no browser."""
    if find() or (install() and find()):
        return 0
    print(
        "\n*** No chromium: the tests of the pages will be SKIPPED. ***\n"
        "    Debian: apt-get install chromium; or name one: TEST_BROWSER=/path/to/chromium\n",
        file=sys.stderr,
    )
    return 1 if in_ci() else 0


if __name__ == "__main__":
    sys.exit(main())
