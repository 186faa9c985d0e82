"""Captures the environment of a launch: software, hardware, launcher, relevant variables; never secrets.

Runs in a background thread with a limit of time: what is not read by then is left out and named under
`incomplete`. Nothing here imports a framework, initialises a device, or raises.
"""

from __future__ import annotations

import os
import platform
import sys
import threading
import time
from collections.abc import Callable, Iterable, Mapping
from itertools import islice
from pathlib import Path
from typing import Any

from holter.client.git_state import read_git_state
from holter.client.launch_variables import launcher_values, local_rank, relevant_variables
from holter.environment_names import INCOMPLETE, PACKAGES, PREFIX, VARIABLES

CAPTURE_SECONDS = 0.3
MAX_PACKAGES = 2_000
MAX_TEXT = 2_000  # characters of a value, as many as the server stores
_OFF = frozenset({"0", "off", "false", "no"})
_PART = Callable[["Deadline", Mapping[str, str]], Mapping[str, Any]]


class CaptureTimeoutError(Exception):
    """The limit of time is reached."""


class Deadline:
    """The time at which the capture ends."""

    def __init__(self, seconds: float) -> None:
        self._end = time.monotonic() + seconds

    @property
    def remaining(self) -> float:
        """Seconds until the end, at least 0."""
        return max(0.0, self._end - time.monotonic())

    def check(self) -> None:
        """Raise CaptureTimeoutError after the end."""
        if time.monotonic() >= self._end:
            raise CaptureTimeoutError


def is_enabled(environ: Mapping[str, str]) -> bool:
    """Return whether HOLTER_ENVIRONMENT allows the capture."""
    return environ.get("HOLTER_ENVIRONMENT", "").lower() not in _OFF


def capture_job(environ: Mapping[str, str], seconds: float = CAPTURE_SECONDS) -> dict[str, Any]:
    """The environment of the job, as rank 0 sees it: settings by name, each with `PREFIX`."""
    return _capture(_PARTS, environ, seconds)


def capture_host(environ: Mapping[str, str], seconds: float = CAPTURE_SECONDS) -> dict[str, Any]:
    """What may differ between the hosts of a job: drivers, devices, versions; no list of packages."""
    return _capture(_HOST_PARTS, environ, seconds)


def capture_machine(environ: Mapping[str, str], seconds: float = CAPTURE_SECONDS) -> dict[str, Any]:
    """What is known of this machine by a process that is no training: system, drivers, devices, toolkit."""
    return _capture(_MACHINE_PARTS, environ, seconds)


def capture_job_shell(environ: Mapping[str, str], seconds: float = CAPTURE_SECONDS) -> dict[str, Any]:
    """The machine, and what a process in a job shares with its training: launcher, variables, folder."""
    return _capture(_JOB_SHELL_PARTS, environ, seconds)


def _capture(parts: Mapping[str, _PART], environ: Mapping[str, str], seconds: float) -> dict[str, Any]:
    deadline, found, missing = Deadline(seconds), dict[str, Any](), list[str]()
    for name, part in parts.items():
        try:
            deadline.check()
            found |= part(deadline, environ)
        except Exception:  # a broken driver, a repository without rights, the limit of time
            missing.append(name)
    if missing:
        found[INCOMPLETE] = " ".join(missing)
    return {f"{PREFIX}{name}": limit_text(value) for name, value in found.items()}


def limit_text(value: Any) -> Any:
    """A value, cut to the length that the server stores."""
    return value[:MAX_TEXT] if isinstance(value, str) else value


def _software(deadline: Deadline, environ: Mapping[str, str]) -> dict[str, Any]:
    return {"python": platform.python_version(), **_system(deadline, environ)}


def _system(deadline: Deadline, environ: Mapping[str, str]) -> dict[str, Any]:
    return {"system": f"{platform.system()} {platform.release()} {platform.machine()}"}


