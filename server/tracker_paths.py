"""Paths of other trackers' protocols, whose clients state their keys and expect errors in their own way."""

from __future__ import annotations

import re
from collections.abc import Sequence

WANDB_GRAPHQL = "/graphql"
WANDB_GRAPHQL_PATH = re.compile(WANDB_GRAPHQL)
WANDB_FILE_STREAM = re.compile(r"/files/[^/]+/[^/]+/[^/]+/file_stream")
WANDB_UPLOAD = re.compile(r"/wandb/uploads/.+")
"""The address itself is the permission: it has a signature."""
WANDB_TELEMETRY = re.compile(r"/sdk/otel/.*")
MLFLOW = re.compile(r"/api/2\.0/mlflow/.+")
MLFLOW_ARTIFACTS = re.compile(r"/api/2\.0/mlflow-artifacts/.+")
TRACKIO_VERSION = "/version"
TRACKIO_VERSION_PATH = re.compile(TRACKIO_VERSION)
TRACKIO_CALL = re.compile(r"/api/[a-z_]+")
TRACKIO_TOKEN_HEADER = "x-trackio-write-token"
_LOGGING = {
    "GET": (MLFLOW, MLFLOW_ARTIFACTS, TRACKIO_VERSION_PATH),
    "POST": (WANDB_GRAPHQL_PATH, WANDB_FILE_STREAM, MLFLOW, MLFLOW_ARTIFACTS, TRACKIO_CALL),
    "PUT": (WANDB_UPLOAD, MLFLOW_ARTIFACTS),
    "PATCH": (MLFLOW,),
}


def is_tracker_path(path: str) -> bool:
    """Whether a path belongs to the protocol of another tracker."""
    patterns = (WANDB_FILE_STREAM, WANDB_UPLOAD, WANDB_TELEMETRY, MLFLOW, MLFLOW_ARTIFACTS, TRACKIO_CALL)
    return path == WANDB_GRAPHQL or any(pattern.fullmatch(path) for pattern in patterns)


def is_tracker_logging(method: str, path: str) -> bool:
    """Whether a request may log with a token of a job; what it may read, its operations decide."""
    return any(pattern.fullmatch(path) for pattern in _LOGGING.get(method, ()))


def with_authorization(path: str, headers: Sequence[tuple[bytes, bytes]]) -> Sequence[tuple[bytes, bytes]]:
    """The headers of a request, with the token of a trackio client as the one that Holter expects."""
    if not TRACKIO_CALL.fullmatch(path):
        return headers
    token = next((value for name, value in headers if name == TRACKIO_TOKEN_HEADER.encode()), None)
    if token is None or any(name == b"authorization" for name, _ in headers):
        return headers
    return [*headers, (b"authorization", b"Bearer " + token)]
