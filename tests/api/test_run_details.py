"""Details of runs: descriptions, reported state, requests to stop, named texts."""

from __future__ import annotations

import numpy as np
import pytest
from sqlalchemy import Engine, select

from holter.server.models import RunRecord
from holter.server.run_details import RunDetails, RunDetailStore
from holter.server.store import Store
from holter.types import Batch, Column, Delivery, SeriesKey


class FixedClock:
    """A clock that stands still until it is set."""

    now = 1000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def run_id(engine: Engine, store: Store) -> int:
    column = Column(key=SeriesKey("loss"), values=np.array([1.0]))
    batch = Batch(steps=np.array([1]), times=np.array([5.0]), columns=[column])
    store.accept(Delivery(project="llm", run="a", writer="w", batch_id="1", batch=batch))
    with engine.connect() as connection:
        number = connection.scalar(select(RunRecord.id))
    assert number is not None
    return number


def test_a_run_without_details_has_empty_ones(engine: Engine, run_id: int) -> None:
    assert RunDetailStore(engine).details(run_id) == RunDetails()


def test_an_update_changes_the_fields_given_and_no_others(engine: Engine, run_id: int) -> None:
    details = RunDetailStore(engine)
    details.update(run_id, display_name="calm-sun-1", tags=("a", "b"))
    details.update(run_id, notes="second try", exit_code=0)
    assert details.details(run_id) == RunDetails(
        display_name="calm-sun-1", tags=("a", "b"), notes="second try", exit_code=0
    )
    with pytest.raises(TypeError, match="colour"):
        details.update(run_id, colour="red")


def test_a_pending_request_to_stop_keeps_its_author(engine: Engine, run_id: int) -> None:
    clock = FixedClock()
    details = RunDetailStore(engine, clock=clock)
    details.request_stop(run_id, by="ana", reason="diverged")
    clock.now = 2000.0
    details.request_stop(run_id, by="ben")
    stored = details.details(run_id)
    assert (stored.stop_requested_at, stored.stop_requested_by, stored.stop_reason) == (
        1000.0,
        "ana",
        "diverged",
    )
    assert stored.stop_pending
    details.update(run_id, stopped_at=2010.0)
    assert not details.details(run_id).stop_pending
    details.request_stop(run_id, by="ben")  # a new request after the run was resumed
    assert details.details(run_id).stop_requested_by == "ben"
    details.withdraw_stop(run_id)
    assert details.details(run_id) == RunDetails()


def test_attributes_are_found_by_the_beginning_of_their_names(engine: Engine, run_id: int) -> None:
    details = RunDetailStore(engine)
    details.set_attributes(run_id, {"mlflow.tag.a_b": "1", "mlflow.tag.axb": "2", "wandb.key": "3"})
    details.set_attributes(run_id, {"mlflow.tag.axb": "4"})
    assert details.attributes(run_id, "mlflow.tag.") == {"mlflow.tag.a_b": "1", "mlflow.tag.axb": "4"}
    assert details.attributes(run_id, "mlflow.tag.a_") == {"mlflow.tag.a_b": "1"}
    details.remove_attributes(run_id, ["mlflow.tag.a_b", "unknown"])
    assert details.attributes(run_id) == {"mlflow.tag.axb": "4", "wandb.key": "3"}
