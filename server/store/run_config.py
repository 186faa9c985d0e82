"""What is stored of how launches are set up: a row a setting and attempt, and what waits with its writer."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable
from typing import Any

from sqlalchemy import Connection, func, select

from holter.attempts import Attempts
from holter.attempts.config import ByAttempt, by_attempt
from holter.attempts.values import as_value
from holter.attempts.writers import Writer
from holter.server.models import ConfigRow, Run, WriterRow
from holter.server.store.cache import Memory
from holter.server.store.keys import as_text, key_of, labels_text
from holter.types import Config, ConfigKey, ConfigValue, Labels

LONGEST_NAME = 200
LONGEST_LABELS = 400
LONGEST_VALUE = 2000
MOST_WAITING = 2000
"""Settings that one writer may state before a row says of which attempt they are."""
MOST_OF_RUN = 100_000
"""Settings of all attempts of a run together."""

_SETTING_BYTES = 300  # about what one takes in memory
_PLACE = 60  # characters of a name in a notice


def bounded(config: Config, waiting: Collection[ConfigKey]) -> tuple[Config, dict[str, str]]:
    """What can be kept of a config beside what waits already, and the reasons for the rest by their place."""
    kept: dict[ConfigKey, ConfigValue] = {}
    refused: dict[str, str] = {}
    for key, value in config.items():
        name, labels = as_text(key.name), _cleaned(key.labels)
        place = f"config {name[:_PLACE]}"
        if not 0 < len(name) <= LONGEST_NAME or len(labels_text(labels)) > LONGEST_LABELS:
            limits = f"a name of 1 to {LONGEST_NAME} characters and up to {LONGEST_LABELS} of labels"
            refused[place] = f"expected {limits}; the setting is left out"
        elif len(kept) + len(waiting) >= MOST_WAITING and key not in waiting:
            refused["config"] = f"more than {MOST_WAITING:,} settings at once: the others are left out"
            break
        else:
            kept[ConfigKey(name, labels)] = _value(value, place, refused)
    return kept, refused


def _cleaned(labels: Labels) -> Labels:
    return tuple((as_text(name), as_text(value)) for name, value in labels)


def _value(value: ConfigValue, place: str, refused: dict[str, str]) -> ConfigValue:
    value = as_value(value)  # no database keeps NaN in JSON, or a number of hundreds of digits
    if not isinstance(value, str):
        return value
    if len(value) > LONGEST_VALUE:
        refused[place] = f"its value has {len(value):,} characters: the first {LONGEST_VALUE:,} are kept"
    return as_text(value[:LONGEST_VALUE])


def rows_to_save(
    connection: Connection, run_id: int, config: dict[tuple[int, ConfigKey], ConfigValue]
) -> tuple[list[dict[str, Any]], int]:
    """The rows of what was stated, by attempt, and how many settings had no room in the run any more."""
    rows = [
        {
            "run_id": run_id,
            "attempt": attempt,
            "name": key.name,
            "labels": labels_text(key.labels),
            "value": json.dumps(value, ensure_ascii=False),
        }
        for (attempt, key), value in config.items()
    ]
    count = select(func.count()).select_from(ConfigRow).where(ConfigRow.run_id == run_id)
    held = connection.scalar(count) or 0
    if held + len(rows) <= MOST_OF_RUN:
        return rows, 0
    there = _places(connection, run_id, {attempt for attempt, _ in config})
    old = [row for row in rows if _place(row) in there]
    new = [row for row in rows if _place(row) not in there]
    room = max(0, MOST_OF_RUN - held)
    return old + new[:room], len(new[room:])


def _places(connection: Connection, run_id: int, attempts: Iterable[int]) -> set[tuple[int, str, str]]:
    query = select(ConfigRow.attempt, ConfigRow.name, ConfigRow.labels)
    query = query.where(ConfigRow.run_id == run_id, ConfigRow.attempt.in_(sorted(attempts)))
    return {(attempt, name, labels) for attempt, name, labels in connection.execute(query)}


def _place(row: dict[str, Any]) -> tuple[int, str, str]:
    return row["attempt"], row["name"], row["labels"]


def read_config(connection: Connection, run_id: int, memory: Memory) -> ByAttempt:
    """What a run's logs say of its launches, by attempt, in the order of the keys."""
    query = select(Run.stated, Run.attempt_state).where(Run.id == run_id)
    row = connection.execute(query).one_or_none()
    if row is None:
        return {}
    held = memory.get(("config", run_id))
    if held is None or held[0] != row.stated:
        held = row.stated, _settled(connection, run_id)
        size = _SETTING_BYTES * (1 + sum(map(len, held[1].values())))
        memory.put(("config", run_id), held, size)
    settled: ByAttempt = held[1]
    stated = select(WriterRow.state).where(WriterRow.run_id == run_id, WriterRow.stated.is_(True))
    writers = [Writer.from_json(state) for state in connection.scalars(stated.order_by(WriterRow.name))]
    waiting = [said for one in writers for said in one.waiting()]
    return by_attempt(settled, waiting, Attempts.from_json(row.attempt_state).started) if waiting else settled


def _settled(connection: Connection, run_id: int) -> ByAttempt:
    found: dict[ConfigKey, dict[int, ConfigValue]] = {}
    query = select(ConfigRow.attempt, ConfigRow.name, ConfigRow.labels, ConfigRow.value)
    query = query.where(ConfigRow.run_id == run_id).order_by(ConfigRow.attempt)
    for attempt, name, labels, value in connection.execute(query):
        found.setdefault(ConfigKey(*key_of(name, labels)), {})[attempt] = json.loads(value)
    return {key: found[key] for key in sorted(found)}
