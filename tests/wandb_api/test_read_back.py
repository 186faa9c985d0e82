"""Reading by `wandb.Api()`, request by request."""

from __future__ import annotations

import base64
import json
from typing import Any

import httpx
import pytest
from sqlalchemy.orm import Session

from holter.server import tokens
from holter.settings import Settings
from tests.support.servers import Serve
from tests.support.wandb_protocol import ProtocolClient

NAN = float("nan")


def log(wandb: ProtocolClient, run: str, rows: list[dict[str, Any]], **upsert: Any) -> None:
    """A run that was started, has logged these rows a second apart, and has ended."""
    wandb.upsert(run, **upsert)
    own = [{"_step": i, "_timestamp": 1000.0 + i, "_runtime": float(i)} | row for i, row in enumerate(rows)]
    wandb.history(run, 0, own)
    summary = json.dumps({**rows[-1], "_step": len(rows) - 1})
    files = {"wandb-summary.json": {"offset": 0, "content": [summary]}}
    wandb.stream(run, files=files, complete=True, exitcode=0).raise_for_status()


def of_run(wandb: ProtocolClient, operation: str, run: str = "a", **variables: Any) -> dict[str, Any]:
    names = {"project": "demo", "entity": "local", "name": run, "run": run, "runName": run}
    result: dict[str, Any] = wandb.graphql(operation, **names, **variables)["project"]["run"]
    return result


def page(wandb: ProtocolClient, first: int, last: int) -> list[dict[str, Any]]:
    history = of_run(wandb, "HistoryPage", minStep=first, maxStep=last, pageSize=last - first)["history"]
    return [json.loads(row) for row in history]


def runs(wandb: ProtocolClient, filters: Any = None, order: str = "+created_at", **more: Any) -> list[str]:
    variables = {"filters": json.dumps(filters), "order": order, **more}
    answer = wandb.graphql("Runs", project="demo", entity="local", **variables)["project"]
    return [edge["node"]["name"] for edge in answer["runs"]["edges"]]


def test_a_run_is_described_as_its_client_stated_it(wandb: ProtocolClient) -> None:
    log(wandb, "a", [{"loss": 1.0, "nested": {"x": 2}}], config=json.dumps({"m": {"value": {"depth": 3}}}))
    run = of_run(wandb, "Run")
    assert (run["name"], run["state"], run["readOnly"]) == ("a", "finished", False)
    assert json.loads(run["config"])["m"]["value"] == {"depth": 3}
    assert json.loads(run["summaryMetrics"]) == {"loss": 1.0, "nested": {"x": 2}, "_step": 0}
    assert run["historyKeys"]["lastStep"] == 0
    assert run["historyKeys"]["keys"].keys() == {"loss", "nested/x"}
    assert wandb.graphql("Run", project="demo", entity="local", name="no such")["project"]["run"] is None


def test_pages_of_the_history_contain_every_row_once(wandb: ProtocolClient) -> None:
    log(wandb, "a", [{"loss": i / 10} | ({"val": NAN} if i % 3 == 0 else {}) for i in range(10)])
    rows = page(wandb, 0, 4) + page(wandb, 4, 8) + page(wandb, 8, 12)
    assert [row["_step"] for row in rows] == list(range(10))
    assert [row["loss"] for row in rows] == [i / 10 for i in range(10)]
    assert [row["_timestamp"] for row in rows] == [1000.0 + i for i in range(10)]
    assert [row["_step"] for row in rows if "val" in row] == [0, 3, 6, 9]
    assert str(rows[0]["val"]) == "nan"


def test_rows_have_the_client_s_counter_where_a_metric_is_the_training_step(wandb: ProtocolClient) -> None:
    log(wandb, "a", [{"loss": float(i), "train/global_step": 10 * i} for i in range(8)])
    assert [(row["_step"], row["loss"]) for row in page(wandb, 2, 5)] == [(2, 2.0), (3, 3.0), (4, 4.0)]
    assert page(wandb, 0, 1)[0]["loss"] == 0.0
    assert of_run(wandb, "RunHistoryKeys")["historyKeys"]["lastStep"] == 7


