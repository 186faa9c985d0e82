"""The settings and how they are read: flags, then HOLTER_* variables, then holter.toml."""

from holter.settings.network import is_loopback
from holter.settings.settings import FILE, ScrapeSettings, Settings, SettingsError, load

__all__ = ["FILE", "ScrapeSettings", "Settings", "SettingsError", "is_loopback", "load"]
