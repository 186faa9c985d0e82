"""The settings page names every setting, and defaults in the documentation are those of the code."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from pydantic import BaseModel
from pydantic_core import PydanticUndefined

from holter.server.channels.channel import ChannelSettings
from holter.settings import ScrapeSettings, Settings
from holter.settings.http import HttpSettings
from holter.settings.projects import DetectionSettings, QuotaSettings, RetentionSettings
from tests.support.documentation import ROOT

SETTINGS, ALERTS, TUNING, MAINTENANCE = (
    ROOT / "docs" / name for name in ("settings.md", "alerts.md", "tuning.md", "maintenance.md")
)


def default_of(model: type[BaseModel], name: str) -> Any:
    """The default of a setting."""
    field = model.model_fields[name]
    default = field.get_default(call_default_factory=True)
    assert default is not PydanticUndefined, name
    return default


def table_defaults(page: Path, model: type[BaseModel]) -> dict[str, str]:
    """Settings of a model and their defaults in the tables of a page with the columns name and default."""
    stated = {}
    for names, defaults in re.findall(
        r"^\| ((?:`\w+`(?:, )?)+) \| ([^|]+) \|", page.read_text(), re.MULTILINE
    ):
        for name, default in zip(re.findall(r"`(\w+)`", names), defaults.split(","), strict=False):
            if name in model.model_fields:
                stated[name] = default.strip().strip("`")
    return stated


def test_the_settings_page_has_a_section_for_each_setting() -> None:
    assert set(re.findall(r"^### `(\w+)`$", SETTINGS.read_text(), re.MULTILINE)) == set(Settings.model_fields)


@pytest.mark.parametrize(
    ("page", "model"),
    [(SETTINGS, HttpSettings), (SETTINGS, QuotaSettings), (ALERTS, ChannelSettings)],
    ids=lambda value: value.__name__ if isinstance(value, type) else value.name,
)
def test_tables_of_settings_are_complete_and_state_the_defaults(page: Path, model: type[BaseModel]) -> None:
    stated = table_defaults(page, model)
    assert set(stated) == set(model.model_fields) - {"type"}
    for name, default in stated.items():
        expected = default_of(model, name)
        assert default in (str(expected).lower(), f"{expected:g}" if isinstance(expected, float) else ""), (
            name
        )


STATED = re.findall(r"^### `(\w+)`\n(?:[^#]*?)\b[Dd]efault (\d+)\b(?!\.)", SETTINGS.read_text(), re.MULTILINE)


@pytest.mark.parametrize(("setting", "stated"), STATED)
def test_numbers_that_sentences_state_as_defaults_are_those_of_the_code(setting: str, stated: str) -> None:
    default = default_of(Settings, setting)
    assert float(stated) == (default.every if isinstance(default, ScrapeSettings) else default)


@pytest.mark.parametrize("model", [DetectionSettings, RetentionSettings], ids=lambda model: model.__name__)
def test_settings_of_projects_are_documented(model: type[BaseModel]) -> None:
    page = TUNING if model is DetectionSettings else MAINTENANCE
    assert {name for name in model.model_fields if not re.search(rf"\b{name}\b", page.read_text())} == set()
