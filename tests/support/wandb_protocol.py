"""Sends what wandb clients send, request by request."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

import httpx

_HTTP = httpx.Client(timeout=60)  # one for all tests: a new one reads the certificates of authorities


@dataclass
class ProtocolClient:
    """Sends what a client sends, request by request."""

    address: str
    project: str = "demo"

    def graphql(self, operation: str, /, **variables: Any) -> dict[str, Any]:
        body = {"operationName": operation, "query": f"mutation {operation} {{ x }}", "variables": variables}
        answer = _HTTP.post(f"{self.address}/graphql", json=body).json()
        assert not answer.get("errors"), answer
        data: dict[str, Any] = answer["data"]
        return data

    def upsert(self, run: str, **variables: Any) -> dict[str, Any]:
        data = self.graphql("UpsertBucket", name=run, project=self.project, **variables)
        result: dict[str, Any] = data["upsertBucket"]
        return result

    def resume(self, run: str) -> Any:
        status = self.graphql("RunResumeStatus", name=run, project=self.project, entity="local")
        return status["model"]["bucket"]

    def stream(self, run: str, client: str = "", **content: Any) -> httpx.Response:
        headers = {"X-WANDB-ASYNC-CLIENT-ID": client} if client else {}
        path = f"/files/local/{self.project}/{run}/file_stream"
        return _HTTP.post(self.address + path, content=json.dumps(content), headers=headers)

    def history(self, run: str, offset: int, rows: list[dict[str, Any]], client: str = "") -> None:
        chunk = {"offset": offset, "content": [json.dumps(row) for row in rows]}
        self.stream(run, client, files={"wandb-history.jsonl": chunk}).raise_for_status()

    def run(self, name: str) -> dict[str, Any]:
        runs = _HTTP.get(f"{self.address}/api/v1/runs").json()["runs"]
        found = next(each for each in runs if each["name"] == name)
        details: dict[str, Any] = _HTTP.get(f"{self.address}/api/v1/runs/{found['id']}").json()
        return details

    def points(self, name: str) -> dict[str, int]:
        path = f"/api/v1/runs/{self.run(name)['id']}/series"
        series = _HTTP.get(self.address + path).json()["series"]
        return {each["metric"]: each["points"] for each in series}
