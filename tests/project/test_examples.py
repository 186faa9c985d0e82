"""The examples of docs/examples are valid for the tools that read them."""

from __future__ import annotations

import argparse
import re
import shlex
import shutil
import subprocess
import sys
from importlib import import_module
from pathlib import Path

import pytest
import yaml

from tests.support.requirements import skip_missing

EXAMPLES = Path(__file__).parents[2] / "docs" / "examples"


def example_commands() -> list[tuple[str, list[str]]]:
    """Every call of holter in the examples."""
    commands = []
    for path in sorted(EXAMPLES.iterdir()):
        text = path.read_text()
        if path.suffix == ".yaml":
            (container,) = yaml.safe_load(text)["spec"]["template"]["spec"]["initContainers"]
            commands.append((path.name, container["command"]))
        for call in re.findall(r"(?:ExecStart=/usr/bin/env|exec) (holter [^)\n]*)", text):
            commands.append((path.name, shlex.split(call)))
    return commands


def test_commands_in_the_examples_are_valid() -> None:
    commands = example_commands()
    assert {name for name, _ in commands} == {path.name for path in EXAMPLES.iterdir()}
    for _, (holter, command, *arguments) in commands:
        assert holter == "holter"
        parser = argparse.ArgumentParser(exit_on_error=False)
        import_module(f"holter.cli.commands.{command}").add_arguments(parser)
        parser.parse_args(arguments)


@pytest.mark.parametrize("unit", sorted(path.name for path in EXAMPLES.glob("*.service")))
def test_systemd_accepts_the_units(unit: str) -> None:
    if shutil.which("systemd-analyze") is None:
        skip_missing(f"systemd-analyze: {unit} is not checked")
    checked = subprocess.run(
        ["systemd-analyze", "verify", str(EXAMPLES / unit)], capture_output=True, text=True, check=False
    )
    assert (checked.returncode, checked.stderr) == (0, "")


def test_shellcheck_accepts_the_job_script() -> None:
    checked = subprocess.run(
        [Path(sys.executable).parent / "shellcheck", EXAMPLES / "train.sbatch"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert (checked.returncode, checked.stdout) == (0, "")
