"""The secret that signs session cookies: set by an administrator, or a private file in the data folder.

It is not in the database, so that who reads the database or a backup cannot sign a session.
"""

from __future__ import annotations

import logging
import os
import secrets
from pathlib import Path

from holter.private_files import create_private_folder, private_opener, restrict_to_owner
from holter.settings import Settings

FILE_NAME = "session.key"
SECRET_BYTES = 32
_logger = logging.getLogger(__name__)


def load_session_secret(settings: Settings) -> bytes:
    """The secret of this server's sessions; created when first needed.

    Where the data folder cannot be written it is random, and sessions end with the server's process.
    """
    if settings.secret_key is not None:
        return settings.secret_key.get_secret_value().encode("utf-8", "surrogatepass")
    path = settings.data_folder / FILE_NAME
    try:
        create_private_folder(settings.data_folder, tighten=settings.has_default_data_dir)
        restrict_to_owner(path)
        return _read(path) or _create(path)
    except OSError as error:
        _logger.warning(
            "%s cannot be used (%s): sessions end when the server stops. Set HOLTER_SECRET_KEY, or choose "
            "another data_dir",
            *(path, error.strerror or error),
        )
        return secrets.token_bytes(SECRET_BYTES)


def _read(path: Path) -> bytes:
    """The secret of a file, empty if there is none. Raises OSError, also for links and others' files."""
    try:
        with open(path, "rb", opener=lambda name, flags: os.open(name, flags | os.O_NOFOLLOW)) as file:
            if os.fstat(file.fileno()).st_uid not in {os.geteuid(), 0}:
                raise PermissionError("it belongs to another user")
            content = file.read(2 * SECRET_BYTES)
    except FileNotFoundError:
        return b""
    return content if len(content) >= SECRET_BYTES else b""


def _create(path: Path) -> bytes:
    """Write a new secret, unless another process does so at the same time; returns the one that is stored."""
    fresh = path.with_name(f"{path.name}.{secrets.token_hex(8)}")
    try:
        with open(fresh, "xb", opener=private_opener) as file:
            file.write(secrets.token_bytes(SECRET_BYTES))
            file.flush()
            os.fsync(file.fileno())
        try:
            os.link(fresh, path)
        except FileExistsError:
            if not _read(path):  # damaged: too short
                fresh.replace(path)
        return _read(path)
    finally:
        fresh.unlink(missing_ok=True)
