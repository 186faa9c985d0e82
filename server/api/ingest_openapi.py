"""The OpenAPI schema of ingest bodies, written by hand since msgspec and not pydantic decodes them."""

from __future__ import annotations

from typing import Any

_NAME = {"type": "string", "minLength": 1, "maxLength": 200, "pattern": "^[^\\x00-\\x1f\\x7f-\\x9f]+$"}
_LONG_NAME = {**_NAME, "maxLength": 500}
_STEP = {"type": "integer", "minimum": -(2**53), "maximum": 2**53}
_TIME = {
    "anyOf": [{"type": "number", "minimum": 0, "exclusiveMaximum": 1e11}, {"type": "null"}],
    "description": "Unix seconds; null where there is no clock",
}
_VALUE = {
    "anyOf": [{"type": "number"}, {"enum": ["NaN", "Infinity", "-Infinity"]}, {"type": "null"}],
    "description": "null: not logged at this step",
}
_LABEL = {"anyOf": [_NAME, {"type": "integer"}, {"type": "number"}, {"type": "boolean"}]}
_LABELS = {"type": "object", "propertyNames": _NAME, "additionalProperties": _LABEL, "maxProperties": 64}
_HEADER: dict[str, Any] = {
    "project": _NAME,
    "run": _LONG_NAME,
    "attempt": {
        "anyOf": [_NAME, {"type": "integer"}, {"type": "null"}],
        "description": "the launch: a number from 0, or a name that all its writers use",
    },
    "writer": {
        "anyOf": [{**_NAME, "maxLength": 1000}, {"type": "null"}],
        "description": "the process that logged the points",
    },
    "batch_id": {
        "anyOf": [_NAME, {"type": "null"}],
        "description": "unique; the same id again changes nothing",
    },
    "labels": {**_LABELS, "description": "labels of all series in the batch"},
    "restarts": {"type": "boolean", "description": "the log marks a new launch at the first row"},
    "config": {
        "type": "object",
        "description": "configuration of the launch of the first step; nested settings get dotted names",
    },
    "settings": {
        "type": "array",
        "items": {
            "type": "object",
            "required": ["name", "value"],
            "properties": {"name": _NAME, "value": _LABEL, "labels": _LABELS},
            "additionalProperties": False,
        },
        "description": "like config, for settings that differ between processes: each with its labels",
    },
    "finished": {"type": "boolean", "description": "the run ends with these points"},
}
_COLUMNS = {
    "type": "object",
    "required": ["step"],
    "properties": {
        "step": {"type": "array", "minItems": 1, "items": _STEP},
        "time": {"type": "array", "items": _TIME},
    },
    "propertyNames": _LONG_NAME,
    "additionalProperties": {"type": "array", "items": _VALUE},
    "description": "arrays of equal length: step, optionally time, and each metric",
}
_POINTS = {
    "type": "array",
    "minItems": 1,
    "items": {
        "type": "object",
        "required": ["step", "values"],
        "additionalProperties": False,
        "properties": {
            "step": _STEP,
            "time": _TIME,
            "values": {
                "type": "object",
                "minProperties": 1,
                "propertyNames": _LONG_NAME,
                "additionalProperties": _VALUE,
            },
        },
    },
}


def _body_with(name: str, schema: dict[str, Any]) -> dict[str, Any]:
    return {
        "type": "object",
        "required": ["project", "run", name],
        "additionalProperties": False,
        "properties": {**_HEADER, name: schema},
    }


_FINISHED_BODY: dict[str, Any] = {
    "type": "object",
    "required": ["project", "run", "finished"],
    "additionalProperties": False,
    "properties": {**_HEADER, "finished": {"enum": [True], "description": "the run has ended"}},
}
_CONFIG_BODY: dict[str, Any] = {
    "type": "object",
    "required": ["project", "run", "config"],
    "additionalProperties": False,
    "properties": {**_HEADER, "config": {"type": "object", "minProperties": 1}},
    "description": "a launch that has not logged a step",
}
INGEST_BODY: dict[str, Any] = {
    "required": True,
    "description": "gzip or zstd with Content-Encoding; the binary form is described in docs/rest.md",
    "content": {
        "application/json": {
            "schema": {
                "anyOf": [
                    _body_with("columns", _COLUMNS),
                    _body_with("points", _POINTS),
                    _FINISHED_BODY,
                    _CONFIG_BODY,
                ]
            }
        },
        "application/msgpack": {"schema": {"type": "string", "format": "binary"}},
    },
}
