"""Finds the columns of a table that are the step and the wall time, and parses their values."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from datetime import datetime
from functools import lru_cache
from itertools import pairwise

from holter.ingest.metric_names import is_metric_name

STEP_NAMES = (
    "step",
    "_step",
    "global_step",
    "iteration",
    "trainer/global_step",
    "train/global_step",
    "iter",
    "num_updates",
    "progress/tick/mean",
)
_GLOBAL_STEP_NAMES = frozenset({"global_step", "trainer/global_step", "train/global_step", "global_steps"})
"""Those of steps that by their names are never counted within an epoch."""
EPOCH_NAMES = ("epoch", "epochs", "epoch_num", "epoch_idx", "ep")
OTHER_STEP_NAMES = (
    *("episode", "episodes", "generation", "total_timesteps", "timesteps", "iterations"),
    *("time/total_timesteps", "training_iteration", "timesteps_total", "total_env_steps", "totalenvsteps"),
    *("timesteps_so_far", "timestepssofar"),
)
"""Counted where neither steps nor epochs are, the first choice first."""
_STEP_NAMES_NEXT_TO_METRICS = (
    *("round", "rounds", "communication_round", "comm_round", "global_round", "server_round"),
    *("timestep", "time_step", "env_step", "env_steps", "itr", "update", "n_updates", "nupdates"),
    *("gen", "num_timesteps", "total_steps", "global_steps", "train_step", "training_step", "step_num"),
    *("epoch_number", "epoch_no", "iter_num", "total/steps", "total/timesteps", "total/env_steps"),
)
"""Counted where nothing else is, next to a metric: such columns may be in tables of anything."""
_RISING_NAMES = frozenset(
    {"steps", "iters", "it", "i", "t", "n", "k", "#", "index", "count", "frame", "frames", "game", "games"}
    | {"trial", "sample", "samples", "samples_seen", "tokens", "tokens_seen", "batches"}
    | {"num_steps", "n_steps", "n_iter"}
)
"""Names of what may count, or measure how long something took: it counts where it goes up with each row."""
AMOUNT_NAMES = frozenset(
    {"epochs", "episodes", "iterations", "timesteps", "total_timesteps", "total_env_steps", "rounds"}
    | {"num_timesteps", "total_steps"}
)
"""Names of what counts, or of how much there is of it in all: `{"epochs": 300, "lr": 0.1}` are settings."""
_DONE_IN_A_STEP = frozenset({"epochs", "episodes", "iterations", "rounds"})
"""Those of which there may be as many in each step: `{"round": 3, "epochs": 5, "loss": 0.5}`."""
_STEPS_IN_GROUPS = (
    *("global_step", "total_timesteps", "timesteps_total", "total_env_steps", "num_timesteps", "total_steps"),
    *("step", "iteration", "epoch"),
)
_GROUPS_WITH_STEPS = frozenset(
    {"misc", "time", "train", "training", "counters", "progress", "trainer", "charts"}
)
BATCH_NAMES = (
    *("batch", "batch_idx", "batch_id", "batch_num", "minibatch"),
    *("step_in_epoch", "iter_in_epoch", "sample", "sample_idx"),
)
_STEP_NAMES_NEXT_TO_EPOCHS = (*STEP_NAMES, "iters", "iterations", *BATCH_NAMES)
OF_EPISODES = frozenset({"r", "l", "t"})
"""The reward, the length and the time of each episode, as the Monitor of Stable-Baselines writes them."""
CLOCK_NAMES = ("wall_time", "_timestamp", "timestamp", "wall time")
AMBIGUOUS_CLOCK_NAMES = ("time", "ts", "datetime", "now_time")
LABEL_NAMES = ("rank", "host", "node", "dataset")
ATTEMPT_NAME = "attempt"

EARLIEST_CLOCK = 1e9  # 2001: smaller values in a column `time` are durations
SMALLEST_MILLISECONDS = 1e11
_SETTING = re.compile(
    r"(?i)(?<![a-z])lr(?![a-z])|learning.?rate|decay|dropout|momentum|size|seed|worker|hidden|num_|max_|optim"
)
"""Settings that programs write next to the number of epochs."""
_COUNTED = re.compile(
    r"(?i)[\s\[(#]{0,4}(?:(?:epoch|step|iter(?:ation)?|episode|round|ep|generation|gen)s?[\s.:_#=-]{0,4})?"
    r"(\d{1,18})(?:\s{0,4}(?:/|of)\s{0,4}\d{1,18})?[\s\])]{0,4}"
)
"""What counts, with its name or its total: `3/20`, `Epoch 3`, `[3]`."""
_THOUSANDS = re.compile(r"\s{0,4}\d{1,3}(?:,\d{3}){1,5}\s{0,4}")
_DURATION = re.compile(r"\s{0,8}\d{1,6}:\d\d(?::\d\d(?:\.\d{1,9})?)?\s{0,8}")
"""How long something took: `00:12`, `1:02:33`."""
_ABSENT = frozenset({"", "NA", "N/A", "null", "None", "none", "NULL", "-", "--", "_"})
LARGEST_STEP = 2**62


def find_step(names: Sequence[str]) -> str | None:
    """The name of the step column, as written; then of epochs, then of episodes. None if there is none."""
    return _find_step(tuple(names))


@lru_cache(maxsize=1024)  # asked for each row of JSON
def _find_step(names: tuple[str, ...]) -> str | None:
    found = _first_of((*STEP_NAMES, *EPOCH_NAMES, *OTHER_STEP_NAMES), names)
    is_amount = found is not None and _in_one_word(found) in _DONE_IN_A_STEP
    if (found is None or is_amount) and any(map(is_metric_name, names)):
        counted = [name for name in _STEP_NAMES_NEXT_TO_METRICS if name not in AMOUNT_NAMES]
        found = (_first_of(counted, names) if is_amount else None) or found
        found = found or _first_of(_STEP_NAMES_NEXT_TO_METRICS, names) or _within_groups(names)
    if found is not None and _in_one_word(found) in AMOUNT_NAMES and are_settings(names):
        return None
    return found


def _within_groups(names: Sequence[str]) -> str | None:
    """The name of a step behind that of a group: `misc/total_timesteps`, but not `best/epoch`."""
    parts = [(name, *_in_one_word(name).rpartition("/")[::2]) for name in reversed(names)]
    by_tail = {tail: name for name, group, tail in parts if group in _GROUPS_WITH_STEPS}
    return next((by_tail[name] for name in _STEPS_IN_GROUPS if name in by_tail), None)


def find_rising(columns: Mapping[str, Sequence[object]]) -> str | None:
    """The name of a column that may count by its name and goes up with each row; None without any."""
    for name, cells in columns.items():
        if name.strip().lower() not in _RISING_NAMES:
            continue
        try:
            steps = [read_step(cell) for cell in cells]
        except ValueError:
            continue
        if all(before < after for before, after in pairwise(steps)):
            return name
    return None


def is_setting(name: str) -> bool:
    """Whether a name is that of a setting that programs write next to the number of epochs."""
    return _SETTING.search(name) is not None


def are_settings(names: Sequence[str]) -> bool:
    """Whether names are those of settings: one is, a rate included, and none is that of a metric."""
    settings = [name for name in names if is_setting(name)]
    return bool(settings) and not any(is_metric_name(name) and name not in settings for name in names)


def find_any_step(names: Sequence[str]) -> str | None:
    """The same for a table that a person gave: any name of what counts is enough."""
    return find_step(names) or _first_of(_STEP_NAMES_NEXT_TO_METRICS, names)


def find_epoch_and_batch(names: Sequence[str]) -> tuple[str, str] | None:
    """The names of the columns of the epoch and of the steps or batches that may be counted within it."""
    epoch, step = _first_of(EPOCH_NAMES, names), _first_of(_STEP_NAMES_NEXT_TO_EPOCHS, names)
    return None if epoch is None or step is None else (epoch, step)


def counts_through_epochs(name: str) -> bool:
    """Whether a column counts steps that continue through all epochs, by its name."""
    return _in_one_word(name) in _GLOBAL_STEP_NAMES


def _first_of(wanted: Sequence[str], names: Sequence[str]) -> str | None:
    by_lower = {name.strip().lower(): name for name in reversed(names)}
    if any(" " in lower for lower in by_lower):
        by_lower = {_in_one_word(lower): name for lower, name in by_lower.items()} | by_lower
    return next((by_lower[name] for name in wanted if name in by_lower), None)


def _in_one_word(name: str) -> str:
    """A name in lower case with `_` between its words: `total timesteps`."""
    return "_".join(name.lower().split())


def is_long_table(names: Collection[str]) -> bool:
    """Whether these are the columns of a table with one point per row, as `holter export` writes it."""
    return "metric" in names and "value" in names


def find_clock(names: Sequence[str]) -> str | None:
    """The name of the wall time column, as written. `time` may be a duration: `read_clock` finds out."""
    return _first_of((*CLOCK_NAMES, *AMBIGUOUS_CLOCK_NAMES), names)


def is_ambiguous_clock(name: str) -> bool:
    """Whether a column of this name may have wall times or durations."""
    return name.strip().lower() in AMBIGUOUS_CLOCK_NAMES


def clock_or_metric(first: str, *, name: str) -> str:
    """What a column `time` is by its first value: "clock", "metric", or "?" if it does not decide."""
    if _DURATION.fullmatch(first) is not None:
        return "metric"
    try:
        return "?" if is_empty_cell(first) else "metric" if read_clock(first, name=name) is None else "clock"
    except ValueError:
        return "?"


def is_time_of_day(cell: str) -> bool:
    """Whether a cell has a time without a date, which is no wall time: `10:22:33`."""
    return _DURATION.fullmatch(cell) is not None


def is_empty_cell(cell: str) -> bool:
    """Whether a cell means that nothing was logged, which is not the same as a logged NaN."""
    return cell.strip() in _ABSENT


def read_step(value: object) -> int:
    """A step as an integer. Raises ValueError for anything that is no integer."""
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        raise ValueError(f"expected a whole number as the step, found {_shown(value)}")
    try:
        step = int(value)
        exact = isinstance(value, str) or step == value
    except (ValueError, OverflowError):
        step, exact = _integer(value), True
    if not exact or abs(step) > LARGEST_STEP:
        raise ValueError(f"expected a whole number as the step, found {_shown(value)}")
    return step


def read_counted(cell: str) -> int:
    """The step in a cell, which may have its name, its total or commas. Raises ValueError for other text."""
    if "," in cell and _THOUSANDS.fullmatch(cell) is not None:
        cell = cell.replace(",", "")
    counted = _COUNTED.fullmatch(cell)
    return read_step(cell) if counted is None else int(counted[1])


def _integer(value: int | float | str) -> int:
    try:
        number = float(value)
    except (ValueError, OverflowError):
        number = float("nan")
    if not number.is_integer():
        raise ValueError(f"expected a whole number as the step, found {_shown(value)}")
    return int(number)


def read_clock(value: object, *, name: str) -> float | None:
    """A wall time in Unix seconds, None if the value is a duration.

    Milli-, micro- and nanoseconds since 1970 are recognised by their magnitude; ISO 8601 text without a zone
    is taken as local time, since loggers write it so. Raises ValueError for anything else.
    """
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        raise ValueError(f"expected a time in {name}, found {_shown(value)}")
    try:
        seconds = float(value)
    except OverflowError as error:
        raise ValueError(f"expected a time in {name}, found {_shown(value)}") from error
    except ValueError:
        return _iso(str(value), name)
    if is_ambiguous_clock(name) and not seconds >= EARLIEST_CLOCK:
        return None
    for limit, scale in ((1e17, 1e9), (1e14, 1e6), (SMALLEST_MILLISECONDS, 1e3)):
        if abs(seconds) >= limit:
            return seconds / scale
    return seconds


def _iso(text: str, name: str) -> float:
    try:
        return datetime.fromisoformat(text.strip()).timestamp()
    except (ValueError, OverflowError, OSError) as error:
        raise ValueError(f"expected a time in {name}, found {_shown(text)}") from error


def _shown(value: object) -> str:
    text = repr(value)
    return text if len(text) <= 60 else text[:57] + "..."
