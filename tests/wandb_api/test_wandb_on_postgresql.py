"""The core of the protocol on PostgreSQL."""

from __future__ import annotations

from holter.settings import Settings
from tests.support.servers import Serve
from tests.support.wandb_protocol import ProtocolClient


def test_rows_resumes_and_repetitions_are_stored_as_on_sqlite(postgres_url: str, serve: Serve) -> None:
    with serve(Settings(database_url=postgres_url)) as (_, address):
        wandb = ProtocolClient(address)
        wandb.upsert("a", config='{"lr": {"value": 0.1}}', tags=["x"])
        rows = [{"_step": i, "_timestamp": 1000.0 + i, "loss": 1.0 / (1 + i)} for i in range(10)]
        for _ in range(2):
            wandb.history("a", 0, rows)
        line = wandb.resume("a")["historyLineCount"]
        wandb.upsert("a")
        later = [{**row, "_timestamp": row["_timestamp"] + 1000} for row in rows[5:]]
        wandb.history("a", line, later)
        assert wandb.points("a") == {"loss": 15}
        run = wandb.run("a")
    attempts = [(each["first_step"], each["last_step"]) for each in run["strip"]["attempts"]]
    assert attempts == [(0, 9), (5, 9)]
    assert (run["config"], run["description"]["tags"]) == ({"lr": 0.1}, ["x"])
