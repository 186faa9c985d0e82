"""Calls of trackio's clients about one project, and what is stored of it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import httpx

from holter.server.context import ServerContext
from holter.types import Series, SeriesKey

_ENTRIES = ("logs", "alerts", "uploads")


class TrackioProject:
    """Sends calls of trackio's clients about one project, and reads what was stored of it."""

    def __init__(self, context: ServerContext, client: httpx.Client, project: str) -> None:
        self._context, self.client, self.project = context, client, project

    def call(self, name: str, **parameters: Any) -> httpx.Response:
        """Send a call with its named parameters; the project of entries is filled in."""
        named: dict[str, Any] = {"hf_token": None, "project": self.project, **parameters}
        for key in _ENTRIES:
            if isinstance(named.get(key), list):
                named[key] = [self._entry(entry) for entry in named[key]]
        return self.client.post(f"/api/{name}", json={"args": [], "kwargs": named})

    def _entry(self, entry: object) -> object:
        return {"project": self.project, **entry} if isinstance(entry, dict) else entry

    def answer(self, name: str, **parameters: Any) -> Any:
        """The data of the answer to a call that succeeds."""
        response = self.call(name, **parameters)
        assert response.status_code == 200, response.text
        return response.json()["data"]

    def log(self, *entries: object) -> None:
        """Send rows."""
        assert self.answer("bulk_log", logs=list(entries)) is None

    def detail(self, run: str = "first") -> dict[str, Any]:
        """A run as the REST interface describes it."""
        runs = self.client.get("/api/v1/runs", params={"project": self.project}).json()["runs"]
        [public_id] = [each["id"] for each in runs if each["name"] == run]
        described: dict[str, Any] = self.client.get(f"/api/v1/runs/{public_id}").json()
        return described

    def incidents(self, run: str = "first") -> list[dict[str, Any]]:
        """The incidents of a run."""
        found = self.client.get(f"/api/v1/runs/{self.detail(run)['id']}/incidents")
        listed: list[dict[str, Any]] = found.json()["incidents"]
        return listed

    def series(self, run: str = "first") -> Mapping[SeriesKey, Series]:
        """All points of a run."""
        return self._context.store.read(self._context.runs.run_id(self.detail(run)["id"]))

    def points(self, metric: str = "loss", run: str = "first") -> list[tuple[int, int, float]]:
        """Attempt, step and value of each point of a metric."""
        series = self.series(run)[SeriesKey(metric)]
        return list(zip(series.attempt.tolist(), series.step.tolist(), series.value.tolist(), strict=True))
