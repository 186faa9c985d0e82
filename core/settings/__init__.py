"""What can be set, and where it is said: flags, then HOLTER_* variables, then holter.toml."""

from holter.settings.loading import SettingsError, load
from holter.settings.settings import FILE, ScrapeSettings, Settings, is_loopback

__all__ = ["FILE", "ScrapeSettings", "Settings", "SettingsError", "is_loopback", "load"]
