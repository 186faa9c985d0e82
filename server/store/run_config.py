"""Launch configuration of runs: a row per setting and attempt, and the settings pending with their writer."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable
from typing import Any

from sqlalchemy import Connection, bindparam, func, select

from holter.attempts import Attempts
from holter.attempts.config import ConfigByAttempt, config_by_attempt
from holter.attempts.config_values import to_config_value
from holter.attempts.writers import WriterState
from holter.server.models import ConfigRow, RunRecord, WriterRow
from holter.server.store.cache import LruCache
from holter.server.store.keys import labels_text, parse_series_key, storable_text
from holter.types import Config, ConfigKey, ConfigValue, Labels

MAX_NAME_LENGTH = 200
MAX_LABELS_LENGTH = 400
MAX_VALUE_LENGTH = 2000
MAX_PENDING_SETTINGS = 2000
"""Settings that one writer may state before a row identifies the attempt they belong to."""
MAX_RUN_SETTINGS = 100_000
"""Settings of a run, all attempts together."""

# built once, since every analysis pass runs them
_STATED = select(RunRecord.stated, RunRecord.attempt_state).where(RunRecord.id == bindparam("run"))
_STATING_WRITERS = (
    select(WriterRow.state)
    .where(WriterRow.run_id == bindparam("run"), WriterRow.stated.is_(True))
    .order_by(WriterRow.name)
)

_SETTING_BYTES = 300  # approximate memory of one setting
_SHOWN_NAME_LENGTH = 60  # characters of a name in a message


def limit_config(config: Config, pending: Collection[ConfigKey]) -> tuple[Config, dict[str, str]]:
    """Apply the limits to a config, given the writer's pending keys.

    Returns the settings that fit, and the reasons for the others by what they concern.
    """
    accepted: dict[ConfigKey, ConfigValue] = {}
    refused: dict[str, str] = {}
    for key, value in config.items():
        name, labels = storable_text(key.name), _storable_labels(key.labels)
        subject = f"config {name[:_SHOWN_NAME_LENGTH]}"
        if not 0 < len(name) <= MAX_NAME_LENGTH or len(labels_text(labels)) > MAX_LABELS_LENGTH:
            limits = f"a name of 1 to {MAX_NAME_LENGTH} characters and up to {MAX_LABELS_LENGTH} of labels"
            refused[subject] = f"expected {limits}; the setting is left out"
        elif len(accepted) + len(pending) >= MAX_PENDING_SETTINGS and key not in pending:
            refused["config"] = (
                f"more than {MAX_PENDING_SETTINGS:,} settings at once: the others are left out"
            )
            break
        else:
            accepted[ConfigKey(name, labels)] = _limit_value(value, subject, refused)
    return accepted, refused


def _storable_labels(labels: Labels) -> Labels:
    return tuple((storable_text(name), storable_text(value)) for name, value in labels)


def _limit_value(value: ConfigValue, subject: str, refused: dict[str, str]) -> ConfigValue:
    value = to_config_value(value)  # databases reject NaN in JSON, and numbers with hundreds of digits
    if not isinstance(value, str):
        return value
    if len(value) > MAX_VALUE_LENGTH:
        refused[subject] = (
            f"its value has {len(value):,} characters: only the first {MAX_VALUE_LENGTH:,} are stored"
        )
    return storable_text(value[:MAX_VALUE_LENGTH])


def rows_to_save(
    connection: Connection, run_id: int, config: dict[tuple[int, ConfigKey], ConfigValue]
) -> tuple[list[dict[str, Any]], int]:
    """Return the config rows to write, and how many settings exceed MAX_RUN_SETTINGS."""
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
    stored = connection.scalar(count) or 0
    if stored + len(rows) <= MAX_RUN_SETTINGS:
        return rows, 0
    existing = _existing_keys(connection, run_id, {attempt for attempt, _ in config})
    updated = [row for row in rows if _row_key(row) in existing]
    added = [row for row in rows if _row_key(row) not in existing]
    free = max(0, MAX_RUN_SETTINGS - stored)
    return updated + added[:free], len(added[free:])


def _existing_keys(connection: Connection, run_id: int, attempts: Iterable[int]) -> set[tuple[int, str, str]]:
    query = select(ConfigRow.attempt, ConfigRow.name, ConfigRow.labels)
    query = query.where(ConfigRow.run_id == run_id, ConfigRow.attempt.in_(sorted(attempts)))
    return {(attempt, name, labels) for attempt, name, labels in connection.execute(query)}


def _row_key(row: dict[str, Any]) -> tuple[int, str, str]:
    return row["attempt"], row["name"], row["labels"]


def read_config(connection: Connection, run_id: int, cache: LruCache) -> ConfigByAttempt:
    """Return the configuration that a run's logs state for its launches, by setting and attempt, sorted."""
    row = connection.execute(_STATED, {"run": run_id}).one_or_none()
    if row is None:
        return {}
    cached = cache.get(("config", run_id))
    if cached is None or cached[0] != row.stated:
        cached = row.stated, _query_settled(connection, run_id)
        size = _SETTING_BYTES * (1 + sum(map(len, cached[1].values())))
        cache.put(("config", run_id), cached, size)
    settled: ConfigByAttempt = cached[1]
    states = connection.scalars(_STATING_WRITERS, {"run": run_id})
    writers = [WriterState.from_json(state) for state in states]
    pending = [statement for writer in writers for statement in writer.pending_config()]
    return (
        config_by_attempt(settled, pending, Attempts.from_json(row.attempt_state).started)
        if pending
        else settled
    )


def _query_settled(connection: Connection, run_id: int) -> ConfigByAttempt:
    settings: dict[ConfigKey, dict[int, ConfigValue]] = {}
    query = select(ConfigRow.attempt, ConfigRow.name, ConfigRow.labels, ConfigRow.value)
    query = query.where(ConfigRow.run_id == run_id).order_by(ConfigRow.attempt)
    for attempt, name, labels, value in connection.execute(query):
        settings.setdefault(ConfigKey(*parse_series_key(name, labels)), {})[attempt] = json.loads(value)
    return {key: settings[key] for key in sorted(settings)}
