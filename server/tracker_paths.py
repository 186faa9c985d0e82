"""Paths of other trackers' protocols, whose clients state their keys and expect errors in their own way."""

from __future__ import annotations

import re

WANDB_GRAPHQL = "/graphql"
WANDB_GRAPHQL_PATH = re.compile(WANDB_GRAPHQL)
WANDB_FILE_STREAM = re.compile(r"/files/[^/]+/[^/]+/[^/]+/file_stream")
WANDB_UPLOAD = re.compile(r"/wandb/uploads/.+")
"""The address itself is the permission: it has a signature."""
WANDB_TELEMETRY = re.compile(r"/sdk/otel/.*")
MLFLOW = re.compile(r"/api/2\.0/mlflow/.+")
MLFLOW_ARTIFACTS = re.compile(r"/api/2\.0/mlflow-artifacts/.+")
_LOGGING = {
    "GET": (MLFLOW, MLFLOW_ARTIFACTS),
    "POST": (WANDB_GRAPHQL_PATH, WANDB_FILE_STREAM, MLFLOW, MLFLOW_ARTIFACTS),
    "PUT": (WANDB_UPLOAD, MLFLOW_ARTIFACTS),
    "PATCH": (MLFLOW,),
}


def is_tracker_path(path: str) -> bool:
    """Whether a path belongs to the protocol of another tracker."""
    patterns = (WANDB_FILE_STREAM, WANDB_UPLOAD, WANDB_TELEMETRY, MLFLOW, MLFLOW_ARTIFACTS)
    return path == WANDB_GRAPHQL or any(pattern.fullmatch(path) for pattern in patterns)


def is_tracker_logging(method: str, path: str) -> bool:
    """Whether a request may log with a token of a job; what it may read, its operations decide."""
    return any(pattern.fullmatch(path) for pattern in _LOGGING.get(method, ()))
