"""Checks of the dashboard, the alert rules and the metrics by the tools that read them.

`python -m tests.support.monitoring_checks PROMTOOL SCHEMAS` records their results anew. PROMTOOL is Debian's:
`apt-get download prometheus`, then `dpkg -x FILE FOLDER`, without being root. SCHEMAS is the folder
`jsonschema` of the repository grafana/grafana-foundation-sdk: the JSON schemas that Grafana publishes.
"""

from __future__ import annotations

import hashlib
import json
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import jsonschema_rs

from holter.server.context import ServerContext
from holter.settings import Settings

FILES = Path(__file__).parents[2] / "docs" / "monitoring"
DASHBOARD, RULES = FILES / "grafana-dashboard.json", FILES / "prometheus-rules.yaml"
RULE_TESTS = FILES / "prometheus-rules-test.yaml"
RECORDED = Path(__file__).with_suffix(".json")
GRAFANA_VARIABLES = {"$__rate_interval": "5m", "$instance": ".*"}


def digest(path: Path) -> str:
    """A hash of a file, by which a record states what was checked."""
    return hashlib.sha256(path.read_bytes()).hexdigest()


def panels_of(dashboard: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """The panels of a dashboard that show data."""
    yield from (panel for panel in dashboard["panels"] if panel["type"] != "row")


def expressions(dashboard: dict[str, Any]) -> list[str]:
    """The PromQL of a dashboard's panels, with Grafana's variables replaced by values."""
    texts = [target["expr"] for panel in panels_of(dashboard) for target in panel["targets"]]
    for name, value in GRAFANA_VARIABLES.items():
        texts = [text.replace(name, value) for text in texts]
    return texts


def metrics_of(expression: str) -> set[str]:
    """The metrics of Holter and its process that an expression names."""
    return set(re.findall(r"\b(?:holter|process|python)_\w+", expression))


def grafana_problems(dashboard: dict[str, Any], schemas: Path) -> list[str]:
    """What Grafana's schemas refuse: of the dashboard, its panels' options, and its queries."""
    problems = _problems(schemas / "dashboard.jsonschema.json", dashboard)
    for panel in panels_of(dashboard):
        schema = json.loads((schemas / f"{panel['type']}.jsonschema.json").read_text())
        parts = {"Options": panel["options"]}
        if "FieldConfig" in schema["definitions"]:
            parts["FieldConfig"] = panel["fieldConfig"]["defaults"].get("custom", {})
        for definition, value in parts.items():
            problems += _problems(schemas / f"{panel['type']}.jsonschema.json", value, definition)
        for target in panel["targets"]:
            problems += _problems(schemas / "prometheus.jsonschema.json", target, "Dataquery")
    return problems


def _problems(schema: Path, value: Any, definition: str = "") -> list[str]:
    text = json.loads(schema.read_text())
    if definition:
        text["$ref"] = f"#/definitions/{definition}"
    validator = jsonschema_rs.Draft7Validator(text)
    return [
        f"{schema.name}: {error.instance_path}: {error.message}" for error in validator.iter_errors(value)
    ]


def served_metrics() -> bytes:
    """What `/metrics` of a new server with a channel answers."""
    with tempfile.TemporaryDirectory() as folder:
        channels = {"oncall": {"type": "slack", "allow_private": True, "url": "http://127.0.0.1:1/x"}}
        context = ServerContext(Settings(data_dir=Path(folder), channels=channels))
        context.start()
        try:
            context.metrics.delivery.attempted("oncall", "delivered", 1.0)
            context.heartbeat.outcomes["sent"] += 1
            return context.metrics.render()
        finally:
            context.close()


def main(promtool: str, schemas: str) -> None:
    """Run all checks, and record that they passed, by which tools, of which files."""
    dashboard = json.loads(DASHBOARD.read_text())
    problems = grafana_problems(dashboard, Path(schemas))
    if problems:
        raise SystemExit("\n".join(problems))
    _run(promtool, "check", "rules", str(RULES))
    _run(promtool, "test", "rules", str(RULE_TESTS))
    with tempfile.TemporaryDirectory() as folder:
        queries = Path(folder) / "queries.yaml"
        rules = [{"record": f"panel:{n}", "expr": text} for n, text in enumerate(expressions(dashboard))]
        queries.write_text(json.dumps({"groups": [{"name": "dashboard", "rules": rules}]}))  # JSON is YAML
        _run(promtool, "check", "rules", str(queries))
    metrics = _run(promtool, "check", "metrics", given=served_metrics())
    version = _run(promtool, "--version").splitlines()[0]
    record = {
        "promtool": version,
        "checked": {path.name: digest(path) for path in (DASHBOARD, RULES, RULE_TESTS)},
        "remarks about metrics": sorted(line for line in metrics.splitlines() if line.startswith("holter_")),
    }
    RECORDED.write_text(json.dumps(record, indent=1) + "\n")


def _run(*command: str, given: bytes = b"") -> str:
    done = subprocess.run(command, input=given, capture_output=True, check=False)
    output = (done.stdout + done.stderr).decode()
    if done.returncode not in ((0, 3) if "metrics" in command else (0,)):  # 3: remarks about names
        raise SystemExit(f"{' '.join(command)}: {output}")
    return output


if __name__ == "__main__":
    main(*sys.argv[1:])
