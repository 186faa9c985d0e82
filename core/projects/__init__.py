"""What can be said for a project rather than for the server: quotas, retention, detection."""

from holter.projects.detection import DetectionSettings
from holter.projects.project import ProjectSettings, settings_of
from holter.projects.quota import QuotaSettings
from holter.projects.retention import RetentionSettings

__all__ = ["DetectionSettings", "ProjectSettings", "QuotaSettings", "RetentionSettings", "settings_of"]
