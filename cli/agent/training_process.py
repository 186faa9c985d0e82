"""What the files of /proc state of a process that another program runs: the environment of its launch.

Used only where somebody asks for it, for processes of the same user. The process is neither stopped nor
traced, and of its variables only those are taken that its own client would take.
"""

from __future__ import annotations

import os
import re
import subprocess
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from holter.client.environment import (
    Deadline,
    installed_packages,
    is_enabled,
    limit_text,
    split_packages,
)
from holter.client.git_state import read_git_state
from holter.client.identity import detect_rank
from holter.client.launch_variables import launcher_values, relevant_variables
from holter.environment_names import INCOMPLETE, PREFIX, VARIABLES
from holter.types import Config, ConfigKey, Labels

PROC = Path("/proc")
_MAX_MAPS_BYTES = 8 * 2**20
_WRITE_ACCESS = os.O_WRONLY | os.O_RDWR
_PACKAGE_FOLDERS = ("/site-packages", "/dist-packages")
_LIBRARY = re.compile(r"/lib(cudart|nccl)[\w-]*\.so\.(\d+\.\d+[\d.]*)")
_PYTHON = re.compile(r"python(\d+\.\d+)?")
_CUDA_RUNTIME, _NCCL = re.compile(r"nvidia-cuda-runtime(?:-cu\d+)?"), re.compile(r"nvidia-nccl-cu\d+")


@dataclass(frozen=True)
class TrainingProcess:
    """A process by its number and its start (clock ticks since boot), since numbers are used again."""

    pid: int
    started: int


def find_process(pid: int) -> TrainingProcess | None:
    """The process with this number; None where there is none."""
    try:
        fields = (PROC / str(pid) / "stat").read_text(errors="replace").rpartition(")")[2].split()
        return TrainingProcess(pid, int(fields[19]))
    except (OSError, IndexError, ValueError):
        return None


def find_writer(target: str, deadline: Deadline) -> TrainingProcess | None:
    """The training process of this user that has `target` open for writing; None where none is found.

    `target`: the path of a file without links, or `pipe:[NUMBER]`. Of several processes, rank 0 is chosen,
    Python before others, then the oldest one. Raises CaptureTimeoutError.
    """
    found = []
    for process in _processes():
        deadline.check()
        if process.pid != os.getpid() and _writes(process.pid, target):
            rank = detect_rank(read_variables(process.pid))
            is_python = _PYTHON.fullmatch(_executable(process.pid).name) is not None
            found.append((rank not in (None, 0), not is_python, process.started, process.pid, process))
    return min(found)[-1] if found else None


def _processes() -> Iterator[TrainingProcess]:
    for name in os.listdir(PROC):
        with suppress(OSError):  # it has ended
            if name.isdecimal() and (PROC / name).stat().st_uid == os.getuid():
                process = find_process(int(name))
                if process is not None:
                    yield process


def _writes(pid: int, target: str) -> bool:
    folder = PROC / str(pid)
    try:
        for name in os.listdir(folder / "fd"):
            with suppress(OSError):
                if os.readlink(folder / "fd" / name) == target:
                    stated = (folder / "fdinfo" / name).read_text()
                    flags = next(line for line in stated.splitlines() if line.startswith("flags:"))
                    if int(flags.split()[1], 8) & _WRITE_ACCESS:
                        return True
    except OSError:  # it has ended, or is protected
        pass
    return False


def read_variables(pid: int) -> dict[str, str]:
    """The variables with which a process was started; empty where they cannot be read."""
    try:
        content = (PROC / str(pid) / "environ").read_bytes()
    except OSError:
        return {}
    pairs = (entry.decode(errors="replace").partition("=") for entry in content.split(b"\0"))
    return {name: value for name, _, value in pairs if name}


def capture_process(process: TrainingProcess, host: str, deadline: Deadline) -> Config:
    """The environment of a process of this host; empty where it has ended, or its HOLTER_ENVIRONMENT is 0.

    The settings of a process that is not rank 0 are those of its host.
    """
    variables = read_variables(process.pid)
    if not variables or not is_enabled(variables) or find_process(process.pid) != process:
        return {}
    labels: Labels = () if detect_rank(variables) in (None, 0) else (("host", host[:200]),)
    found = _read_process(process.pid, variables, deadline)
    return {ConfigKey(PREFIX + name, labels): limit_text(value) for name, value in found.items()}


