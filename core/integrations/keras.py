"""Keras 3 with any backend: `model.fit(..., callbacks=[KerasCallback(project="llm", run="a")])`."""

from __future__ import annotations

import time
from typing import Any

import keras

from holter.integrations.guard import guarded, report
from holter.integrations.model_shape import count_parameters
from holter.integrations.monitor import TrainingMonitor

_now = time.perf_counter
_Callback: Any = keras.callbacks.Callback


class KerasCallback(_Callback):  # type: ignore[misc]  # keras has no types
    """Logs `fit`: metrics of batches and epochs, the time of each step, and of waiting for data.

    Steps are batches from 0 on, over all epochs and calls of `fit`. `every`: batches between two logs of
    the metrics, which Keras averages over the epoch. `options` are those of `TrainingMonitor`. A request to
    stop sets `stop_training`; for a request to save, `save` is called with the model.
    """

    def __init__(
        self,
        project: str | None = None,
        run: str | None = None,
        *,
        every: int = 1,
        save: Any = None,
        **options: Any,
    ) -> None:
        super().__init__()
        self._project = project
        self._run = run
        self._every = max(1, every)
        self._save = save
        self._options = options
        self._monitor: TrainingMonitor | None = None
        self._step = 0
        self._epoch = 0
        self._waiting_since = _now()

    @guarded
    def on_train_begin(self, logs: Any = None) -> None:
        """Open the run at the first training."""
        if self._monitor is None:
            config = {"training": dict(self.params or {}), **_config(self.model)}
            self._monitor = TrainingMonitor(self._project, self._run, config, **self._options)
        self._waiting_since = _now()

    @guarded
    def on_epoch_begin(self, epoch: int, logs: Any = None) -> None:
        """An epoch begins."""
        self._epoch = epoch
        self._waiting_since = _now()

    @guarded
    def on_train_batch_begin(self, batch: int, logs: Any = None) -> None:
        """A batch has arrived."""
        if self._monitor is not None:
            self._monitor.begin_step(waited=_now() - self._waiting_since)

    @guarded
    def on_train_batch_end(self, batch: int, logs: Any = None) -> None:
        """A batch is trained on."""
        monitor = self._monitor
        if monitor is None:
            return
        metrics = logs if logs and not self._step % self._every else None
        monitor.step(self._step, metrics)
        if monitor.should_stop:
            self.model.stop_training = True
        if monitor.should_save and self._save is not None:
            with monitor.saving():
                self._save(self.model)
        self._step += 1
        self._waiting_since = _now()

    @guarded
    def on_epoch_end(self, epoch: int, logs: Any = None) -> None:
        """An epoch has ended, with metrics of its validation."""
        if self._monitor is not None and logs:
            epochs = {
                name if name.startswith("val_") else f"epoch_{name}": value for name, value in logs.items()
            }
            self._monitor.log({"epoch": epoch, **epochs}, max(0, self._step - 1))

    @guarded
    def on_train_end(self, logs: Any = None) -> None:
        """The training has ended; the run ends with the script, or with `finish`."""

    @guarded
    def finish(self) -> None:
        """Report the end of the run now."""
        if self._monitor is not None:
            self._monitor.finish()


def _config(model: Any) -> dict[str, Any]:
    try:
        optimizer = getattr(model, "optimizer", None)
        settings = {} if optimizer is None else dict(optimizer.get_config())
        return {"model": {"num_parameters": count_parameters(model)}, "optimizer": settings}
    except Exception as error:
        report("the configuration of the model", error)
        return {}