def test_two_rows_of_one_training_step_stay_two_rows(wandb: ProtocolClient) -> None:
    log(wandb, "a", [{"loss": float(i), "train/global_step": i // 2} for i in range(6)])
    assert [(row["_step"], row["loss"]) for row in page(wandb, 0, 6)] == [(i, float(i)) for i in range(6)]


def test_sampled_rows_have_all_keys_and_strict_numbers(wandb: ProtocolClient) -> None:
    values = {0: 0.5, 2: 0.5, 4: NAN, 6: 0.5, 8: 0.5}
    log(wandb, "a", [{"loss": 1.0} | ({"val": values[i]} if i in values else {}) for i in range(9)])
    spec = json.dumps({"keys": ["_step", "val"], "samples": 3})
    (rows,) = of_run(wandb, "RunSampledHistory", specs=[spec])["sampledHistory"]
    assert rows == [{"_step": 0, "val": 0.5}, {"_step": 4, "val": "NaN"}, {"_step": 8, "val": 0.5}]
    rows = [json.loads(row) for row in of_run(wandb, "RunFullHistory", samples=2)["history"]]
    assert [row["_step"] for row in rows] == [0, 8]


@pytest.mark.parametrize(
    ("filters", "expected"),
    [
        ({}, ["a", "b", "c"]),
        ({"config.lr": 0.1}, ["a"]),
        ({"config.lr.value": {"$gte": 0.2}}, ["b", "c"]),
        ({"config.model.depth": {"$in": [2, 3]}}, ["b", "c"]),
        ({"summary_metrics.train/loss": {"$lt": 2.5, "$ne": 1.0}}, ["b"]),
        ({"tags": {"$in": ["night"]}}, ["b"]),
        ({"tags": "night"}, ["b"]),
        ({"state": "crashed"}, ["c"]),
        ({"$or": [{"display_name": {"$regex": "^FIRST", "$options": "i"}}, {"name": "c"}]}, ["a", "c"]),
        ({"config.lr": {"$not": {"$gt": 0.1}}}, ["a"]),
        ({"config.warmup": {"$exists": True}}, []),
    ],
)
def test_runs_are_filtered(three_runs: ProtocolClient, filters: Any, expected: list[str]) -> None:
    assert sorted(runs(three_runs, filters)) == expected


@pytest.fixture
def three_runs(wandb: ProtocolClient) -> ProtocolClient:
    for number, (name, shown) in enumerate([("a", "first"), ("b", "second"), ("c", "third")], 1):
        config = {"lr": {"value": number / 10}, "model": {"value": {"depth": number}}}
        tags = ["night"] if name == "b" else []
        wandb.upsert(name, config=json.dumps(config), displayName=shown, tags=tags)
        content = [json.dumps({"_step": 0, "_timestamp": 1000.0, "train/loss": float(number)})]
        files = {"wandb-history.jsonl": {"offset": 0, "content": content}}
        files["wandb-summary.json"] = {"offset": 0, "content": content}
        wandb.stream(name, files=files, **({} if name == "c" else {"complete": True, "exitcode": 0}))
    return wandb


def test_runs_are_ordered_and_paged(three_runs: ProtocolClient) -> None:
    assert runs(three_runs, order="-summary_metrics.train/loss") == ["c", "b", "a"]
    assert runs(three_runs, order="+config.lr", perPage=2) == ["a", "b"]
    assert runs(three_runs, order="+config.lr", perPage=2, cursor="2") == ["c"]


@pytest.mark.parametrize(
    ("filters", "reason"),
    [
        ({"config.lr": {"$near": 1}}, "the operator '$near' is unknown"),
        ({"colour": 1}, "the field 'colour' is unknown"),
        ({"name": {"$regex": "("}}, "$regex"),
        ({"$or": {}}, "expected a list"),
    ],
)
def test_a_wrong_filter_is_named(wandb: ProtocolClient, filters: Any, reason: str) -> None:
    wandb.upsert("a")
    variables = {"project": "demo", "filters": json.dumps(filters)}
    body = {"operationName": "Runs", "query": "query Runs { x }", "variables": variables}
    answer = httpx.post(f"{wandb.address}/graphql", json=body, timeout=60).json()
    assert reason in answer["errors"][0]["message"]


def test_tags_are_changed_by_id_and_the_end_of_the_run_stays(wandb: ProtocolClient) -> None:
    log(wandb, "a", [{"loss": 1.0}], config=json.dumps({"lr": {"value": 0.1}}))
    run = of_run(wandb, "Run")
    wandb.graphql("UpsertBucket", id=run["id"], tags=["good"], config=run["config"])
    after = of_run(wandb, "Run")
    assert after == run | {"tags": ["good"]}


def test_a_key_that_may_only_log_reads_and_changes_nothing(sqlite_url: str, serve: Serve) -> None:
    settings = Settings(database_url=sqlite_url, password="correct horse")  # type: ignore[arg-type]
    with serve(settings) as (context, address):
        with Session(context.engine) as session, session.begin():
            key = tokens.create(session, "job", now=0.0)
        context.authenticator.refresh()
        header = {"Authorization": f"Basic {base64.b64encode(f'api:{key}'.encode()).decode()}"}
        by_name = {"name": "a", "project": "demo"}
        requests = {"UpsertBucket": {"id": "x"}, "StopRun": {"id": "x"}}
        names = ("Run", "Runs", "GetProjects", "GetProject", "HistoryPage", "RunFullHistory", "RunFiles",
                 "RunSampledHistory", "RunHistoryKeys", "RunParquetHistory", "UpsertBucket", "DeleteRun",
                 "StopRun")  # fmt: skip
        for name in names:
            variables = requests.get(name, by_name)
            body = {"operationName": name, "query": f"query {name}", "variables": variables}
            answer = httpx.post(f"{address}/graphql", json=body, headers=header, timeout=60)
            assert (answer.status_code, "may only log" in answer.text) == (403, True), name
