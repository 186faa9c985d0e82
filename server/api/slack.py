"""The route that Slack calls when somebody presses a button of a message."""

from __future__ import annotations

from typing import Any

from fastapi import APIRouter, Request, Response
from starlette.background import BackgroundTask
from starlette.exceptions import HTTPException

from holter.server.api.error_docs import problem_docs
from holter.server.api.responses import ResponseDocs
from holter.server.channels.slack_requests import SlackRequestError
from holter.server.context import Context

SIGNED: ResponseDocs = {
    200: {"description": "Accepted; what became of it is sent to the response_url of the interaction"},
    400: problem_docs("The body is no interaction of Slack"),
    403: problem_docs("The request is not signed by Slack, or older than five minutes"),
    404: problem_docs("No Slack channel has a signing_secret"),
}
_BODY: dict[str, Any] = {
    "requestBody": {
        "required": True,
        "content": {
            "application/x-www-form-urlencoded": {
                "schema": {
                    "type": "object",
                    "required": ["payload"],
                    "properties": {"payload": {"type": "string", "description": "JSON"}},
                }
            }
        },
    }
}

router = APIRouter(tags=["alerting"])


@router.post("/slack/interactive", responses=SIGNED, openapi_extra=_BODY, response_class=Response)
async def press_button(context: Context, request: Request) -> Response:
    """A button of a Slack message was pressed. Needs no login: Slack signs it with the app's secret."""
    interactions, headers = context.slack_interactions, request.headers
    if not interactions.is_enabled:
        raise HTTPException(404, "No Slack channel has a signing_secret.")
    body = await request.body()
    timestamp = headers.get("x-slack-request-timestamp", "")
    channels = interactions.signers(body, timestamp, headers.get("x-slack-signature", ""))
    if not channels:
        raise HTTPException(
            403,
            "The request is not signed with the signing_secret of a Slack channel, or older than 5 minutes.",
        )
    try:
        press = interactions.parse(body)
    except SlackRequestError as error:
        raise HTTPException(400, str(error)) from None
    # Slack waits three seconds for the answer, and a database may take longer
    task = None if press is None else BackgroundTask(interactions.handle, press, channels)
    return Response(status_code=200, background=task)
