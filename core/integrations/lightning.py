"""Lightning: `HolterLogger` and `LightningCallback`, for `lightning` and for `pytorch_lightning`.

    logger = HolterLogger(project="llm", run="104b")
    Trainer(logger=logger, callbacks=[LightningCallback()])

The logger logs what the module logs; the callback adds the times of steps, batches and checkpoints. With
HOLTER_LIGHTNING=1 every Trainer gets the callback without a change of the script.
"""

from __future__ import annotations

import os
import sys
import time
from argparse import Namespace
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from holter.integrations.guard import guarded, report
from holter.integrations.model_shape import describe_device, describe_model
from holter.integrations.monitor import TrainingMonitor

if "pytorch_lightning" in sys.modules and "lightning.pytorch" not in sys.modules:
    from pytorch_lightning.callbacks import Callback
    from pytorch_lightning.loggers import Logger
else:
    from lightning.pytorch.callbacks import Callback
    from lightning.pytorch.loggers import Logger

_now = time.perf_counter


class HolterLogger(Logger):  # type: ignore[misc]  # its package has no types here
    """Logs the metrics of a module, on rank 0. `options` are those of `TrainingMonitor`.

    The run opens when hyperparameters or metrics are logged. Also a logger of Fabric.
    """

    def __init__(self, project: str | None = None, run: str | None = None, **options: Any) -> None:
        super().__init__()
        self._project = project
        self._run = run
        self._options = options
        self._config: dict[str, Any] = {}
        self._monitor: TrainingMonitor | None = None

    @property
    def name(self) -> str | None:
        """The project."""
        return self._project or os.environ.get("HOLTER_PROJECT") or "default"

    @property
    def version(self) -> str | None:
        """The name of the run."""
        return self._run

    @property
    def monitor(self) -> TrainingMonitor:
        """The monitor of this run, which opens with the first use."""
        if self._monitor is None:
            self._monitor = TrainingMonitor(self._project, self._run, self._config, **self._options)
        return self._monitor

    @property
    def experiment(self) -> Any:
        """The run of Holter's client once it is open: Lightning asks for it before the hyperparameters."""
        return None if self._monitor is None else self._monitor.run

    @guarded
    def log_hyperparams(self, params: Mapping[str, Any] | Namespace, *args: Any, **kwargs: Any) -> None:
        """Hyperparameters become the configuration of the launch; they are sent with the first metrics."""
        stated = vars(params) if isinstance(params, Namespace) else dict(params)
        self._config = self._config | stated

    @guarded
    def add_config(self, settings: Mapping[str, Any]) -> None:
        """Add settings to the configuration, before anything is logged."""
        self._config = {**settings, **self._config}

    @guarded
    def log_metrics(self, metrics: Mapping[str, Any], step: int | None = None) -> None:
        """Log metrics, on rank 0."""
        self.monitor.log(metrics, step)

    @guarded
    def finalize(self, status: str) -> None:
        """Send what was logged; the run ends with the script, as a Trainer may be used again."""


