"""The public interface: routes, flags and settings are exactly these, and documented."""

from __future__ import annotations

import argparse
import re
from importlib import import_module
from pathlib import Path
from pkgutil import iter_modules
from typing import Any

import httpx
import pytest

import holter.cli.commands
from holter.server.app import create_app
from holter.settings import Settings

DOCS = Path(__file__).parents[2] / "docs"
ROUTES = {
    "GET /api/v1/routing",
    "POST /api/v1/routing/test",
    "POST /api/v1/routing/trial",
    "GET /api/v1/receivers",
    "POST /api/v1/channels/{name}/test",
    "GET /api/v1/notifications",
    "POST /api/v1/notifications/retry",
    "POST /api/v1/notifications/{notification_id}/retry",
    "GET /api/v1/incidents/{incident_id}/decisions",
    "GET /api/v1/silences",
    "POST /api/v1/silences",
    "DELETE /api/v1/silences/{silence_id}",
    "POST /api/v1/slack/interactive",
    "GET /api/v1/agents",
    "POST /api/v1/agents",
    "DELETE /api/v1/agents/{agent}",
    "GET /api/v1/compare/curves",
    "GET /api/v1/compare/differences",
    "GET /api/v1/compare/statistics",
    "GET /api/v1/incidents",
    "GET /api/v1/incidents/{incident_id}",
    "GET /api/v1/incidents/{incident_id}/context",
    "POST /api/v1/incidents/acknowledge",
    "POST /api/v1/incidents/{incident_id}/acknowledge",
    "POST /api/v1/incidents/{incident_id}/assign",
    "POST /api/v1/incidents/{incident_id}/mute",
    "DELETE /api/v1/incidents/{incident_id}/mute",
    "POST /api/v1/incidents/{incident_id}/unacknowledge",
    "POST /api/v1/incidents/{incident_id}/close",
    "POST /api/v1/incidents/{incident_id}/reopen",
    "POST /api/v1/incidents/{incident_id}/comment",
    "POST /api/v1/incidents/{incident_id}/planned",
    "POST /api/v1/import",
    "POST /api/v1/ingest",
    "GET /api/v1/projects/{name}/expected",
    "GET /api/v1/projects/{name}/references",
    "POST /api/v1/runs/{run_id}/reference",
    "DELETE /api/v1/runs/{run_id}/reference",
    "GET /api/v1/projects/{name}/report",
    "GET /api/v1/runs/{run_id}/report",
    "POST /api/v1/projects/{name}/expected",
    "DELETE /api/v1/projects/{name}/expected/{number}",
    "GET /api/v1/runs",
    "GET /api/v1/completions",
    "GET /api/v1/columns",
    "PATCH /api/v1/runs/{run_id}",
    "GET /api/v1/views",
    "GET /api/v1/shares",
    "POST /api/v1/shares",
    "DELETE /api/v1/shares/{link_id}",
    "POST /api/v1/views",
    "PUT /api/v1/views/{view_id}",
    "DELETE /api/v1/views/{view_id}",
    "GET /api/v1/runs/{run_id}",
    "DELETE /api/v1/runs/{run_id}",
    "GET /api/v1/runs/{run_id}/export",
    "GET /api/v1/runs/{run_id}/data",
    "POST /api/v1/runs/{run_id}/finish",
    "POST /api/v1/runs/{run_id}/save",
    "DELETE /api/v1/runs/{run_id}/save",
    "POST /api/v1/runs/{run_id}/stop",
    "DELETE /api/v1/runs/{run_id}/stop",
    "GET /api/v1/runs/{run_id}/expected",
    "POST /api/v1/runs/{run_id}/expected",
    "DELETE /api/v1/runs/{run_id}/expected/{number}",
    "GET /api/v1/expected",
    "GET /api/v1/runs/{run_id}/events",
    "GET /api/v1/runs/{run_id}/incidents",
    "GET /api/v1/runs/{run_id}/charts",
    "GET /api/v1/runs/{run_id}/grid",
    "GET /api/v1/runs/{run_id}/latest",
    "GET /api/v1/runs/{run_id}/series",
    "GET /api/v1/runs/{run_id}/config",
    "GET /api/v1/runs/{run_id}/environment",
    "GET /api/v1/runs/{run_id}/remarks",
    "GET /api/v1/runs/{run_id}/collectives",
    "GET /api/v1/runs/{run_id}/throughput",
    "GET /api/v1/runs/{run_id}/throughput/curve",
    "GET /api/v1/session",
    "GET /api/v1/settings",
    "POST /api/v1/session",
    "DELETE /api/v1/session",
    "GET /api/v1/stream",
    "POST /api/v1/status",
    "GET /healthz",
    "GET /metrics",
    "GET /readyz",
}
SERVER_FLAGS = {
    "--host",
    "--port",
    "--data-dir",
    "--database-url",
    "--database-url-file",
    "--public-url",
    "--scrape",
    "--verbose",
}
DATABASE_FLAGS = {"--data-dir", "--database-url", "--database-url-file"}
FLAGS = {
    "serve": SERVER_FLAGS,
    "watch": SERVER_FLAGS | {"PATH", "--project", "--poll"},
    "doctor": SERVER_FLAGS | {"PATH", "--explain"},
    "export": DATABASE_FLAGS | {"RUN", "--format", "--output", "--metric", "--no-incidents"},
    "report": DATABASE_FLAGS | {"RUN", "--week", "--output"},
    "import": DATABASE_FLAGS
    | {"PATH", "--project", "--run", "--dry-run", "--keep-private", "--server", "--token"},
    "db upgrade": DATABASE_FLAGS,
    "db backup": DATABASE_FLAGS | {"file"},
    "db restore": DATABASE_FLAGS | {"file"},
    "db move": DATABASE_FLAGS | {"--to", "--to-file"},
    "db check": DATABASE_FLAGS,
    "db thin": DATABASE_FLAGS | {"--dry-run"},
    "db delete": DATABASE_FLAGS | {"RUN"},
    "db vacuum": DATABASE_FLAGS | {"--full"},
    "token create": DATABASE_FLAGS | {"name", "--scope"},
    "token list": DATABASE_FLAGS,
    "token revoke": DATABASE_FLAGS | {"name"},
}
SETTINGS = {
    "data_dir", "database_url", "database_url_file", "host", "port", "public_url", "password", "secret_key",
    "max_batch_mb", "max_import_mb", "http", "trusted_proxies", "channels", "alerting",
    "slack_webhook_url", "slack_signing_secret", "smtp_url", "email_to", "email_from", "projects",
    "formats", "peaks", "scrape", "parse_seconds", "parse_memory_mb",
}  # fmt: skip


