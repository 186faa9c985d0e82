"""The environment of a launch: captured in the background, complete or marked; compared between attempts."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from holter.attempts.config import ConfigByAttempt
from holter.attempts.environment import environment_of, list_environment_changes, without_environment
from holter.client import environment
from holter.client.environment import (
    EnvironmentCapture,
    capture_host,
    capture_job,
    capture_of_rank,
    parse_metadata_name,
    split_packages,
)
from holter.client.git_state import read_git_state
from holter.environment_names import PREFIX
from holter.types import ConfigKey
from tests.support.client_server import Server

Start = Callable[..., "subprocess.Popen[str]"]


def test_a_job_states_its_software_and_launcher() -> None:
    slurm = {
        "SLURM_JOB_ID": "17",
        "SLURM_JOB_NODELIST": "gpu-[1-4]",
        "SLURM_NTASKS": "32",
        "NCCL_DEBUG": "WARN",
    }
    found = capture_job(slurm, seconds=30)
    assert found[f"{PREFIX}python"] == ".".join(map(str, sys.version_info[:3]))
    assert found[f"{PREFIX}job"] == 17
    assert (found[f"{PREFIX}hosts"], found[f"{PREFIX}world_size"]) == ("gpu-[1-4]", 32)
    assert found[f"{PREFIX}launcher"] == "slurm"
    assert found[f"{PREFIX}variables/NCCL_DEBUG"] == "WARN"
    packages = "\n".join(value for name, value in found.items() if name.startswith(f"{PREFIX}packages/"))
    assert "\nnumpy " in f"\n{packages}"
    assert all(len(str(value)) <= environment.MAX_TEXT for value in found.values())


def test_no_framework_is_imported_for_it() -> None:
    script = """
