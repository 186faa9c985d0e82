"""What the logs of one launch say of its set-up, asked by the names that frameworks give one thing."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

from holter.types import ConfigKey, ConfigValue

_ABSENT = frozenset({"", "none", "null", "nan", "~", "n/a"})
_TRUE, _FALSE = frozenset({"true", "yes", "on", "1"}), frozenset({"false", "no", "off", "0"})
_OTHER_MODELS = re.compile(r"(vision|audio|encoder|draft|teacher|reward|tokenizer|optim|adapter|lora|ref_)")


class Told:
    """Settings of one launch by name. Names are compared without case, `-` as `_`; a dotted name
    (`model.n_layers`) also answers to its last part, unless it speaks of another model than that trained.
    """

    def __init__(self, settings: Mapping[str, ConfigValue]) -> None:
        self._whole: dict[str, ConfigValue] = {}
        self._last: dict[str, list[ConfigValue]] = {}
        self._named: set[str] = set()
        for name, value in settings.items():
            plain = name.strip().lower().replace("-", "_")
            self._named |= {plain, plain.rpartition(".")[2]}
            if isinstance(value, str) and value.strip().lower() in _ABSENT:
                continue
            self._whole[plain] = value
            folder, _, last = plain.rpartition(".")
            if folder and not _OTHER_MODELS.search(folder):
                self._last.setdefault(last, []).append(value)

    def get(self, names: Iterable[str]) -> ConfigValue | None:
        """The value under the first of these names that is there; None where a name has several values."""
        for name in names:
            if name in self._whole:
                return self._whole[name]
            values = self._last.get(name, [])
            if values:
                return values[0] if all(value == values[0] for value in values) else None
        return None

    def named(self, names: Iterable[str]) -> bool:
        """Whether one of the names is there, be it with no value ("None")."""
        return any(name in self._named for name in names)

    def whole(self, names: Iterable[str]) -> int | None:
        """The value as a positive whole number; None where there is none."""
        found = self.number(names)
        return int(found) if found is not None and found >= 1 and found == int(found) else None

    def number(self, names: Iterable[str]) -> float | None:
        """The value as a finite number."""
        value = self.get(names)
        if isinstance(value, bool) or value is None:
            return None
        try:
            found = float(value.replace(",", "").replace("_", "") if isinstance(value, str) else value)
        except ValueError:
            return None
        return found if abs(found) < 1e30 else None  # NaN is not

    def flag(self, names: Iterable[str]) -> bool | None:
        """The value as yes or no."""
        value = self.get(names)
        if isinstance(value, bool) or value is None:
            return value
        word = str(value).strip().lower()
        return True if word in _TRUE else False if word in _FALSE else None

    def word(self, names: Iterable[str]) -> str | None:
        """The value as a word in lower case."""
        value = self.get(names)
        return None if value is None or isinstance(value, bool) else str(value).strip().strip("'\"").lower()


def told_of(config: Mapping[ConfigKey, Mapping[int, ConfigValue]], attempt: int) -> Told:
    """What is known of an attempt: what it says itself, or else what the last one before it said.

    Where processes differ (`gpu.name{rank=3}`), only what all of them agree on.
    """
    settings: dict[str, ConfigValue] = {}
    by_process: dict[str, set[ConfigValue]] = {}
    for key, values in config.items():
        told = [number for number in values if number <= attempt]
        if not told:
            continue
        value = values[max(told)]
        if key.labels:
            by_process.setdefault(key.name, set()).add(value)
        else:
            settings[key.name] = value
    agreed = {name: next(iter(values)) for name, values in by_process.items() if len(values) == 1}
    return Told(agreed | settings)


def newest_attempt(config: Mapping[ConfigKey, Mapping[int, ConfigValue]]) -> int:
    """The newest attempt that anything is said of; 0 where nothing is."""
    return max((number for values in config.values() for number in values), default=0)
