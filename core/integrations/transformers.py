"""Hugging Face Trainer: `HolterCallback`, and `report_to="holter"` once this module is imported.

    import holter.integrations.transformers
    TrainingArguments(..., report_to="holter")

A script that is not to be changed runs with

    python -m holter.integrations.transformers SCRIPT --report_to holter

TRL's trainers are trainers of transformers.
"""

from __future__ import annotations

import os
import runpy
import sys
import time
from typing import Any

from transformers import TrainerCallback

from holter.integrations.guard import guarded, report
from holter.integrations.model_shape import describe_device, describe_model
from holter.integrations.monitor import TrainingMonitor

_now = time.perf_counter
NAME = "holter"


class HolterCallback(TrainerCallback):  # type: ignore[misc]  # its package has no types here
    """Logs a Trainer: its metrics, the time of each step, of waiting for data, and of checkpoints.

    `options` are those of `TrainingMonitor`; the name of the run defaults to `run_name` of the arguments.
    Requests to stop and to save act on the Trainer's control.
    """

    def __init__(self, project: str | None = None, run: str | None = None, **options: Any) -> None:
        self._project = project
        self._run = run
        self._options = options
        self._monitor: TrainingMonitor | None = None
        self._waiting_since = _now()

    @guarded
    def on_train_begin(self, args: Any, state: Any, control: Any, model: Any = None, **_: Any) -> None:
        """Open the run at the first training of this callback."""
        if self._monitor is None:
            self._monitor = TrainingMonitor(
                self._project, self._run or args.run_name, _config(args, model), **self._options
            )
        self._waiting_since = _now()

    @guarded
    def on_step_begin(self, args: Any, state: Any, control: Any, **_: Any) -> None:
        """A step begins: its batches have arrived."""
        if self._monitor is not None:
            self._monitor.begin_step(waited=_now() - self._waiting_since)

    @guarded
    def on_step_end(self, args: Any, state: Any, control: Any, **_: Any) -> None:
        """A step of the optimizer is complete."""
        monitor = self._monitor
        if monitor is None:
            return
        monitor.step(state.global_step)
        if monitor.should_stop:
            control.should_training_stop = True
        if monitor.should_save:
            control.should_save = True
        self._waiting_since = _now()

    @guarded
    def on_log(self, args: Any, state: Any, control: Any, logs: Any = None, **_: Any) -> None:
        """The Trainer logs metrics, under the names that its other integrations use."""
        if self._monitor is not None and logs:
            self._monitor.log(rename(logs), state.global_step)
        self._waiting_since = _now()

    @guarded
    def on_evaluate(self, args: Any, state: Any, control: Any, **_: Any) -> None:
        """An evaluation has ended, which belongs to no step."""
        self._waiting_since = _now()

    @guarded
    def on_save(self, args: Any, state: Any, control: Any, **_: Any) -> None:
        """A checkpoint is saved; the Trainer has done nothing else since its last event."""
        if self._monitor is not None:
            self._monitor.saved(_now() - self._waiting_since, state.global_step)
        self._waiting_since = _now()

    @guarded
    def finish(self) -> None:
        """Report the end of the run now, rather than at the end of the script."""
        if self._monitor is not None:
            self._monitor.finish()


def rename(logs: dict[str, Any]) -> dict[str, float]:
    """The numbers of a Trainer's logs as `train/...`, `eval/...` and `test/...`."""
    renamed: dict[str, float] = {}
    for name, value in logs.items():
        if isinstance(value, int | float):
            phase, _, rest = name.partition("_")
            is_other = bool(rest) and phase in ("eval", "test")
            renamed[f"{phase}/{rest}" if is_other else f"train/{name}"] = value
    return renamed


def _config(args: Any, model: Any) -> dict[str, Any]:
    try:
        training = dict(args.to_sanitized_dict())
        sequences = args.train_batch_size * args.gradient_accumulation_steps * args.world_size
        training |= {"world_size": args.world_size, "global_batch_size": sequences}
        if isinstance(length := getattr(args, "max_length", None), int):  # TRL's name of the sequence length
            training["max_seq_length"] = length
        return {"training": training, "model": describe_model(model), **describe_device()}
    except Exception as error:
        report("the configuration of the Trainer", error)
        return {}


def register() -> None:
    """Let every Trainer of this process know the name: `report_to="holter"`."""
    from transformers.integrations import integration_utils  # noqa: PLC0415 - slow, and only needed here

    integration_utils.INTEGRATION_TO_CALLBACK[NAME] = HolterCallback


def main() -> None:
    """Run a script, which may then be called with `--report_to holter`."""
    if len(sys.argv) < 2:
        sys.exit("usage: python -m holter.integrations.transformers SCRIPT [ARGUMENTS ...]")
    register()
    del sys.argv[0]
    sys.path.insert(0, os.path.dirname(os.path.abspath(sys.argv[0])))
    runpy.run_path(sys.argv[0], run_name="__main__")


guarded(register)()
if __name__ == "__main__":
    main()
