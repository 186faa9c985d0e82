"""The state of the protocol that is stored with each run."""

from __future__ import annotations

from collections.abc import Mapping

from holter.server.context import ServerContext
from holter.server.tracked_runs import TrackedRun, note_discarded
from holter.server.wandb_api.stream_state import STATE_ATTRIBUTE, StreamState

TRACKER = "wandb"
DEFAULT_ENTITY = "local"
DEFAULT_PROJECT = "uncategorized"
CONFIG_ATTRIBUTE = "wandb.config"


def read_state(context: ServerContext, run: TrackedRun) -> tuple[StreamState, Mapping[str, str]]:
    """The state of the protocol, and all attributes of the protocol."""
    attributes = context.run_details.attributes(run.id, "wandb.")
    return StreamState.from_json(attributes.get(STATE_ATTRIBUTE)), attributes


def write_state(
    context: ServerContext, run: TrackedRun, state: StreamState, more: Mapping[str, str] | None = None
) -> None:
    """Store the state, and further attributes."""
    context.run_details.set_attributes(run.id, {STATE_ATTRIBUTE: state.to_json(), **(more or {})})


def add_note(context: ServerContext, run: TrackedRun, location: str, reason: str) -> None:
    """Show on the run's page, once, that something was not stored."""
    note_discarded(context, TRACKER, run, location, f"{location}: {reason}")
