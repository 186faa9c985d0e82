"""Reading the settings, and saying what is wrong with one in the words of whoever wrote it."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pydantic import ValidationError
from pydantic_settings import SettingsConfigDict

from holter.settings.settings import FILE, Settings

_EXPECTED = {
    "tuple_type": "expected a list of tables: [[name]], each with its own lines",
    "list_type": "expected a list: [a, b]",
    "dict_type": "expected a table: {name = value}",
    "mapping_type": "expected a table: {name = value}",
    "int_parsing": "expected a whole number",
    "int_type": "expected a whole number",
    "float_parsing": "expected a number",
    "float_type": "expected a number",
    "bool_parsing": "expected true or false",
    "string_type": "expected a text in quotes",
}
"""What pydantic says of types, in the words of those who write holter.toml."""


class SettingsError(ValueError):
    """A setting that cannot be used, and why."""


def _expectation(kind: str, message: str) -> str:
    if kind in {"extra_forbidden", "unexpected_keyword_argument"}:
        return "there is no such setting"
    return _EXPECTED.get(kind) or message.removeprefix("Value error, ")


def load(flags: Mapping[str, Any] | None = None, *, file: Path | None = None) -> Settings:
    """The settings, with `flags` (None = not given) on top; `file` instead of the holter.toml here.

    Raises SettingsError naming the setting and what is expected of it.
    """
    given = {name: value for name, value in (flags or {}).items() if value is not None}
    try:
        return (Settings if file is None else _settings_in(file))(**given)
    except ValidationError as error:
        reasons = [
            f"{'.'.join(map(str, problem['loc']))}: {_expectation(problem['type'], problem['msg'])}"
            for problem in error.errors(include_url=False, include_input=False, include_context=False)
        ]
        raise SettingsError(
            f"settings (flags, HOLTER_* variables, {file or FILE}): " + "; ".join(reasons)
        ) from error
    except ValueError as error:  # a holter.toml that is not TOML, a HOLTER_CHANNELS that is not JSON
        raise SettingsError(f"settings ({file or FILE} or HOLTER_* variables): {error}") from error


def _settings_in(file: Path) -> type[Settings]:
    if not file.is_file():
        raise SettingsError(f"{file}: there is no such file of settings")

    class SettingsThere(Settings):
        model_config = SettingsConfigDict(toml_file=file)

    return SettingsThere
