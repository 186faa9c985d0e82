"""Settings that lines of a text state: those of its launch so far, and those of the next one."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from holter.attempts.config_values import config_from_json, config_to_json
from holter.ingest.console.dialect import LineSettings
from holter.ingest.console.stored_state import labels_from_json
from holter.ingest.console.writers.process_series import with_rank
from holter.ingest.redaction import without_secrets
from holter.types import ConfigKey, ConfigValue, Labels


class StatedSettings:
    """Those of the whole job are taken from the first process that states any.

    `pending` are settings of the next launch, which were not yielded yet.
    """

    def __init__(self, state: Mapping[str, Any]) -> None:
        self.pending = config_from_json(state.get("announced", ()))
        self._process = labels_from_json(state.get("stated by"))

    def state(self) -> dict[str, Any]:
        """What is known of them, as JSON-able values."""
        pending = {"announced": config_to_json(self.pending)} if self.pending else {}
        return {"stated by": self._process, **pending}

    def take_pending(self) -> dict[ConfigKey, ConfigValue]:
        """The settings of the next launch, which has begun."""
        pending, self.pending = self.pending, {}
        return pending

    def of_line(self, settings: LineSettings, process: Labels) -> dict[ConfigKey, ConfigValue]:
        """The settings that a line of a process states; none of the job where another one states these."""
        labels: Labels = ()
        if settings.labels is not None:
            labels = with_rank(settings.labels, process)
        elif self._process is None:
            self._process = process
        elif process != self._process:
            return {}
        return {ConfigKey(name, labels): value for name, value in without_secrets(settings.config).items()}