def _devices(deadline: Deadline, environ: Mapping[str, str]) -> dict[str, Any]:
    """Drivers and devices as the kernel's files state them: no command is run, no device is opened."""
    found: dict[str, Any] = {}
    if (version := _read("/proc/driver/nvidia/version")) is not None:
        words = version.partition("\n")[0].split()
        numbers = [word for word in words if word[:1].isdigit() and "." in word]
        found["driver"] = numbers[0] if numbers else version[:100]
    if (version := _read("/sys/module/amdgpu/version")) is not None:
        found["driver"] = version.strip()
    names: dict[str, int] = {}
    for path in sorted(Path("/proc/driver/nvidia/gpus").glob("*/information"))[:64]:
        deadline.check()
        for line in (_read(path) or "").splitlines():
            if line.startswith("Model:"):
                name = line.partition(":")[2].strip()
                names[name] = names.get(name, 0) + 1
    if names:
        found["gpus"] = ", ".join(f"{count} x {name}" for name, count in sorted(names.items()))
    found["cpus"] = os.cpu_count() or 0
    return found


def _libraries(deadline: Deadline, environ: Mapping[str, str]) -> dict[str, Any]:
    """Versions that frameworks state which are imported already; none is imported for it."""
    found: dict[str, Any] = {}
    torch = sys.modules.get("torch")
    version = getattr(torch, "version", None)
    for name in ("cuda", "hip"):
        if isinstance(stated := getattr(version, name, None), str):
            found[name] = stated
    nccl = sys.modules.get("torch.cuda.nccl")
    if nccl is not None and "cuda" in found:
        found["nccl"] = ".".join(map(str, nccl.version()))
    cudnn = sys.modules.get("torch.backends.cudnn")
    loaded = getattr(cudnn, "__cudnn_version", None)  # None until it is in use: asking would load it
    if isinstance(loaded, int):
        found["cudnn"] = loaded
    return _toolkit(deadline, environ) | found


def _toolkit(deadline: Deadline, environ: Mapping[str, str]) -> dict[str, Any]:
    version = _cuda_toolkit(environ)
    return {} if version is None else {"cuda": version}


def _cuda_toolkit(environ: Mapping[str, str]) -> str | None:
    folder = environ.get("CUDA_HOME") or environ.get("CUDA_PATH") or "/usr/local/cuda"
    stated = _read(Path(folder) / "version.json")
    if stated is None:
        return None
    _, _, rest = stated.partition('"cuda"')
    _, _, rest = rest.partition('"version"')
    version = rest.split('"')[1:2]
    return version[0][:40] if version else None


def _packages(deadline: Deadline, environ: Mapping[str, str]) -> dict[str, Any]:
    return split_packages(installed_packages(sys.path, deadline))


def installed_packages(folders: Iterable[str], deadline: Deadline) -> dict[str, str]:
    """Versions of the packages in these folders by name. Raises CaptureTimeoutError.

    They are taken from the names of the metadata folders: reading their content takes 50 times as long.
    """
    versions: dict[str, str] = {}
    for folder in dict.fromkeys(folders):
        try:
            entries = os.scandir(folder or ".")
        except OSError:  # an archive, or a folder that does not exist
            continue
        with entries:
            for number, entry in enumerate(entries):
                if not number % 256:
                    deadline.check()
                if (package := parse_metadata_name(entry.name)) is not None:
                    versions.setdefault(*package)  # the first folder of the path counts
    return versions


def parse_metadata_name(name: str) -> tuple[str, str] | None:
    """The package and version of `NAME-VERSION.dist-info` or `.egg-info`; None for other names."""
    stem, dot, kind = name.rpartition(".")
    if not dot or kind not in ("dist-info", "egg-info"):
        return None
    package, dash, version = stem.partition("-")
    if kind == "egg-info":
        version = version.partition("-py")[0]
    return (package.replace("_", "-").lower(), version) if package and dash and version else None


