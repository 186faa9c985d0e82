"""Files of a run: small texts that describe it are stored, everything else is read and discarded."""

from __future__ import annotations

import base64
import hmac
import re
import time
from typing import Any
from urllib.parse import quote

from holter.server.context import ServerContext
from holter.server.store.keys import storable_text
from holter.server.tracked_runs import TrackedRun, find_run
from holter.server.wandb_api.operations import GraphqlCall, Operation
from holter.server.wandb_api.run_state import DEFAULT_PROJECT, add_note

UPLOAD_PATH = "/wandb/uploads"
STORED_FILES = frozenset({"requirements.txt", "output.log"})
"""Files whose text is stored."""
_DESCRIPTIONS = frozenset({"config.yaml", "conda-environment.yaml", "diff.patch"})
"""Files of every run that are not stored: they may have secrets, and names of people and machines."""
_PATCH = re.compile(r"diff_[0-9a-f]+\.patch")
MAX_STORED_BYTES = 256 * 1024
"""Of a longer text, the end is stored."""
MAX_FILES = 10_000
"""Files of one request."""
VALID_SECONDS = 24 * 3600.0


def create_files(call: GraphqlCall) -> dict[str, Any]:
    """An address for each file, which is valid for a day."""
    name = call.required("run", "runName", "name")
    run = find_run(call.context, call.text("project", "projectName") or DEFAULT_PROJECT, name)
    files = call.variables.get("files")
    names = [each for each in files if isinstance(each, str)][:MAX_FILES] if isinstance(files, list) else []
    run_id = "" if run is None else run.public_id
    if run is not None:
        _note_discarded(call.context, run, names)
    addresses = [
        {"name": each, "uploadUrl": call.address + upload_path(call.context, run_id, each)} for each in names
    ]
    return {
        "createRunFiles": {"runID": run_id, "uploadHeaders": [], "files": addresses},
        "model": {
            "bucket": {
                "id": run_id,
                "files": {
                    "uploadHeaders": [],
                    "edges": [
                        {"node": {"name": one["name"], "url": one["uploadUrl"], "updatedAt": None}}
                        for one in addresses
                    ],
                },
            }
        },
    }


def _note_discarded(context: ServerContext, run: TrackedRun, names: list[str]) -> None:
    if any(not _describes_run(name) for name in names):
        add_note(context, run, "files", "Holter stores no files: media, tables and artifacts are discarded")


def _describes_run(name: str) -> bool:
    """Whether the client sends a file with each run, among them patches against other commits."""
    return (
        name in STORED_FILES | _DESCRIPTIONS
        or name.startswith("wandb-")
        or _PATCH.fullmatch(name) is not None
    )


def upload_path(context: ServerContext, run_id: str, name: str) -> str:
    """The path for the upload of a file, with a signature, since the client sends no key with it."""
    expires = int(time.time() + VALID_SECONDS)
    return f"{UPLOAD_PATH}/{run_id}/{expires}/{_signature(context, run_id, expires, name)}/{quote(name)}"


def is_valid_upload(context: ServerContext, run_id: str, expires: str, signature: str, name: str) -> bool:
    """Whether a path was made by `upload_path` and has not expired."""
    if not expires.isdecimal() or len(expires) > 12 or int(expires) < time.time():
        return False
    return hmac.compare_digest(_signature(context, run_id, int(expires), name), signature)


def _signature(context: ServerContext, run_id: str, expires: int, name: str) -> str:
    signed = context.authenticator.signature("wandb upload", f"{run_id}/{expires}/{name}")
    return base64.urlsafe_b64encode(signed).decode().rstrip("=")


def store_file(context: ServerContext, run: TrackedRun, name: str, content: bytes) -> None:
    """Store the text of a file under the attribute `file.NAME`."""
    text = storable_text(content[-MAX_STORED_BYTES:].decode(errors="replace"))
    context.run_details.set_attributes(run.id, {f"file.{name}": text})


OPERATIONS: dict[str, Operation] = {"CreateRunFiles": create_files, "RunUploadUrls": create_files}
