"""Versions of the wandb client log to a real server; prints rows sent and rows stored as a table.

Each version is installed into an environment of its own below the user's cache folder. Every client logs
rows, ends, resumes the run, and logs as many again.
"""

from __future__ import annotations

import argparse
import os
import re
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import httpx

CACHE = Path(os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache")) / "holter" / "wandb"
VERSIONS = ("0.31.0", "0.25.1", "0.21.4", "0.18.7", "0.16.6", "0.15.12")
METRICS = 10
_INSTALL_SECONDS, _RUN_SECONDS = 600, 300
# versions before 0.17 need pkg_resources, numpy 1 and protobuf 4 or older
_OLD = ("setuptools<81", "numpy<2", "protobuf<5")
_SCRIPT = """
import sys, wandb
rows, first, resume = int(sys.argv[2]), int(sys.argv[3]), sys.argv[4] or None
run = wandb.init(project="versions", id=sys.argv[1], resume=resume, config={"lr": 0.1})
for i in range(first, first + rows):
    run.log({"loss" if k == 0 else f"metric_{k}": i + k / 10 for k in range(int(sys.argv[5]))})
run.finish()
"""


def install(version: str) -> Path:
    """The Python of an environment with a version of the client."""
    python = CACHE / version / "bin" / "python"
    if not (CACHE / version / "installed").exists():
        subprocess.run([sys.executable, "-m", "venv", str(CACHE / version)], check=True)
        others = _OLD if tuple(map(int, version.split(".")[:2])) < (0, 18) else ()
        command = [str(python), "-m", "pip", "install", "-q", f"wandb=={version}", *others]
        subprocess.run(command, check=True, timeout=_INSTALL_SECONDS)
        (CACHE / version / "installed").touch()
    return python


def log(python: Path, address: str, run: str, rows: int) -> tuple[int, float]:
    """Two launches of a client; returns the worst exit code and the seconds of both."""
    with tempfile.TemporaryDirectory() as folder:
        environment = os.environ | {
            "WANDB_BASE_URL": address,
            "WANDB_API_KEY": "0" * 40,
            "WANDB_DIR": folder,
            "WANDB_SILENT": "true",
            "WANDB_ERROR_REPORTING": "false",
        }
        script = Path(folder) / "log.py"
        script.write_text(_SCRIPT)
        began = time.monotonic()
        codes = [
            subprocess.run(
                [str(python), str(script), run, str(rows), str(first), resume, str(METRICS)],
                env=environment,
                cwd=folder,
                timeout=_RUN_SECONDS,
                check=False,
            ).returncode
            for first, resume in ((0, ""), (rows, "must"))
        ]
        return max(codes, key=abs), time.monotonic() - began


def stored(address: str, run: str) -> tuple[int, int, int]:
    """Points of the run's own metrics, different steps of its loss, and attempts."""
    with httpx.Client(base_url=f"{address}/api/v1") as client:
        found = next(each for each in client.get("/runs").json()["runs"] if each["name"] == run)
        series = client.get(f"/runs/{found['id']}/series").json()["series"]
    own = [one for one in series if one["metric"] == "loss" or one["metric"].startswith("metric_")]
    loss = next(one for one in own if one["metric"] == "loss")
    return sum(one["points"] for one in own), loss["last_step"] + 1, found["attempts"]


def main() -> int:
    """Exit code 1 where a version lost or repeated a row."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--versions", nargs="*", default=VERSIONS)
    parser.add_argument("--rows", type=int, default=500, help="rows of each of two launches")
    arguments = parser.parse_args()
    failed = False
    print("| wandb | rows sent | values sent | values stored | last step | attempts | exit code | seconds |")
    print("|---|---|---|---|---|---|---|---|")
    with tempfile.TemporaryDirectory() as folder:
        server = subprocess.Popen(
            [sys.executable, "-m", "holter", "serve", "--port", "0"],
            env=os.environ | {"HOLTER_DATABASE_URL": f"sqlite:///{folder}/holter.db"},
            cwd=folder,
            stdout=subprocess.PIPE,
            text=True,
        )
        try:
            assert server.stdout is not None
            match = re.search(r"http://[\d.:]+", server.stdout.readline())
            assert match is not None
            for version in arguments.versions:
                run = f"v{version.replace('.', '-')}"
                code, seconds = log(install(version), match[0], run, arguments.rows)
                points, steps, attempts = stored(match[0], run)
                sent = 2 * arguments.rows
                failed |= code != 0 or points != sent * METRICS
                cells = (version, sent, sent * METRICS, points, steps - 1, attempts, code, f"{seconds:.1f}")
                print("| " + " | ".join(map(str, cells)) + " |", flush=True)
        finally:
            server.terminate()
            server.wait()
    return 1 if failed else 0


if __name__ == "__main__":
    raise SystemExit(main())
