"""Media and artifacts: accepted and discarded, since after an error clients send them again for ever."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from holter.server.trackio_api.call import Handler, TrackioCall
from holter.server.trackio_api.entries import RunName, run_name
from holter.server.trackio_api.runs import find_run, note_discarded


def discard_media(call: TrackioCall) -> None:
    """Mention the files once on the pages of their runs."""
    for name in dict.fromkeys(run_name(entry) for entry in call.entries("uploads")):
        _note(call, name)


def present_blobs(call: TrackioCall) -> dict[str, Any]:
    """All files of an artifact, so that clients do not send them."""
    digests = call.parameters.get("digests")
    return {"present": digests if isinstance(digests, list) else []}


def discard(_: TrackioCall) -> None:
    """Files of artifacts."""


def log_artifact(call: TrackioCall) -> dict[str, Any]:
    """The answer for an artifact that was logged as its first version; mentioned once on the run's page."""
    run = call.text("run_name")
    _note(call, RunName(call.text("project"), run, call.text("run_id") or run))
    manifest, aliases = call.entries("manifest"), call.parameters.get("aliases")
    sizes = (entry.get("size") for entry in manifest)
    return {
        "version": 0,
        "aliases": aliases if isinstance(aliases, list) else [],
        "manifest": manifest,
        "manifest_digest": "",
        "size_bytes": sum(size for size in sizes if isinstance(size, int)),
    }


def _note(call: TrackioCall, name: RunName) -> None:
    run = find_run(call.context, name)
    if run is not None:
        note_discarded(call.context, run)


HANDLERS: Mapping[str, Handler] = {
    "bulk_upload_media": discard_media,
    "check_artifact_blobs": present_blobs,
    "bulk_upload_artifact_blob": discard,
    "artifact_log": log_artifact,
    "log_artifact_use": discard,
    "get_artifact_manifest": discard,  # there is none
}
