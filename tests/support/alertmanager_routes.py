"""Generated trees of routes, and what a real Alertmanager decides about them.

`python -m tests.support.alertmanager_routes AMTOOL` records the decisions anew. AMTOOL is Debian's:
`apt-get download prometheus-alertmanager`, then `dpkg -x FILE FOLDER`, without being root.
"""

from __future__ import annotations

import json
import random
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

TREES = 500
RECORDED = Path(__file__).with_suffix(".json")
RECEIVERS = [f"r{number}" for number in range(8)]
VALUES = {
    "project": ["llm", "llm-7b", "vision"],
    "kind": ["stall", "spike_fast", "spike_slow", "divergence"],
    "severity": ["info", "warning", "critical"],
    "run": ["a", "b-1", "x.y", 'q"u\\o'],
    "rank": ["0", "1", "37"],
}
PATTERNS = [
    "llm.*", "spike_.*", "a|b-1", ".*", ".+", "", "[0-9]+", "(?i)LLM", "x\\.y", "st.ll", "warning|critical",
    "^llm$",
]  # fmt: skip


def make_case(seed: int) -> tuple[dict[str, Any], dict[str, str]]:
    """A tree of routes, in the form that both programs read, and the labels of an incident."""
    chance = random.Random(seed)
    tree = _make_route(chance, 0)
    return tree, {name: chance.choice(VALUES[name]) for name in VALUES if chance.random() < 0.8}


def _make_route(chance: random.Random, depth: int) -> dict[str, Any]:
    route: dict[str, Any] = {}
    if depth == 0 or chance.random() < 0.8:
        route["receiver"] = chance.choice(RECEIVERS)
    if depth:
        route["matchers"] = [_make_matcher(chance) for _ in range(chance.choice([0, 1, 1, 1, 2, 2]))]
        route["continue"] = chance.random() < 0.4
    if depth < 3:
        route["routes"] = [_make_route(chance, depth + 1) for _ in range(chance.randrange(4 - depth % 2))]
    return route


def _make_matcher(chance: random.Random) -> str:
    name = chance.choice(list(VALUES))
    operator = chance.choice(["=", "!=", "=~", "!~"])
    value = chance.choice(PATTERNS if "~" in operator else [*VALUES[name], ""])
    return f'{name}{operator}"{_escape(value)}"'


def _escape(value: str) -> str:
    return value.replace("\\", "\\\\").replace('"', '\\"')


def ask_amtool(amtool: str, tree: dict[str, Any], labels: dict[str, str]) -> list[str]:
    """The receivers that `amtool config routes test` names."""
    config = {"route": tree, "receivers": [{"name": name} for name in RECEIVERS]}
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "alertmanager.yml"
        file.write_text(json.dumps(config))  # JSON is YAML
        words = [f'{name}="{_escape(value)}"' for name, value in labels.items()]
        command = [amtool, "config", "routes", "test", f"--config.file={file}", *words]
        done = subprocess.run(command, capture_output=True, text=True, check=True)
    return done.stdout.strip().split(",")


def main(amtool: str) -> None:
    """Record the decisions of a real amtool."""
    version = subprocess.run([amtool, "--version"], capture_output=True, text=True, check=True)
    decisions = [ask_amtool(amtool, *make_case(seed)) for seed in range(TREES)]
    first_line = (version.stdout or version.stderr).splitlines()[0]
    lines = ",\n".join(json.dumps(decision) for decision in decisions)
    RECORDED.write_text(f'{{"amtool": {json.dumps(first_line)}, "receivers": [\n{lines}\n]}}\n')


if __name__ == "__main__":
    main(sys.argv[1])