def _read_process(pid: int, variables: Mapping[str, str], deadline: Deadline) -> dict[str, Any]:
    found: dict[str, Any] = {
        **launcher_values(variables),
        **{f"{VARIABLES}{name}": value for name, value in relevant_variables(variables).items()},
    }
    missing = []
    for name, part in (("packages", _read_software), ("git", _read_repository)):
        try:
            deadline.check()
            found |= part(pid, deadline)
        except Exception:  # the limit of time, a file that the process may read and this one may not
            missing.append(name)
    return found | ({INCOMPLETE: " ".join(missing)} if missing else {})


def _read_software(pid: int, deadline: Deadline) -> dict[str, Any]:
    """Python, packages, CUDA and NCCL, by the files that the process has mapped into its memory."""
    with open(PROC / str(pid) / "maps", encoding="utf-8", errors="replace") as file:
        maps = file.read(_MAX_MAPS_BYTES)
    deadline.check()
    folders = [*_mapped_folders(maps), *_folders_next_to(pid)]
    root = PROC / str(pid) / "root"
    packages = installed_packages((f"{root}{folder}" for folder in dict.fromkeys(folders)), deadline)
    libraries = dict(_LIBRARY.findall(maps))
    found: dict[str, Any] = split_packages(packages)
    python = _python_version(pid, deadline)
    cuda = _version_of(_CUDA_RUNTIME, packages) if "libcudart" in maps else None
    nccl = _version_of(_NCCL, packages) if "libnccl" in maps else None
    stated = {
        "python": python,
        "cuda": cuda or libraries.get("cudart"),
        "nccl": nccl or libraries.get("nccl"),
    }
    if stated["cuda"]:
        stated["cuda"] = ".".join(stated["cuda"].split(".")[:2])  # as torch states it
    return found | {name: value for name, value in stated.items() if value}


def _mapped_folders(maps: str) -> Iterator[str]:
    """The folders of packages of which the process has loaded a library."""
    for line in maps.splitlines():
        _, slash, rest = line.partition("/")
        for name in _PACKAGE_FOLDERS:
            parent, found, _ = (slash + rest).partition(f"{name}/")
            if found:
                yield parent + name


def _folders_next_to(pid: int) -> list[str]:
    """The package folders of the environment whose interpreter was called."""
    called = _arguments(pid)[:1]
    if not called or not called[0].startswith("/"):
        return []
    prefix = PROC / str(pid) / "root" / Path(called[0]).parent.parent.relative_to("/")
    root = f"{PROC / str(pid) / 'root'}"
    return [str(folder).removeprefix(root) for folder in prefix.glob("lib/python3*/site-packages")]


def _version_of(package: re.Pattern[str], versions: Mapping[str, str]) -> str | None:
    return next((version for name, version in versions.items() if package.fullmatch(name)), None)


def _python_version(pid: int, deadline: Deadline) -> str | None:
    name = _PYTHON.fullmatch(_executable(pid).name)
    if name is None:
        return None
    with suppress(OSError, subprocess.SubprocessError):
        answer = subprocess.run(
            [PROC / str(pid) / "exe", "-V"],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=max(0.01, deadline.remaining),
            check=True,
        ).stdout.split()
        return answer[1][:40] if len(answer) == 2 else name[1]
    return name[1]  # of another container: its libraries are not here


def _read_repository(pid: int, deadline: Deadline) -> dict[str, Any]:
    folder = Path(os.readlink(PROC / str(pid) / "cwd"))
    script = next((each for each in _arguments(pid)[1:] if each.endswith(".py")), None)
    if script is not None:
        folder = (folder / script).parent
    if not folder.is_dir() or not folder.samefile(PROC / str(pid) / "root" / folder.relative_to("/")):
        return {}
    return read_git_state(folder, timeout=deadline.remaining)


def _executable(pid: int) -> Path:
    try:
        return Path(os.readlink(PROC / str(pid) / "exe"))
    except OSError:
        return Path()


def _arguments(pid: int) -> list[str]:
    """What the process was called with; used for the folder of its script, and never sent."""
    try:
        content = (PROC / str(pid) / "cmdline").read_bytes()
    except OSError:
        return []
    return [part.decode(errors="replace") for part in content.split(b"\0") if part]
