"""A real server in a process of its own, behind a network that fails as asked, and what it has stored."""

from __future__ import annotations

import signal
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
import numpy as np
from sqlalchemy import select

from holter.server.database import connect
from holter.server.models import RunRecord
from holter.server.store import Store
from holter.types import Series, SeriesKey
from tests.support.command_runner import CommandRunner
from tests.support.fault_proxy import FaultProxy, fault_proxy
from tests.support.waiting import wait_for


class TrackerHost:
    """A server with a SQLite database, reached by clients through `proxy`."""

    def __init__(self, runner: CommandRunner, proxy: FaultProxy, database: str) -> None:
        self._runner = runner
        self._database = database
        self.proxy = proxy
        self._engine = connect(database)
        self._store = Store(self._engine)
        self.server_address = f"http://127.0.0.1:{runner.port}"

    @property
    def server_process(self) -> int:
        """The number of the server's process."""
        return self._runner.child

    def start(self) -> None:
        """Start the server and wait until it answers."""
        self._runner.serve(self._database)

    def kill(self) -> None:
        """Kill the server as by `kill -9`."""
        self._runner.end(signal.SIGKILL)

    def close(self) -> None:
        """End everything."""
        self._store.close()
        self._engine.dispose()

    def points(self, run: str) -> Mapping[SeriesKey, Series]:
        """All points of a run, none for an unknown one."""
        with self._engine.connect() as connection:
            run_id = connection.scalar(select(RunRecord.id).where(RunRecord.name == run))
        return {} if run_id is None else self._store.read(run_id)

    def rows(self, run: str, metric: str = "loss") -> int:
        """How many points a metric of a run has."""
        return sum(len(series) for key, series in self.points(run).items() if key.metric == metric)

    def wait_for_rows(self, run: str, count: int, metric: str = "loss") -> None:
        """Wait until a metric of a run has so many points."""
        wait_for(lambda: self.rows(run, metric) >= count, 90)

    def detail(self, run: str) -> dict[str, Any]:
        """A run as the REST interface describes it."""
        with httpx.Client(base_url=f"{self.server_address}/api/v1", timeout=30) as client:
            runs = client.get("/runs").json()["runs"]
            found = next(each for each in runs if each["name"] == run)
            details: dict[str, Any] = client.get(f"/runs/{found['id']}").json()
        return details

    def detail_of(self, public_id: str) -> dict[str, Any]:
        """The same, by the id of a run."""
        answer = httpx.get(f"{self.server_address}/api/v1/runs/{public_id}", timeout=30)
        details: dict[str, Any] = answer.raise_for_status().json()
        return details

    def names(self, prefix: str) -> list[str]:
        """The names of all runs that begin with a text, in the order of their creation."""
        query = select(RunRecord.name).where(RunRecord.name.startswith(prefix)).order_by(RunRecord.id)
        with self._engine.connect() as connection:
            return list(connection.scalars(query))

    def spans(self, run: str) -> list[tuple[int, int]]:
        """First and last step of each attempt."""
        return [(each["first_step"], each["last_step"]) for each in self.detail(run)["strip"]["attempts"]]

    def incidents(self, run: str) -> list[str]:
        """The kinds of the incidents of a run, once it was analysed after its end."""
        identity = self.detail(run)["id"]
        address = f"{self.server_address}/api/v1/runs"
        wait_for(lambda: self._is_analyzed(run), 60)
        found = httpx.get(f"{address}/{identity}/incidents", timeout=30).json()["incidents"]
        return [each["kind"] for each in found]

    def user_alerts(self, run: str) -> list[tuple[str, str]]:
        """Severity and summary of the alerts that the run's program raised."""
        address = f"{self.server_address}/api/v1/runs/{self.detail(run)['id']}/incidents"
        found = httpx.get(address, timeout=30).json()["incidents"]
        return [(each["severity"], each["summary"]) for each in found if each["kind"] == "user_alert"]

    def _is_analyzed(self, run: str) -> bool:
        runs = httpx.get(f"{self.server_address}/api/v1/runs", timeout=30).json()["runs"]
        return any(each["name"] == run and each["analyzed"] for each in runs)


def has_exactly(series: Series, expected: Mapping[int, list[float]]) -> bool:
    """Whether a series has these values at these steps, each once, and nothing else."""
    stored = sorted(zip(series.step.tolist(), series.value.tolist(), strict=True))
    wanted = sorted((step, value) for step, values in expected.items() for value in values)
    return len(stored) == len(wanted) and bool(np.array_equal(stored, wanted))


@contextmanager
def tracker_host(folder: Path) -> Iterator[TrackerHost]:
    """A running server, until the end."""
    folder.mkdir(parents=True, exist_ok=True)
    runner = CommandRunner(folder)
    try:
        with fault_proxy(runner.port) as proxy:
            host = TrackerHost(runner, proxy, f"sqlite:///{folder / 'holter.db'}")
            host.start()
            try:
                yield host
            finally:
                host.close()
    finally:
        runner.close()
