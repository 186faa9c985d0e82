"""Models that clients log beside runs: accepted, so that training goes on, and not stored."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any
from uuid import uuid4

from holter.server.mlflow_api.call import Handler, MlflowCall
from holter.server.mlflow_api.launches import find_run
from holter.server.mlflow_api.logging import note_discarded


def create(call: MlflowCall) -> dict[str, Any]:
    """Answer as if the model had been stored, and say on the run's page that it was not."""
    if run_id := call.text("source_run_id"):
        note_discarded(call.context, find_run(call.context, run_id))
    return {"model": _model(call, f"m-{uuid4().hex}", "LOGGED_MODEL_PENDING")}


def get(call: MlflowCall) -> dict[str, Any]:
    """The answer of `create` for any id: nothing about models is stored."""
    return {"model": _model(call, call.path[0], "LOGGED_MODEL_READY")}


def accept(call: MlflowCall) -> dict[str, Any]:
    """Parameters and tags of models are discarded."""
    return {}


def search(call: MlflowCall) -> dict[str, Any]:
    """No model is stored."""
    return {"models": []}


def _model(call: MlflowCall, model_id: str, status: str) -> dict[str, Any]:
    now = round(1000 * call.context.clock())
    experiment_id = call.text("experiment_id") or "0"
    return {
        "info": {
            "model_id": model_id,
            "experiment_id": experiment_id,
            "name": call.text("name") or "model",
            "creation_timestamp_ms": now,
            "last_updated_timestamp_ms": now,
            "artifact_uri": f"mlflow-artifacts:/{experiment_id}/models/{model_id}/artifacts",
            "status": status,
            "source_run_id": call.text("source_run_id"),
            "tags": [],
        },
        "data": {"params": [], "metrics": []},
    }


HANDLERS: Mapping[tuple[str, str], Handler] = {
    ("POST", "logged-models"): create,
    ("POST", "logged-models/search"): search,
    ("GET", "logged-models/*"): get,
    ("PATCH", "logged-models/*"): get,
    ("POST", "logged-models/*/params"): accept,
    ("PATCH", "logged-models/*/tags"): accept,
}