def split_packages(versions: Mapping[str, str]) -> dict[str, str]:
    """Values `packages/0`, `packages/1`, ... of "NAME VERSION" lines, each within the limit of a value."""
    parts, size = [list[str]()], 0
    for package, version in islice(sorted(versions.items()), MAX_PACKAGES):
        line = f"{package[:100]} {version[:60]}"
        if size + len(line) + 1 > MAX_TEXT:
            parts.append([])
            size = 0
        parts[-1].append(line)
        size += len(line) + 1
    return {f"{PACKAGES}{number}": "\n".join(lines) for number, lines in enumerate(parts) if lines}


def _git(deadline: Deadline, environ: Mapping[str, str]) -> dict[str, Any]:
    return read_git_state(script_folder(), timeout=deadline.remaining)


def _git_of_working_folder(deadline: Deadline, environ: Mapping[str, str]) -> dict[str, Any]:
    return read_git_state(Path.cwd(), timeout=deadline.remaining)


def script_folder() -> Path:
    """The folder of the script that runs, else the current one."""
    main = getattr(sys.modules.get("__main__"), "__file__", None)
    return Path(main).resolve().parent if isinstance(main, str) else Path.cwd()


def _variables(deadline: Deadline, environ: Mapping[str, str]) -> dict[str, Any]:
    return {f"{VARIABLES}{name}": value for name, value in relevant_variables(environ).items()}


def _launcher(deadline: Deadline, environ: Mapping[str, str]) -> dict[str, Any]:
    return launcher_values(environ)


def _read(path: str | Path) -> str | None:
    try:
        with open(path, encoding="utf-8", errors="replace") as file:
            return file.read(20_000)
    except OSError:
        return None


_HOST_PARTS: Mapping[str, _PART] = {"software": _software, "devices": _devices, "libraries": _libraries}
_PARTS: Mapping[str, _PART] = {
    **_HOST_PARTS,
    "launcher": _launcher,
    "variables": _variables,
    "packages": _packages,
    "git": _git,  # last: it runs a command
}
_MACHINE_PARTS: Mapping[str, _PART] = {"system": _system, "devices": _devices, "libraries": _toolkit}
_JOB_SHELL_PARTS: Mapping[str, _PART] = {
    **_MACHINE_PARTS,
    "launcher": _launcher,
    "variables": _variables,
    "git": _git_of_working_folder,
}


class EnvironmentCapture:
    """Captures once in a thread of its own and passes the result to every run that asks for it.

    `capture`: what is called in the thread. A process captures its environment once.
    """

    def __init__(self, capture: Callable[[], Mapping[str, Any]]) -> None:
        self._capture = capture
        self._lock = threading.Lock()
        self._receivers: list[Callable[[Mapping[str, Any]], None]] = []
        self._result: Mapping[str, Any] | None = None
        self._done = threading.Event()
        self._started = False

    def send_to(self, receiver: Callable[[Mapping[str, Any]], None]) -> None:
        """Call `receiver` with the environment: at once if it is known, else from the thread."""
        with self._lock:
            result = self._result
            if result is None:
                self._receivers.append(receiver)
            if not self._started:
                self._started = True
                threading.Thread(target=self._work, name="holter-environment", daemon=True).start()
        if result is not None:
            receiver(result)

    def wait(self, timeout: float) -> None:
        """Wait until the environment is captured, at most `timeout` seconds."""
        self._done.wait(timeout)

    def _work(self) -> None:
        result: Mapping[str, Any]
        try:
            result = self._capture()
        except Exception:
            result = {}
        with self._lock:
            self._result = result
            receivers, self._receivers = self._receivers, []
        for receiver in receivers:
            receiver(result)
        self._done.set()


def capture_of_rank(environ: Mapping[str, str], rank: int | None) -> Callable[[], dict[str, Any]] | None:
    """What this rank captures: rank 0 the job, the first rank of another host its host, others nothing."""
    if rank in (None, 0):
        return lambda: capture_job(environ)
    if local_rank(environ) == 0:
        return lambda: capture_host(environ)
    return None
