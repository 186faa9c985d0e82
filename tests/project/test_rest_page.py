"""docs/rest.md: each route is described, with fields, values and parameters that its OpenAPI document has."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import pytest

from holter.server.app import create_app
from holter.server.ingest_http import body_limits
from holter.server.ingest_http.binary_body import RawBody, RawColumn
from holter.settings import Settings
from tests.support.documentation import FENCE, ROOT

PAGE = (ROOT / "docs" / "rest.md").read_text()
BINARY_FIELDS = {*RawBody.__struct_fields__, *RawColumn.__struct_fields__, "f4", "f8"}
OTHER_WORDS = {
    # settings, files, encodings, and examples
    *Settings.model_fields, "holter.toml", "null", "zstd", "bin", "loss_step_1", "loss_step_2",
    # settings of channels, and a field inside the JSON that Slack sends
    "signing_secret", "response_url",
    # values of fields that are text
    "agent_silent", "all", "benchmark", "trace", "steps",
    # fields of another route that the section refers to
    "config", "data",
}  # fmt: skip
LIMITS = {
    "values, objects and arrays": body_limits.MAX_JSON_ITEMS,
    "series in a body": body_limits.MAX_SERIES,
    "bodies in one request": body_limits.MAX_BODIES,
    "labels of a series": body_limits.MAX_LABELS,
}


@pytest.fixture(scope="module")
def openapi(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """The OpenAPI document of a server."""
    return create_app(Settings(data_dir=tmp_path_factory.mktemp("openapi"))).openapi()


def sections() -> Iterator[tuple[str, str, str]]:
    """Method, path and text of each route of the page, without blocks of code."""
    parts = re.split(r"^### `(\w+) (/\S+)`$", FENCE.sub("", PAGE), flags=re.MULTILINE)
    for method, path, text in zip(parts[1::3], parts[2::3], parts[3::3], strict=True):
        yield method, path, re.split(r"^## ", text, flags=re.MULTILINE)[0]


def words_of(openapi: dict[str, Any], node: object, seen: set[str]) -> set[str]:
    """The names of properties and parameters and the values of enumerations in a part of the document."""
    words: set[str] = set()
    if isinstance(node, dict):
        if (reference := node.get("$ref")) is not None and reference not in seen:
            seen.add(reference)
            words |= words_of(openapi, openapi["components"]["schemas"][reference.rsplit("/", 1)[1]], seen)
        words |= set(node.get("properties", {}))
        words |= {str(value) for value in node.get("enum", [])} | {
            str(node[key]) for key in ("const", "name") if key in node
        }
        node = list(node.values())
    if isinstance(node, list):
        words = words.union(*(words_of(openapi, part, seen) for part in node))
    return words


@pytest.mark.parametrize(("method", "path", "text"), list(sections()), ids=lambda part: part[:40].strip())
def test_fields_and_parameters_of_a_route_exist(
    openapi: dict[str, Any], method: str, path: str, text: str
) -> None:
    operation = openapi["paths"][path][method.lower()]
    known = words_of(openapi, operation, set()) | OTHER_WORDS
    if path.endswith("/ingest"):
        known |= BINARY_FIELDS
    spans = re.findall(r"`([^`\n]+)`", text)
    names = [span for span in spans if re.fullmatch(r"[a-z_][\w.\[\]]*", span)]
    unknown = [name for name in names if name not in known and not set(re.findall(r"\w+", name)) <= known]
    assert unknown == []
    asked = {name for span in spans for name in re.findall(r"[?&](\w+)=", span)}
    assert asked <= {parameter["name"] for parameter in operation.get("parameters", [])}


def test_every_route_is_described(openapi: dict[str, Any]) -> None:
    described = {(method, path) for method, path, _ in sections()}
    routes = {(method.upper(), path) for path, methods in openapi["paths"].items() for method in methods}
    assert routes - described == set()


@pytest.mark.parametrize(("limited", "limit"), list(LIMITS.items()))
def test_limits_of_a_body_are_those_of_the_code(limited: str, limit: int) -> None:
    (stated,) = re.findall(rf"^\| {limited}[^|]*\| ([\d,]+) \|$", PAGE, re.MULTILINE)
    assert int(stated.replace(",", "")) == limit
