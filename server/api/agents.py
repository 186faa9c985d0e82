"""Agents elsewhere: they report how they are, and people and machines ask."""

from __future__ import annotations

from typing import Any

from fastapi import APIRouter, Response

from holter.server.agents import AgentReport
from holter.server.api.responses import ApiResponse, error_response
from holter.server.context import Context
from holter.server.schemas.service import AgentList, AgentStatus, Problem

NOT_FOUND: dict[int | str, dict[str, Any]] = {404: {"model": Problem, "description": "No such agent"}}
FULL: dict[int | str, dict[str, Any]] = {429: {"model": Problem, "description": "There are too many agents"}}

router = APIRouter(tags=["agents"])


@router.get("/agents", responses={200: {"model": AgentList}})
def list_agents(context: Context) -> ApiResponse:
    """Every agent as it last reported, those in trouble first. A silent one is forgotten after a week."""
    return ApiResponse({"agents": context.agents.all()})


@router.post("/agents", responses={200: {"model": AgentStatus}, **FULL})
def report(context: Context, body: AgentReport) -> ApiResponse:
    """How an agent is. What it does not repeat within four of its intervals makes it silent."""
    taken = context.agents.take(body)
    if taken is None:
        return error_response(429, "too many agents have reported: forget some", {"Retry-After": "300"})
    return ApiResponse(taken)


@router.delete("/agents/{agent}", status_code=204, response_class=Response, responses=NOT_FOUND)
def forget(agent: str, context: Context) -> Response:
    """It is gone for good: its silence is no news any more."""
    context.agents.forget(agent)
    return Response(status_code=204)
