"""Which settings hold for a project: those of every table whose pattern fits its name."""

from __future__ import annotations

from collections.abc import Mapping
from fnmatch import fnmatchcase

from pydantic import BaseModel, ConfigDict

from holter.settings.projects.detection import DetectionSettings
from holter.settings.projects.quota import QuotaSettings
from holter.settings.projects.retention import RetentionSettings


class ProjectSettings(BaseModel):
    """The tables `[projects.NAME.quota]`, `.retention` and `.detection` of holter.toml."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    quota: QuotaSettings = QuotaSettings()
    retention: RetentionSettings = RetentionSettings()
    detection: DetectionSettings = DetectionSettings()


def settings_of(projects: Mapping[str, ProjectSettings], name: str) -> ProjectSettings:
    """The settings of one project, field by field from the most particular pattern that says something.

    Patterns are as in a shell (`*`, `llm-*`); the name itself comes before any pattern, a longer pattern
    before a shorter one.
    """
    fitting = [pattern for pattern in projects if fnmatchcase(name, pattern)]
    fitting.sort(key=lambda pattern: (pattern == name, len(pattern), pattern))
    said: dict[str, dict[str, object]] = {"quota": {}, "retention": {}, "detection": {}}
    for pattern in fitting:
        for part, fields in said.items():
            table = getattr(projects[pattern], part)
            fields |= {field: getattr(table, field) for field in table.model_fields_set}
    return ProjectSettings.model_validate(said)
