"""What can be said for a project rather than for the server: quotas, retention, detection."""

from holter.settings.projects.detection import DetectionSettings
from holter.settings.projects.project import ProjectSettings, settings_of
from holter.settings.projects.quota import QuotaSettings
from holter.settings.projects.retention import RetentionSettings

__all__ = ["DetectionSettings", "ProjectSettings", "QuotaSettings", "RetentionSettings", "settings_of"]
