"""What open pages are told: new points, changed incidents, new runs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from holter.server.live.listeners import Live, News
from holter.server.store import Commit


def tell_commits(live: Live) -> Callable[[Commit], None]:
    """A listener for the store: tells of new points, and of runs not seen before."""
    seen: set[int] = set()

    def tell(commit: Commit) -> None:
        run = commit.public_id
        if commit.run_id not in seen:
            seen.add(commit.run_id)
            live.tell(run_news(run))
        data = {"run_id": run, "last_step": commit.last_step, "attempt": commit.attempt}
        live.tell(News("points", run, data))

    return tell


def tell_incidents(live: Live) -> Callable[[dict[str, Any]], None]:
    """A listener for incidents: tells each as it now is."""

    def tell(incident: dict[str, Any]) -> None:
        live.tell(News("incident", incident["run_id"], incident))

    return tell


def run_news(public_id: str) -> News:
    """That a run is new, or has changed as a whole."""
    return News("run", public_id, {"run_id": public_id})
