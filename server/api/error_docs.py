"""How error responses are documented: by references to two shared schemas of the OpenAPI document.

As `model` of each response FastAPI would build a validator for each of five hundred, which takes most of
the time until the first request is answered.
"""

from __future__ import annotations

from typing import Any

from fastapi import FastAPI
from pydantic import TypeAdapter

from holter.server.schemas.service import FieldProblem, FieldProblems, Problem

_REFERENCE = "#/components/schemas/{model}"


def problem_docs(description: str) -> dict[str, Any]:
    """The documentation of a response with one sentence."""
    return _docs(Problem.__name__, description)


def field_problems_docs(description: str) -> dict[str, Any]:
    """The documentation of a response with a reason for each field."""
    return _docs(FieldProblems.__name__, description)


def _docs(model: str, description: str) -> dict[str, Any]:
    schema = {"$ref": _REFERENCE.format(model=model)}
    return {"description": description, "content": {"application/json": {"schema": schema}}}


class DocumentedApp(FastAPI):
    """A FastAPI application whose OpenAPI document has the schemas of errors."""

    def openapi(self) -> dict[str, Any]:
        """The OpenAPI document, made once."""
        document = super().openapi()
        schemas = document["components"]["schemas"]
        for model in (Problem, FieldProblem, FieldProblems):
            if model.__name__ not in schemas:
                schema = TypeAdapter(model).json_schema(mode="serialization", ref_template=_REFERENCE)
                schemas[model.__name__] = {name: part for name, part in schema.items() if name != "$defs"}
        return document