def headings(name: str) -> set[str]:
    return set(re.findall(r"^###? `(.+)`$", (DOCS / name).read_text(), re.MULTILINE))


def flags(parser: argparse.ArgumentParser, name: str) -> dict[str, set[str]]:
    """The flags of a command, or of each of its actions."""
    result: set[str] = set()
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            below = [flags(inner, f"{name} {word}") for word, inner in action.choices.items()]
            return {key: value for part in below for key, value in part.items()}
        if not isinstance(action, argparse._HelpAction):
            result.add(
                action.option_strings[-1] if action.option_strings else str(action.metavar or action.dest)
            )
    return {name: result}


def test_the_routes_are_these_and_all_are_documented(sqlite_url: str) -> None:
    openapi: dict[str, Any] = create_app(Settings(database_url=sqlite_url)).openapi()
    routes = {f"{method.upper()} {path}" for path, methods in openapi["paths"].items() for method in methods}
    assert routes == ROUTES
    assert routes <= headings("rest.md")


def test_the_flags_are_these_and_every_command_is_documented() -> None:
    result: dict[str, set[str]] = {}
    for name in ("serve", "watch", "doctor", "export", "report", "import", "db", "token"):
        parser = argparse.ArgumentParser()
        import_module(f"holter.cli.commands.{name}").add_arguments(parser)
        result |= flags(parser, name)
        assert f"holter {name}" in headings("team.md")
    assert result == FLAGS


def test_every_flag_of_every_command_is_in_the_documentation() -> None:
    missing: list[str] = []
    documentation = "\n".join(page.read_text() for page in [*DOCS.glob("*.md"), DOCS.parent / "README.md"])
    for module in iter_modules(holter.cli.commands.__path__):
        parser = argparse.ArgumentParser()
        import_module(f"holter.cli.commands.{module.name}").add_arguments(parser)
        for command, known in flags(parser, module.name).items():
            missing += [
                f"{command} {flag}" for flag in known if flag.startswith("--") and flag not in documentation
            ]
    assert missing == []


def test_the_settings_are_these_and_all_are_documented() -> None:
    assert set(Settings.model_fields) == SETTINGS == headings("settings.md")


def test_every_field_of_a_run_is_in_the_description(client: httpx.Client) -> None:
    schemas = client.get("/openapi.json").json()["components"]["schemas"]
    assert {
        "RunInfo",
        "RunDetail",
        "ChartData",
        "IncidentView",
        "BatchReceipt",
        "Problem",
        "FieldProblems",
    } <= set(schemas)


@pytest.mark.parametrize("path", ["/healthz", "/readyz"])
def test_health_is_open_and_short(client: httpx.Client, path: str) -> None:
    answer = client.get(path)
    assert answer.status_code == 200
    assert set(answer.json()) == {"status"}


def test_prometheus_finds_counters_and_gauges(client: httpx.Client) -> None:
    body = {"project": "p", "run": "r", "columns": {"step": [1, 2], "loss": [1, 2]}}
    client.post("/api/v1/ingest", json=body)
    client.post("/api/v1/ingest", json={})
    text = client.get("/metrics").text
    for line in (
        "holter_points_total 2.0",
        "holter_runs 1.0",
        'holter_ingest_requests_total{status="200"} 1.0',
        'holter_ingest_requests_total{status="422"} 1.0',
        "holter_live_listeners 0.0",
        "holter_analyses_failing 0.0",
    ):
        assert line in text
    assert "process_resident_memory_bytes" in text


def test_the_largest_numbers_of_bodies_are_numbers_of_programs_with_floats(client: httpx.Client) -> None:
    def limits(schema: Any) -> list[float]:
        if isinstance(schema, dict):
            largest = [schema["maximum"]] if schema.get("type") == "integer" and "maximum" in schema else []
            return largest + [each for part in schema.values() for each in limits(part)]
        return [each for part in schema for each in limits(part)] if isinstance(schema, list) else []

    found = limits(client.get("/openapi.json").json()["components"]["schemas"])
    assert found
    assert max(found) <= 2**53, "beyond it they are rounded, and the rounded one is refused"