import os, sys
from holter.client.environment import capture_job
assert capture_job(os.environ, 30)
print([name for name in ("torch", "numpy") if name in sys.modules])
"""
    output = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True).stdout
    assert output == "[]\n"


def test_what_takes_too_long_is_left_out_and_named(monkeypatch: pytest.MonkeyPatch) -> None:
    def slow(deadline: environment.Deadline, environ: object) -> dict[str, str]:
        time.sleep(0.1)
        deadline.check()
        return {"slow": "x"}

    monkeypatch.setattr(environment, "_PARTS", {"first": slow, "packages": slow, "git": slow})
    assert capture_job({}, seconds=0.05) == {f"{PREFIX}incomplete": "first packages git"}


def test_only_some_ranks_capture() -> None:
    assert capture_of_rank({}, None) is not None
    assert capture_of_rank({"LOCAL_RANK": "0"}, 8) is not None
    assert capture_of_rank({"LOCAL_RANK": "3"}, 3) is None
    assert not any("packages" in name for name in capture_host({}, seconds=30))


def test_a_capture_that_fails_leaves_the_run_alone() -> None:
    received: list[object] = []
    capture = EnvironmentCapture(lambda: {"a": 1 // 0})
    capture.send_to(received.append)
    capture.wait(60)
    capture.send_to(received.append)
    assert received == [{}, {}]


@pytest.mark.parametrize(
    ("name", "package"),
    [
        ("numpy-2.1.0.dist-info", ("numpy", "2.1.0")),
        ("Flash_Attn-2.7.0+cu12.dist-info", ("flash-attn", "2.7.0+cu12")),
        ("old-1.0-py3.11.egg-info", ("old", "1.0")),
        ("numpy", None),
        ("x.egg-info", None),
        (".dist-info", None),
    ],
)
def test_packages_are_read_from_the_names_of_folders(name: str, package: tuple[str, str] | None) -> None:
    assert parse_metadata_name(name) == package


def test_packages_are_split_into_values_of_limited_length() -> None:
    versions = {f"package-{number}": "1.0" for number in range(1000)}
    parts = split_packages(versions)
    assert max(map(len, parts.values())) <= environment.MAX_TEXT
    assert sum(len(part.splitlines()) for part in parts.values()) == 1000


def git(folder: Path, *arguments: str) -> None:
    identity = ["-c", "user.name=a", "-c", "user.email=a@b", "-c", "commit.gpgsign=false"]
    subprocess.run(["git", *identity, *arguments], cwd=folder, check=True, capture_output=True)


def test_the_state_of_a_repository_has_names_and_no_contents(tmp_path: Path) -> None:
    assert read_git_state(tmp_path) == {}
    git(tmp_path, "init", "-q", "-b", "main")
    (tmp_path / "train.py").write_text("a = 1")
    git(tmp_path, "add", ".")
    git(tmp_path, "commit", "-q", "-m", "first")
    (tmp_path / "train.py").write_text("password = 'hunter2'")
    state = read_git_state(tmp_path, timeout=30)
    assert len(state.pop("git_commit")) == 40
    assert state == {"git_branch": "main", "git_changed": 1, "git_changed_files": "train.py"}
    git(tmp_path, "checkout", "-q", "--detach")
    assert "git_branch" not in read_git_state(tmp_path, timeout=30)
    git(tmp_path, "pack-refs", "--all")
    git(tmp_path, "checkout", "-q", "main")
    assert len(read_git_state(tmp_path, timeout=30)["git_commit"]) == 40
    assert "git_changed" not in read_git_state(tmp_path, timeout=0)  # no time left for the command


def stated(*attempts: dict[str, object]) -> ConfigByAttempt:
    config: dict[ConfigKey, dict[int, object]] = {}
    for number, settings in enumerate(attempts):
        for name, value in settings.items():
            name, _, host = name.partition("@")
            config.setdefault(ConfigKey(name, (("host", host),) if host else ()), {})[number] = value
    return config  # type: ignore[return-value]


def changes(*attempts: dict[str, object]) -> list[tuple[str, object, object]]:
    prefixed = ({f"{PREFIX}{name}": value for name, value in each.items()} for each in attempts)
    listed = list_environment_changes(environment_of(stated(*prefixed)))
    return [(one["name"], one["before"], one["after"]) for launch in listed for one in launch["settings"]]


def test_packages_and_variables_are_compared_one_by_one() -> None:
    before = {"python": "3.11", "packages/0": "a 1\nb 1", "packages/1": "c 1", "variables/X": "1", "job": 1}
    after = {"python": "3.11", "packages/0": "a 1\nc 2\nd 1", "variables/Y": "2", "job": 2, "host": "n2"}
    assert changes(before, after) == [
        ("packages/b", "1", "not installed"),
        ("packages/c", "1", "2"),
        ("packages/d", "not installed", "1"),
        ("variables/X", "1", "not set"),
        ("variables/Y", "not set", "2"),
    ]


def test_an_incomplete_capture_is_no_change() -> None:
    before = {"python": "3.11", "packages/0": "a 1", "git_commit": "x"}
    incomplete = {"python": "3.11", "incomplete": "packages git"}
    assert changes(before, incomplete) == []
    assert changes(incomplete, before) == []
    assert changes(before, incomplete, before | {"packages/0": "a 2"}) == [("packages/a", "1", "2")]


def test_changed_files_that_could_not_be_counted_are_no_change() -> None:
    counted = {"git_commit": "x", "git_changed": 1, "git_changed_files": "train.py"}
    assert changes(counted, {"git_commit": "x"}, counted) == []
    assert changes({"git_commit": "x"}, counted) == []
    assert changes(counted, {"git_commit": "x", "git_changed": 0}) == [
        ("git_changed", 1, 0),
        ("git_changed_files", "train.py", "none"),
    ]
    outside = {"system": "Linux"}
    assert changes(outside | counted, outside) == [("git_commit", "x", "none")]


def test_another_host_with_the_same_driver_is_no_change() -> None:
    before = {"driver": "550", "driver@n2": "550"}
    assert changes(before, {"driver": "550", "driver@n3": "550"}) == []
    assert changes(before, {"driver": "550", "driver@n3": "560"}) == [("driver", None, "560")]


def test_the_environment_is_no_configuration() -> None:
    config = stated({"lr": 0.1, f"{PREFIX}python": "3.11"})
    assert [key.name for key in without_environment(config)] == ["lr"]
    assert [key.name for key in environment_of(config)] == ["python"]


@pytest.mark.slow
def test_each_launch_states_its_environment(server: Server, python: Start) -> None:
    script = f"""
import holter
run = holter.init("tests", "environment", {{"lr": 0.1}}, server={server.url!r})
run.log({{"loss": 1.0}}, step=0)
run.finish()
"""
    for debug in ("INFO", "WARN"):
        variables = {
            "HOLTER_ENVIRONMENT": "1",
            "HOLTER_ATTEMPT": debug,
            "NCCL_DEBUG": debug,
            "HF_TOKEN": "hf_abcdefghijklmnopqrst",
        }
        assert python(script, **variables).wait(60) == 0
    run = server.run("environment")
    assert run is not None
    assert [setting["name"] for setting in server.get(f"/runs/{run['id']}/config")["settings"]] == ["lr"]
    launched = server.get(f"/runs/{run['id']}/environment")
    assert "abcdefghijklmnopqrst" not in str(launched)
    (change,) = launched["changes"]
    assert [(one["name"], one["before"], one["after"]) for one in change["settings"]] == [
        ("variables/NCCL_DEBUG", "INFO", "WARN")
    ]
    assert os.environ["HOLTER_ENVIRONMENT"] == "0"
