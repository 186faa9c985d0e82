"""`TrainingMonitor`: times the steps of a training loop, identifies its batches, and passes on requests.

Every rank logs its times; rank 0 alone logs the metrics of the training.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, TypeVar

import holter.client
from holter.client import Run
from holter.client.identity import detect_rank
from holter.integrations.batches import identify
from holter.integrations.guard import guarded, report
from holter.integrations.loop_requests import SAVE, STOP, LoopRequests
from holter.integrations.process_group import rank_and_size
from holter.integrations.public_config import public_config

STEP_TIME = "step_time"
DATA_WAIT = "data_wait_seconds"
CHECKPOINT_TIME = "checkpoint_seconds"
REQUEST_STEPS = 10
Item = TypeVar("Item")
_now = time.perf_counter


class TrainingMonitor:
    """Logs a training loop to a run.

        monitor = TrainingMonitor(project="llm", run="104b", config=config)
        for step, batch in enumerate(monitor.batches(loader)):
            loss = train(batch)
            monitor.step(step, {"loss": loss})
            if monitor.should_save:
                with monitor.saving():
                    save_checkpoint()
            if monitor.should_stop:
                break
        monitor.finish()

    `project` defaults to HOLTER_PROJECT. `run`: the name of a run, or a run that is open already. `act`:
    whether requests to stop and to save are passed on; by default in trainings of one process only, since
    several must agree by a broadcast every `request_steps` steps. No method raises an exception.
    """

    def __init__(
        self,
        project: str | None = None,
        run: str | Run | None = None,
        config: Mapping[str, Any] | None = None,
        *,
        act: bool | None = None,
        request_steps: int = REQUEST_STEPS,
        identify_batches: bool = True,
        **options: Any,
    ) -> None:
        grouped = rank_and_size(os.environ)
        environ = dict(os.environ)
        if grouped is not None:
            environ |= {"RANK": str(grouped[0]), "WORLD_SIZE": str(grouped[1])}
        self.rank = detect_rank(environ)
        if isinstance(run, Run):
            self.run = run
        else:
            options = {"environ": environ} | options
            self.run = holter.client.init(
                project or environ.get("HOLTER_PROJECT") or "default",
                run,
                public_config(config or {}),
                **options,
            )
        self._requests = LoopRequests(self.run, rank=self.rank, act=act, every=request_steps)
        self._identifies = identify_batches
        self._batch: dict[str, float] = {}
        self._step = 0
        self._began: float | None = None
        self._waited = 0.0
        self.should_stop = False
        self.should_save = False

    @property
    def is_main(self) -> bool:
        """Whether this process logs the metrics of the training."""
        return not self.rank

    def batches(self, loader: Iterable[Item], *, epoch: int | None = None) -> Iterator[Item]:
        """The batches of a loader; times how long each is waited for, and identifies it."""
        items = iter(loader)
        while True:
            began = _now()
            try:
                item = next(items)
            except StopIteration:
                return
            self.batch_arrived(item, waited=_now() - began, epoch=epoch)
            yield item

    def batch_arrived(self, batch: Any, *, waited: float, epoch: float | None = None) -> None:
        """A batch arrived for which the loop waited so many seconds; several belong to one step."""
        self._waited += waited
        if self._began is None:
            self._began = _now() - waited
        try:
            found = identify(batch) if self._identifies and batch is not None else {}
            self._batch = found if epoch is None else {"batch/epoch": float(epoch), **found}
        except Exception as error:
            report("the identity of batches", error)

    def begin_step(self, *, waited: float = 0.0) -> None:
        """A step begins now, after its batch was waited for."""
        self._waited = waited
        self._began = _now() - waited

    def step(self, step: int, metrics: Mapping[str, Any] | None = None) -> None:
        """A step of the optimizer is complete: log its times, and on rank 0 its metrics."""
        now = _now()
        row: dict[str, Any] = {}
        if self._began is not None:
            row = {STEP_TIME: now - self._began, DATA_WAIT: self._waited, **self._batch}
        if metrics and self.is_main:
            row = {**metrics, **row}
        if row:
            self.run.log(row, step)
        self._began, self._waited = now, 0.0
        self._step = step
        try:
            asked = self._requests.at(step)
        except Exception as error:
            report("requests to the training loop", error)
            asked = 0
        self.should_stop = self.should_stop or bool(asked & STOP)
        self.should_save = bool(asked & SAVE)

    def log(self, metrics: Mapping[str, Any], step: int | None = None) -> None:
        """Log metrics of the training, on rank 0."""
        if self.is_main:
            self.run.log(metrics, self._step if step is None else step)

    def skip_time(self) -> None:
        """What happened since the last step, such as an evaluation, belongs to no step."""
        self._began = _now()

    @contextmanager
    def saving(self, step: int | None = None) -> Iterator[None]:
        """Time the saving of a checkpoint, which belongs to no step."""
        began = _now()
        yield
        self.saved(_now() - began, step)

    @guarded
    def saved(self, seconds: float, step: int | None = None) -> None:
        """A checkpoint was saved, which took so many seconds."""
        at = self._step if step is None else step
        self.run.log({CHECKPOINT_TIME: seconds}, at)
        if self.is_main and self.run.status().save is not None:
            self.run.report_saved(at, seconds)
        self.should_save = False
        self.skip_time()

    def finish(self) -> None:
        """The training has ended."""
        self.run.finish()
