"""The route about the settings of the server."""

from __future__ import annotations

from fastapi import APIRouter

import holter
from holter.server.api.responses import ApiResponse
from holter.server.context import Context
from holter.server.read_models.settings_view import list_settings, settings_file
from holter.server.schemas.service import ServerSettings

router = APIRouter(tags=["settings"])


@router.get("/settings", responses={200: {"model": ServerSettings}})
def read_settings(context: Context) -> ApiResponse:
    """All settings with their sources and defaults, read-only. Secrets are not shown."""
    file = settings_file(context.settings)
    return ApiResponse(
        ServerSettings(
            version=holter.__version__,
            file=None if file is None else str(file),
            database=context.engine.dialect.name,
            settings=list_settings(context.settings),
        )
    )
