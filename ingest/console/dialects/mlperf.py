"""MLPerf's `:::MLLOG {json}` lines, and `:::MLL time key: {json}` of its first rounds, with any prefix."""

from __future__ import annotations

import re
from math import isfinite
from typing import Any, TypeGuard

from holter.ingest.console.dialect import ConsoleDialect, DialectState, LineKind, LineSettings, LineValues
from holter.ingest.json_objects import read_object

_RECORD = re.compile(r":::MLLOG (\{.{0,8000}\})")
_FIRST = re.compile(r":::MLL (?P<time>\d{1,12}(?:\.\d{1,9})?) (?P<key>\w{1,80}): (?P<rest>\{.{0,8000}\})")
_TFLOPS = "tflops_per_sec_per_gpu"
_ALONE = frozenset({"train_loss", "eval_loss", "eval_accuracy", _TFLOPS})
_STEP_TIME, _VALIDATION = "train_step_time", "validation_step_time"
_INTERVAL = "interval/"
_NAMES = ("metric", "metric_name", "name")
"""Keys of metadata that name the number of a record."""
_OWN_STEPS = (("steps", "validation steps"),)


def _event(line: str, state: DialectState) -> list[LineValues] | None:
    """Training statistics and evaluations. Some vendors log the number of steps, others that of samples:
    `global_batch_size`, which comes before, shows which it is."""
    event = _record(line)
    if event is None:
        return None
    metadata, time = event["metadata"], event.get("time_ms")
    values = _values(event.get("key"), event.get("value"), metadata)
    moment = time / 1e3 if _is_count(time) else float("nan")
    results = []
    validation, own = values.pop(_VALIDATION, None), metadata.get("step")
    if validation is not None and _is_count(own):
        # counted through all evaluations, several of which are at one step of the training
        results.append(LineValues(int(own), {_VALIDATION: validation}, moment, labels=_OWN_STEPS))
    step = _step(metadata, state)
    if "train_loss" in values or "reduced_train_loss" in values:
        state["train"] = step
        state["timed"] = state.get("timed", False) or _STEP_TIME in values
    else:  # evaluations and summaries have steps of their own
        step = state.get("train", step)
        if state.get("timed") and _STEP_TIME in values:  # of an interval: each step has a time of its own
            values[_INTERVAL + _STEP_TIME] = values.pop(_STEP_TIME)
    if values and step is not None:
        state.setdefault("counts", "one by one")
        results.append(LineValues(step, values, moment))
    return results


def _setting(line: str, state: DialectState) -> LineSettings | None:
    """A setting of the launch, logged before it begins."""
    event = _record(line)
    if event is None or not isinstance(event.get("key"), str):
        return None
    key, value = event["key"], event.get("value")
    if key == "global_batch_size" and _is_count(value) and value > 0:
        state["batch"] = value
    return LineSettings({key: value}) if isinstance(value, str | int | float) else None


def _record(line: str) -> dict[str, Any] | None:
    match, first = _RECORD.search(line), _FIRST.search(line)
    try:
        event = read_object(match[1].encode()) if match else {}
        if first is not None:
            moment = 1e3 * float(first["time"])
            event = {**read_object(first["rest"].encode()), "key": first["key"], "time_ms": moment}
    except ValueError:
        return None
    return event if isinstance(event.get("metadata"), dict) else None


def _values(key: Any, value: Any, metadata: dict[str, Any]) -> dict[str, float]:
    """The numbers of a record by name; several of one key have names, or the name of theirs is metadata."""
    if isinstance(value, dict) and (key == "tracked_stats" or key in _ALONE):
        names = {name: str(name) if key == "tracked_stats" else f"{key}/{name}" for name in value}
        return {names[name]: float(number) for name, number in value.items() if _is_number(number)}
    known = key in _ALONE and _is_number(value) and not (key == _TFLOPS and value < 0)  # -1: not known
    name = next((metadata[field] for field in _NAMES if isinstance(metadata.get(field), str)), None)
    return {f"{key}/{name}" if name else key: float(value)} if known else {}


def _step(metadata: dict[str, Any], state: DialectState) -> int | None:
    batch: float = state.get("batch", 0)
    samples, step = metadata.get("samples_count"), metadata.get("step")
    if isinstance(step, list):  # an epoch, and a step through all epochs; last of all it may sum up others
        if len(step) != 2 or not all(map(_is_count, step)) or state.get("counts", "epochs") != "epochs":
            return None
        state["step_num"], state["counts"] = int(step[1]), "epochs"
        return int(step[1])
    if _is_count(step):
        return _counted_step(step, 0 if _is_count(samples) else batch, state)
    if batch and _is_count(samples):
        return int(samples // batch)
    if _is_count(number := metadata.get("step_num")):
        state["step_num"] = int(number)
        return int(number)
    if _is_count(epoch := metadata.get("epoch_num")):
        # beside steps an epoch is at the last of them; parts of epochs are counted
        return int(state["step_num"]) if "step_num" in state else _epoch(epoch, state)
    return None


def _counted_step(step: float, batch: float, state: DialectState) -> int:
    """A step from what `step` counts: epochs beside steps, or samples if all were multiples of the batch."""
    if state.get("counts") == "epochs":
        return int(state["step_num"])
    if batch and step % batch:
        state["counts"] = "steps"
    return int(step // batch) if batch and state.get("counts") != "steps" else int(step)


def _epoch(epoch: float, state: DialectState) -> int:
    """The number of an epoch; where records are parts of an epoch apart, the number of these."""
    if epoch != int(epoch) or "epochs" in state:
        last, count = state.get("epochs", (0, 0))
        state["epochs"] = [epoch, count + (epoch > last)]
        return int(state["epochs"][1])
    return int(epoch)


def _is_number(value: Any) -> TypeGuard[int | float]:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _is_count(value: Any) -> TypeGuard[int | float]:
    return _is_number(value) and isfinite(value)


DIALECT = ConsoleDialect(
    name="mlperf",
    signature=re.compile(rb":::MLL(?:OG \{| \d)"),
    kinds=(
        LineKind(
            pattern=re.compile(
                rb'"key": "(?:seed|global_batch_size|gradient_accumulation_steps|max_sequence_length'
                rb'|max_steps|target_accuracy|init_checkpoint_step|lora_\w+|opt_\w+|submission_(?:benchmark|platform))"'
            ),
            parse=_setting,
            yields_settings=True,
        ),
        LineKind(pattern=re.compile(rb":::MLL(?:OG \{| \d)"), parse=_event),
    ),
)
