"""Routes about agents: their reports and their present status."""

from __future__ import annotations

from fastapi import APIRouter, Response

from holter.server.agents import AgentReport
from holter.server.api.error_docs import problem_docs
from holter.server.api.responses import ApiResponse, ResponseDocs, error_response, not_found
from holter.server.context import Context
from holter.server.schemas.service import AgentList, AgentStatus

NOT_FOUND = not_found("There is no such agent")
TOO_MANY: ResponseDocs = {429: problem_docs("There are too many agents")}

router = APIRouter(tags=["agents"])


@router.get("/agents", responses={200: {"model": AgentList}})
def list_agents(context: Context) -> ApiResponse:
    """The latest report of every agent, those in trouble first. A silent one is deleted after a week."""
    return ApiResponse({"agents": context.agents.statuses()})


@router.post("/agents", responses={200: {"model": AgentStatus}, **TOO_MANY})
def report(context: Context, body: AgentReport) -> ApiResponse:
    """Store the status of an agent. It counts as silent after four of its intervals without a report."""
    status = context.agents.record(body)
    if status is None:
        return error_response(429, "too many agents have reported: forget some", {"Retry-After": "300"})
    return ApiResponse(status)


@router.delete("/agents/{agent}", status_code=204, response_class=Response, responses=NOT_FOUND)
def forget(agent: str, context: Context) -> Response:
    """Delete an agent that has ended for good, so that its silence causes no incident."""
    context.agents.forget(agent)
    return Response(status_code=204)
