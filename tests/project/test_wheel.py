"""The wheel, built from the sdist, installs and serves without the checkout."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import time
import urllib.request
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the installed wheel; its dependencies come from the running environment."""
    work = tmp_path_factory.mktemp("wheel")
    tracked = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT, capture_output=True, check=True,
    ).stdout.split(b"\0")  # fmt: skip
    for name in filter(None, map(os.fsdecode, tracked)):
        if (ROOT / name).is_file():
            (work / "tree" / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(ROOT / name, work / "tree" / name)
    build = "import setuptools.build_meta as b, sys; print(b.build_sdist(sys.argv[1]))"
    run(work / "tree", "-c", build, str(work))
    sdist = next(work.glob("holter-*.tar.gz"))
    options = ("--no-deps", "--no-build-isolation", "--target", str(work / "site"))
    run(work, "-m", "pip", "install", "-q", "--disable-pip-version-check", *options, str(sdist))
    return work / "site"


def run(folder: Path, *arguments: str) -> None:
    done = subprocess.run([sys.executable, *arguments], cwd=folder, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def environment(site: Path) -> dict[str, str]:
    return {**os.environ, "PYTHONPATH": str(site), "PYTHONDONTWRITEBYTECODE": "1"}


def test_it_contains_one_package_with_its_pages_and_migrations(installed: Path) -> None:
    assert [
        path.name for path in installed.iterdir() if path.suffix != ".dist-info" and path.name != "bin"
    ] == ["holter"]
    assert (installed / "holter/ui/static/index.html").exists()
    assert (installed / "holter/migrations/env.py").exists()
    assert (installed / "holter/flops/accelerators.toml").exists()
    assert list((installed / "holter/migrations/versions").glob("*.py"))


def test_it_migrates_and_serves_from_another_folder(installed: Path, tmp_path: Path) -> None:
    port = 18_765
    arguments = [
        sys.executable,
        "-m",
        "holter",
        "serve",
        "--port",
        str(port),
        "--data-dir",
        str(tmp_path / "data"),
    ]
    with subprocess.Popen(
        arguments, cwd=tmp_path, env=environment(installed), stderr=subprocess.PIPE
    ) as server:
        try:
            page = wait_for(f"http://127.0.0.1:{port}/")
        finally:
            server.terminate()
            errors = server.communicate()[1].decode()
    assert b"Holter" in page, errors


def wait_for(url: str, seconds: float = 60) -> bytes:
    """The first answer of a server that is starting."""
    deadline = time.monotonic() + seconds
    while True:
        try:
            with urllib.request.urlopen(url, timeout=60) as response:
                return bytes(response.read())
        except OSError:
            if time.monotonic() > deadline:
                raise
            time.sleep(0.1)
