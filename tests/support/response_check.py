"""Checks that JSON responses are as the OpenAPI document says."""

from __future__ import annotations

import json
import re
from functools import cache
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
        validator = self._find_validator(response.request, response.status_code)
        if validator is not None:
            errors = validator.iter_errors(json.loads(response.read()))
            problems = [f"{error.instance_path}: {error.message}" for error in errors]
            assert not problems, f"{response.request.url}: {problems}"

    def _find_validator(self, request: httpx.Request, status: int) -> jsonschema_rs.Validator | None:
        method = request.method.lower()
        for pattern, methods in self._paths.items():
            if method in methods and pattern.fullmatch(request.url.path):
                return self._validator(pattern, method, status)
        return None

    @cache  # noqa: B019 - a check lives as long as the tests
    def _validator(self, path: re.Pattern[str], method: str, status: int) -> jsonschema_rs.Validator | None:
        content = self._paths[path][method]["responses"].get(str(status), {}).get("content", {})
        schema = content.get("application/json", {}).get("schema")
        return schema and jsonschema_rs.validator_for({**schema, "components": self._components})
