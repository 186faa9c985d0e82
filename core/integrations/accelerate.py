"""Hugging Face Accelerate: a tracker. `Accelerator(log_with=HolterTracker("104b", project="llm"))`."""

from __future__ import annotations

from typing import Any

from accelerate.tracking import GeneralTracker

from holter.integrations.guard import guarded
from holter.integrations.monitor import TrainingMonitor


class HolterTracker(GeneralTracker):  # type: ignore[misc]  # its package has no types here
    """Logs what `Accelerator.log` is given, on the main process. `options` are those of `TrainingMonitor`.

    The run opens with `Accelerator.init_trackers`, or with the first call of `log`.
    """

    name = "holter"
    requires_logging_directory = False
    main_process_only = True

    def __init__(self, run: str | None = None, *, project: str | None = None, **options: Any) -> None:
        super().__init__()
        self._run = run
        self._project = project
        self._options = options
        self._monitor: TrainingMonitor | None = None

    @property
    def tracker(self) -> Any:
        """The run of Holter's client."""
        return None if self._monitor is None else self._monitor.run

    @property
    def monitor(self) -> TrainingMonitor:
        """Times steps and passes on requests, for loops that call it."""
        if self._monitor is None:
            self._monitor = TrainingMonitor(self._project, self._run, **self._options)
        return self._monitor

    @guarded
    def store_init_configuration(self, values: dict[str, Any]) -> None:
        """Open the run with this configuration."""
        if self._monitor is None:
            self._monitor = TrainingMonitor(self._project, self._run, values, **self._options)

    @guarded
    def log(self, values: dict[str, Any], step: int | None = None, **_: Any) -> None:
        """Log metrics."""
        self.monitor.run.log(values, step)

    @guarded
    def finish(self) -> None:
        """Report the end of the run."""
        if self._monitor is not None:
            self._monitor.finish()
