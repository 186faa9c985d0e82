"""`--help` of the program, of every command and of every action of a command."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from importlib import import_module

import pytest

from holter.cli.main import COMMANDS, main


def help_of(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> str:
    with pytest.raises(SystemExit) as exited:
        main([*arguments, "--help"])
    assert exited.value.code == 0
    return capsys.readouterr().out


def actions_of(command: str) -> Iterator[list[str]]:
    parser = argparse.ArgumentParser()
    import_module(f"holter.cli.commands.{command}").add_arguments(parser)
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            yield from ([command, name] for name in action.choices)


def test_the_program_names_its_commands(capsys: pytest.CaptureFixture[str]) -> None:
    words = help_of([], capsys).split()
    assert all(command in words for command in COMMANDS)


@pytest.mark.parametrize("command", COMMANDS)
def test_a_command_says_what_it_and_its_actions_do(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    text = help_of([command], capsys)
    assert text.startswith(f"usage: holter {command}")
    assert "%%" not in text
    for words in actions_of(command):
        assert help_of(words, capsys).startswith(f"usage: holter {' '.join(words)}")
