"""Look-up of a launch's settings under the different names that frameworks give the same setting."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

from holter.types import ConfigKey, ConfigValue

_ABSENT = frozenset({"", "none", "null", "nan", "~", "n/a"})
_TRUE, _FALSE = frozenset({"true", "yes", "on", "1"}), frozenset({"false", "no", "off", "0"})
_OTHER_MODELS = re.compile(r"(vision|audio|encoder|draft|teacher|reward|tokenizer|optim|adapter|lora|ref_)")


class LaunchSettings:
    """Settings of one launch by name.

    Names are compared without case, `-` as `_`. A dotted name (`model.n_layers`) is also found by its last
    part, unless it belongs to another model than the one that is trained (a vision encoder, a reward model).
    """

    def __init__(self, settings: Mapping[str, ConfigValue]) -> None:
        self._by_full_name: dict[str, ConfigValue] = {}
        self._by_last_part: dict[str, list[ConfigValue]] = {}
        self._names: set[str] = set()
        for name, value in settings.items():
            plain = name.strip().lower().replace("-", "_")
            self._names |= {plain, plain.rpartition(".")[2]}
            if isinstance(value, str) and value.strip().lower() in _ABSENT:
                continue
            self._by_full_name[plain] = value
            prefix, _, last = plain.rpartition(".")
            if prefix and not _OTHER_MODELS.search(prefix):
                self._by_last_part.setdefault(last, []).append(value)

    def get(self, names: Iterable[str]) -> ConfigValue | None:
        """The value under the first of these names that exists; None where a name has several values."""
        for name in names:
            if name in self._by_full_name:
                return self._by_full_name[name]
            values = self._by_last_part.get(name, [])
            if values:
                return values[0] if all(value == values[0] for value in values) else None
        return None

    def mentions(self, names: Iterable[str]) -> bool:
        """Whether one of the names exists, even without a value ("None")."""
        return any(name in self._names for name in names)

    def integer(self, names: Iterable[str]) -> int | None:
        """The value as a positive integer; None where there is none."""
        number = self.number(names)
        return int(number) if number is not None and number >= 1 and number == int(number) else None

    def number(self, names: Iterable[str]) -> float | None:
        """The value as a finite number; None where there is none."""
        value = self.get(names)
        if isinstance(value, bool) or value is None:
            return None
        try:
            number = float(value.replace(",", "").replace("_", "") if isinstance(value, str) else value)
        except ValueError:
            return None
        return number if abs(number) < 1e30 else None  # also None for NaN

    def flag(self, names: Iterable[str]) -> bool | None:
        """The value as yes or no; None where it is neither."""
        value = self.get(names)
        if isinstance(value, bool) or value is None:
            return value
        word = str(value).strip().lower()
        return True if word in _TRUE else False if word in _FALSE else None

    def word(self, names: Iterable[str]) -> str | None:
        """The value as a word in lower case; None where there is none, or a boolean."""
        value = self.get(names)
        return None if value is None or isinstance(value, bool) else str(value).strip().strip("'\"").lower()


def settings_of_attempt(
    config: Mapping[ConfigKey, Mapping[int, ConfigValue]], attempt: int
) -> LaunchSettings:
    """The settings of an attempt: its own, or those of the last attempt before it that states them.

    Of settings that processes state with labels (`gpu.name{rank=3}`), only those that all processes agree on.
    """
    settings: dict[str, ConfigValue] = {}
    by_process: dict[str, set[ConfigValue]] = {}
    for key, values in config.items():
        stated_by = [number for number in values if number <= attempt]
        if not stated_by:
            continue
        value = values[max(stated_by)]
        if key.labels:
            by_process.setdefault(key.name, set()).add(value)
        else:
            settings[key.name] = value
    agreed = {name: next(iter(values)) for name, values in by_process.items() if len(values) == 1}
    return LaunchSettings(agreed | settings)


def newest_attempt(config: Mapping[ConfigKey, Mapping[int, ConfigValue]]) -> int:
    """The newest attempt with a setting; 0 without any."""
    return max((number for values in config.values() for number in values), default=0)