class LightningCallback(Callback):  # type: ignore[misc]  # its package has no types here
    """Logs the times of steps, of waiting for data and of checkpoints; acts on requests to stop and to save.

    Uses the run of the Trainer's `HolterLogger`, else opens one and logs the Trainer's metrics, too.
    """

    def __init__(self, project: str | None = None, run: str | None = None, **options: Any) -> None:
        super().__init__()
        self._project = project
        self._run = run
        self._options = options
        self._monitor: TrainingMonitor | None = None
        self._logs_metrics = False
        self._step_names: set[str] = set()
        self._validation_names: set[str] = set()
        self._epoch_names: set[str] = set()
        self._test_names: set[str] = set()
        self._other_names: set[str] = set()
        self._waiting_since = _now()
        self._logged_step = -1
        self._save_checkpoint: Any = None

    @guarded
    def on_train_start(self, trainer: Any, pl_module: Any) -> None:
        """Open the run."""
        logger = next((logger for logger in trainer.loggers if isinstance(logger, HolterLogger)), None)
        if self._monitor is None:
            settings = {"model": _module_config(pl_module), "training": _trainer_config(trainer)}
            settings |= describe_device()
            if logger is not None:
                logger.add_config(settings)
                self._monitor = logger.monitor
            else:
                hyperparameters = dict(getattr(pl_module, "hparams", {}) or {})
                config = {**settings, **hyperparameters}
                self._monitor = TrainingMonitor(self._project, self._run, config, **self._options)
                self._logs_metrics = True
        self._time_checkpoints(trainer)
        self._waiting_since = _now()

    def _time_checkpoints(self, trainer: Any) -> None:
        """Time `trainer.save_checkpoint`, which has no hook for its end."""
        if self._save_checkpoint is not None:
            return
        original = self._save_checkpoint = trainer.save_checkpoint

        def save_checkpoint(*args: Any, **kwargs: Any) -> Any:
            began = _now()
            result = original(*args, **kwargs)
            if self._monitor is not None:
                self._monitor.saved(_now() - began, trainer.global_step)
            self._waiting_since = _now()
            return result

        trainer.save_checkpoint = save_checkpoint

    @guarded
    def on_train_batch_start(self, trainer: Any, pl_module: Any, batch: Any, batch_idx: int) -> None:
        """A batch has arrived."""
        if self._monitor is not None:
            waited = _now() - self._waiting_since
            self._monitor.batch_arrived(batch, waited=waited, epoch=trainer.current_epoch)

    @guarded
    def on_train_batch_end(
        self, trainer: Any, pl_module: Any, outputs: Any, batch: Any, batch_idx: int
    ) -> None:
        """A batch is trained on; where the optimizer made a step, it is logged."""
        monitor, step = self._monitor, trainer.global_step
        if monitor is not None and step != self._logged_step:
            self._logged_step = step
            monitor.step(step, self._step_metrics(trainer, step))
            if monitor.should_stop:
                trainer.should_stop = True
            if monitor.should_save:
                trainer.save_checkpoint(_checkpoint_path(trainer, step))
        self._waiting_since = _now()

    def _step_metrics(self, trainer: Any, step: int) -> dict[str, Any] | None:
        """What the module logs by step; validations and epochs before left their last values, too."""
        if not self._logs_metrics:
            return None
        if not self._step_names:
            self._step_names = trainer.callback_metrics.keys() - self._other_names
        if step % _interval(trainer):
            return None
        metrics = trainer.callback_metrics
        return {name: value for name, value in metrics.items() if name not in self._other_names}

    def _log_others(self, trainer: Any, names: set[str]) -> None:
        """Log what the module states at an end, by names of its own: those in `names` and new ones."""
        metrics = trainer.callback_metrics
        names |= metrics.keys() - self._step_names - self._other_names
        self._other_names |= names
        fresh = {name: metrics[name] for name in names if name in metrics}
        if self._monitor is not None and not trainer.sanity_checking and fresh:
            self._monitor.log(fresh, trainer.global_step)

    @guarded
    def on_train_epoch_end(self, trainer: Any, pl_module: Any) -> None:
        """Metrics of the whole epoch are known."""
        if self._logs_metrics:
            self._log_others(trainer, self._epoch_names)

    @guarded
    def on_test_end(self, trainer: Any, pl_module: Any) -> None:
        """A test after the training has ended."""
        if self._logs_metrics:
            self._log_others(trainer, self._test_names)

    @guarded
    def on_validation_end(self, trainer: Any, pl_module: Any) -> None:
        """A validation has ended, which belongs to no step."""
        if self._monitor is not None:
            if self._logs_metrics:
                self._log_others(trainer, self._validation_names)
            self._monitor.skip_time()
        self._waiting_since = _now()

    @guarded
    def on_fit_end(self, trainer: Any, pl_module: Any) -> None:
        """Remove the timing of checkpoints from the Trainer."""
        if self._save_checkpoint is not None:
            del trainer.save_checkpoint
            self._save_checkpoint = None


def _interval(trainer: Any) -> int:
    return max(1, int(getattr(trainer, "log_every_n_steps", 1) or 1))


def _checkpoint_path(trainer: Any, step: int) -> Path:
    callback = getattr(trainer, "checkpoint_callback", None)
    folder = getattr(callback, "dirpath", None) or trainer.default_root_dir
    return Path(folder) / f"requested-step={step}.ckpt"


def _module_config(module: Any) -> dict[str, Any]:
    """The shape of the model: of the module, or of the one model in it."""
    try:
        inner = next((each for each in module.children() if hasattr(each, "config")), module)
        return describe_model(inner)
    except Exception as error:
        report("the configuration of the module", error)
        return {}


def _trainer_config(trainer: Any) -> dict[str, Any]:
    names = (
        "max_epochs",
        "max_steps",
        "accumulate_grad_batches",
        "gradient_clip_val",
        "precision",
        "num_nodes",
    )
    return {name: getattr(trainer, name, None) for name in names} | {"world_size": trainer.world_size}


def callbacks_from_environment() -> list[Any]:
    """The callback for every Trainer, if HOLTER_LIGHTNING is set: the entry point that Lightning looks up."""
    return [LightningCallback()] if os.environ.get("HOLTER_LIGHTNING", "0") not in ("", "0") else []
