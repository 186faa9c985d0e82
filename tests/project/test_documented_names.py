"""Commands, options, settings, addresses and names in the documentation exist, and its examples are valid."""

from __future__ import annotations

import argparse
import ast
import json
import re
import shlex
import textwrap
from collections.abc import Iterator
from functools import cache
from importlib import import_module
from pathlib import Path

import pytest

from holter.cli.main import COMMANDS
from holter.server import prometheus
from holter.server.app import create_app
from holter.server.machine_metrics.routes import REMOTE_WRITE_PATH
from holter.settings import Settings, load
from tests.support.documentation import FENCE, PAGES, ROOT, blocks_of

INDENTED = re.compile(r"(?:^    [^\n]*\n)+", re.MULTILINE)
SPAN = re.compile(r"`([^`\n]+)`")
OPERATORS = {"|", "||", "&&", "&", ";", ">", ">>", "2>", "2>&1", "<"}
SUBCOMMANDS = ("--help", "--version")

each_page = pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))


def shell_lines(page: Path) -> Iterator[str]:
    """The lines of a page that a reader would type: of blocks in the language sh, and indented ones."""
    text = page.read_text()
    indented = [textwrap.dedent(block) for block in INDENTED.findall(FENCE.sub("", text))]
    for block in [*(block.text for block in blocks_of(page, "sh")), *indented]:
        yield from block.replace("\\\n", " ").splitlines()


def holter_calls(page: Path) -> list[list[str]]:
    """The calls of holter on these lines as words, up to the next operator of the shell."""
    calls = []
    for line in shell_lines(page):
        if not re.match(r"(\$ )?(\w+=\S+ )*(srun \S* ?|nohup |exec )?holter [a-z-]", line):
            continue
        words = shlex.split(line, comments=True)
        words = words[words.index("holter") + 1 :]
        end = next((place for place, word in enumerate(words) if word in OPERATORS), len(words))
        calls.append(words[:end])
    return calls


@cache
def parser_of(command: str) -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog=f"holter {command}", exit_on_error=False)
    import_module(f"holter.cli.commands.{command}").add_arguments(parser)
    return parser


def options_of(parser: argparse.ArgumentParser) -> set[str]:
    """The options of a command and of its subcommands."""
    found = {option for action in parser._actions for option in action.option_strings}
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            found = found.union(*(options_of(child) for child in action.choices.values()))
    return found


@each_page
def test_commands_in_blocks_are_valid(page: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for command, *arguments in holter_calls(page):
        if command in SUBCOMMANDS or "..." in arguments or any("[" in word for word in arguments):
            continue  # a synopsis
        assert command in COMMANDS, f"holter {command}"
        try:
            parser_of(command).parse_args(arguments)
        except (SystemExit, argparse.ArgumentError) as error:
            pytest.fail(f"holter {shlex.join([command, *arguments])}: {error} {capsys.readouterr().err}")


@each_page
def test_commands_in_sentences_exist_with_their_options(page: Path) -> None:
    for span in SPAN.findall(FENCE.sub("", page.read_text())):
        if not (match := re.match(r"holter ([a-z]+)(?:$|[ .,])", span)):
            continue
        command = match[1]
        assert command in COMMANDS, span
        named = set(re.findall(r"(?<![\w-])--[a-z][\w-]*", span)) - set(SUBCOMMANDS)
        assert named <= options_of(parser_of(command)), span


@each_page
def test_make_targets_exist(page: Path) -> None:
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    text = page.read_text()
    lines = [line for line in shell_lines(page) if line.startswith("make ")]
    named = re.findall(r"`make ([a-z-]+)", text) + [line.split()[1] for line in lines]
    assert set(named) <= targets


@pytest.fixture(scope="module")
def sources() -> str:
    """The text of the product and of what measures and tests it."""
    folders = ("cli", "core", "detectors", "ingest", "server", "ui", "tests", "benchmarks")
    files = [path for folder in folders for path in (ROOT / folder).rglob("*.py") if path != Path(__file__)]
    return "\n".join(path.read_text() for path in [*files, ROOT / "Makefile"])


@each_page
def test_environment_variables_are_read_somewhere(page: Path, sources: str) -> None:
    settings = {f"HOLTER_{name.upper()}" for name in Settings.model_fields}
    named = set(re.findall(r"\bHOLTER_[A-Z_]+[A-Z]\b", page.read_text()))
    assert {name for name in named - settings if name not in sources} == set()


@each_page
def test_prometheus_metrics_exist(page: Path, sources: str) -> None:
    text = re.sub(r"^```sql\n.*?^```", "", page.read_text(), flags=re.MULTILINE | re.DOTALL)
    named = set(re.findall(r"(?<![\w./-])holter_[a-z_]+\b(?!\.)", text))
    of_agents = {f"holter_agent_{name}" for name, _, _ in prometheus._AGENT_GAUGES}
    # the code names counters without the ending that they are served with
    assert {name for name in named - of_agents if name.removesuffix("_total") not in sources} == set()


@pytest.fixture(scope="module")
def routes(tmp_path_factory: pytest.TempPathFactory) -> list[re.Pattern[str]]:
    """A pattern for each path of the REST interface."""
    folder = tmp_path_factory.mktemp("routes")
    paths = [*create_app(Settings(data_dir=folder)).openapi()["paths"], REMOTE_WRITE_PATH]
    return [re.compile(re.sub(r"\{\w+\}", "[^/]+", path) + "/?") for path in paths]


@each_page
def test_rest_addresses_exist(page: Path, routes: list[re.Pattern[str]]) -> None:
    named = re.findall(r"(?:GET|POST|PUT|PATCH|DELETE) (/[\w/{}.~-]*)", page.read_text())
    named += re.findall(r"(/api/v1/[\w/{}-]*\w\}?)", page.read_text())
    paths = {path if path.startswith(("/api/", "/healthz", "/readyz", "/metrics")) else f"/api/v1{path}"
             for path in named}  # fmt: skip
    unknown = {path for path in paths if not any(route.fullmatch(path) for route in routes)}
    assert unknown == set()


@each_page
def test_settings_files_are_valid(page: Path, tmp_path: Path) -> None:
    for number, block in enumerate(block.text for block in blocks_of(page, "toml")):
        if not re.search(r"^(\[|\w+ *=)", block, re.MULTILINE) or "[project" in block.replace(
            "[projects", ""
        ):
            continue  # of another tool
        file = tmp_path / f"{number}.toml"
        file.write_text(block)
        load(file=file)


@each_page
def test_examples_in_python_import_what_exists(page: Path) -> None:
    for block in (found.text for found in blocks_of(page, "python")):
        for node in ast.walk(ast.parse(block)):
            if isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] == "holter":
                module = import_module(node.module or "")
                assert [name.name for name in node.names if not hasattr(module, name.name)] == [], block
            elif (
                isinstance(node, ast.Attribute)
                and isinstance(node.value, ast.Name)
                and node.value.id == "holter"
            ):
                assert hasattr(import_module("holter"), node.attr), f"holter.{node.attr}"


@each_page
def test_examples_in_json_are_json(page: Path) -> None:
    for block in (found.text for found in blocks_of(page, "json")):
        json.loads(block.replace("…", ""))
