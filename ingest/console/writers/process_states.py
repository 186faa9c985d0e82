"""The states of dialects, one for each process whose lines have a prefix of their own."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from holter.ingest.console.dialect import DialectState
from holter.ingest.console.stored_state import storable
from holter.types import Labels

_MAX_PROCESSES = 4096
"""Processes, distinguished by the prefixes of their lines, that have a state of their own; more share one."""


class ProcessStates:
    """What was read of each process; lines without a prefix are of the process without labels."""

    def __init__(self, stored: Mapping[str, Mapping[str, Any]]) -> None:
        self._states: dict[str, DialectState] = {process: dict(state) for process, state in stored.items()}
        self._by_labels: dict[Labels, DialectState] = {}

    def __iter__(self) -> Iterator[DialectState]:
        return iter(tuple(self._states.values()))

    def by_process(self) -> Iterator[tuple[str, DialectState]]:
        """The names of the processes, with their states."""
        return iter(tuple(self._states.items()))

    def stored(self) -> dict[str, Any]:
        """The states as JSON-able values, without empty ones."""
        return {process: storable(state) for process, state in self._states.items() if state}

    def of(self, process: Labels) -> DialectState:
        """The state of a process with these labels, a new one if none of its lines was read yet."""
        if (state := self._by_labels.get(process)) is not None:
            return state
        name = "/".join(value for _, value in process)
        if name not in self._states and not self.has_room(0):
            return self._states.setdefault("", {})
        state = self._by_labels[process] = self._states.setdefault(name, {})
        return state

    def with_labels(self) -> Iterator[tuple[Labels, DialectState]]:
        """The states with the labels of their processes, as far as these have printed since the start."""
        labels_of = {id(state): labels for labels, state in self._by_labels.items()}
        for process, state in self._states.items():
            labels = labels_of.get(id(state), None if process else ())
            if labels is not None:
                yield labels, state

    def has_room(self, processes: int) -> bool:
        """Whether so many more processes would have states of their own, and another one beside them."""
        return len(self._states) + processes < _MAX_PROCESSES
