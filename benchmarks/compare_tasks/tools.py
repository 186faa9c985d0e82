"""The tools: how each is installed, given the runs, and started."""

from __future__ import annotations

import os
import re
import shutil
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path

CACHE = Path(os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache")) / "holter" / "compare_tasks"
_WRITERS = Path(__file__).with_name("writers")
_START_SECONDS = 180
_INSTALL_SECONDS = 900
_WRITE_SECONDS = 900


@dataclass(frozen=True, kw_only=True)
class Tool:
    """A tool: its package, and the command of its server, in which {python}, {data}, {port} are replaced.

    `written_to`: what its writer gets besides the file of runs. `others`: packages that it needs as well.
    `environment`: variables of the writer and the server. `ready`: an address that answers once the server
    is ready, with `ready_text`.
    """

    name: str
    server: Sequence[str]
    written_to: str = ""
    online: bool = False
    others: Sequence[str] = ()
    environment: tuple[tuple[str, str], ...] = ()
    ready: str = "/"
    ready_text: str = ""

    @property
    def python(self) -> str:
        """The Python of its environment."""
        if self.name == "holter":
            return sys.executable
        return str(CACHE / self.name / "bin" / "python")

    def version(self) -> str:
        """Its installed version."""
        if self.name == "holter":
            return version("holter")
        code = f"from importlib.metadata import version; print(version({self.name!r}))"
        return subprocess.check_output([self.python, "-c", code], text=True).strip()


TOOLS = (
    Tool(
        name="holter",
        server=("{python}", "-m", "holter", "serve", "--port", "{port}", "--data-dir", "{data}"),
        written_to="{address}",
        online=True,
    ),
    Tool(
        name="tensorboard",
        server=("{python}", "-m", "tensorboard.main", "--logdir", "{data}", "--port", "{port}",
                "--load_fast", "false"),
        written_to="{data}",
        others=("setuptools<81",),
        ready="/data/plugin/timeseries/tags",
        ready_text="run-199",  # files are read after the start
    ),
    Tool(
        name="mlflow",
        server=("{python}", "-m", "mlflow", "server", "--backend-store-uri", "sqlite:///{data}/mlflow.db",
                "--port", "{port}", "--workers", "1"),
        written_to="sqlite:///{data}/mlflow.db",
        environment=(("MLFLOW_DISABLE_TELEMETRY", "true"), ("DO_NOT_TRACK", "true")),
        ready="/health",
    ),
    Tool(
        name="aim",
        server=("{bin}/aim", "up", "--repo", "{data}", "--port", "{port}", "--host", "127.0.0.1"),
        written_to="{data}",
        environment=(("AIM_UI_TELEMETRY_ENABLED", "0"),),
    ),
    Tool(
        name="trackio",
        server=("{python}", "-c",
                "import trackio; trackio.show(project='llm', open_browser=False, block_thread=True)"),
        environment=(("TRACKIO_DIR", "{data}"), ("GRADIO_SERVER_PORT", "{port}"),
                     ("GRADIO_ANALYTICS_ENABLED", "False"), ("HF_HUB_OFFLINE", "1")),
    ),
)  # fmt: skip


def install(tool: Tool) -> None:
    """Install the newest version of a tool below the user's cache folder, where it is missing.

    Raises CalledProcessError, TimeoutExpired.
    """
    if tool.name == "holter" or Path(tool.python).exists():
        return
    folder = CACHE / tool.name
    try:
        subprocess.run([sys.executable, "-m", "venv", str(folder)], check=True)
        command = [tool.python, "-m", "pip", "install", "-q", "--disable-pip-version-check"]
        subprocess.run([*command, tool.name, *tool.others], check=True, timeout=_INSTALL_SECONDS)
    except (subprocess.CalledProcessError, subprocess.TimeoutExpired):
        shutil.rmtree(folder, ignore_errors=True)
        raise


@contextmanager
def served(tool: Tool, runs: Path, data: Path) -> Iterator[str]:
    """A server of a tool with the runs of a file: its address. `data`: a folder, used again if it is full."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    address = f"http://127.0.0.1:{port}"
    names = {
        "python": tool.python,
        "bin": str(Path(tool.python).parent),
        "data": str(data),
        "port": str(port),
        "address": address,
    }
    own = {name: value.format(**names) for name, value in tool.environment}
    environment = {**os.environ, **own, "PYTHONPATH": ""}
    written = data.with_name(f"{data.name}.written")
    data.mkdir(parents=True, exist_ok=True)

    def write() -> None:
        command = [tool.python, str(_WRITERS / f"write_{tool.name}.py"), str(runs)]
        command += [tool.written_to.format(**names)] if tool.written_to else []
        subprocess.run(command, check=True, env=environment, timeout=_WRITE_SECONDS, cwd=data)
        written.touch()

    if not written.exists() and not tool.online:
        write()
    command = [part.format(**names) for part in tool.server]
    with data.with_name(f"{data.name}.log").open("w") as log:
        process = subprocess.Popen(
            command, env=environment, stdout=log, stderr=log, cwd=data, start_new_session=True
        )
        try:
            _wait_until_ready(process, address + tool.ready, tool.ready_text)
            if not written.exists():
                write()
            yield address
        finally:
            # its workers, too: the group is its own
            os.killpg(process.pid, 15)
            try:
                process.wait(20)
            except subprocess.TimeoutExpired:
                os.killpg(process.pid, 9)
                process.wait()


def _wait_until_ready(process: subprocess.Popen[bytes], address: str, text: str) -> None:
    end = time.monotonic() + _START_SECONDS
    while time.monotonic() < end:
        if process.poll() is not None:
            raise RuntimeError(f"{process.args!r} ended with {process.returncode}")
        try:
            if text in urllib.request.urlopen(address, timeout=20).read().decode():
                return
        except (urllib.error.URLError, OSError):
            pass  # it does not listen yet
        time.sleep(0.3)
    raise RuntimeError(f"{process.args!r} does not answer at {address}")


__all__ = ["CACHE", "TOOLS", "Tool", "install", "re", "served"]
