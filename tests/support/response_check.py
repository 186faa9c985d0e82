"""Checks that JSON responses are as the OpenAPI document says."""

from __future__ import annotations

import json
import re
from typing import Any

import httpx
import jsonschema_rs


class ResponseCheck:
    """Validates JSON responses against the schemas of an OpenAPI document. Raises AssertionError."""

    def __init__(self, openapi: dict[str, Any]) -> None:
        self._components = openapi["components"]
        self._paths = {
            re.compile(re.sub(r"{[^}]+}", "[^/]+", path)): methods
            for path, methods in openapi["paths"].items()
        }

    def __call__(self, response: httpx.Response) -> None:
        """Validate one response, if it is JSON of a documented route and status."""
        if response.headers.get("content-type") != "application/json":
            return
        schema = self._schema(response.request, response.status_code)
        if schema is not None:
            body = json.loads(response.read())
            errors = jsonschema_rs.validator_for(schema).iter_errors(body)
            problems = [f"{error.instance_path}: {error.message}" for error in errors]
            assert not problems, f"{response.request.url}: {problems}"

    def _schema(self, request: httpx.Request, status: int) -> dict[str, Any] | None:
        for pattern, methods in self._paths.items():
            operation = methods.get(request.method.lower())
            if operation is not None and pattern.fullmatch(request.url.path):
                content = operation["responses"].get(str(status), {}).get("content", {})
                schema = content.get("application/json", {}).get("schema")
                return schema and {**schema, "components": self._components}
        return None
