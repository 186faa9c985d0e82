"""Names of the settings that describe the environment of a launch: software, hardware, launcher."""

from __future__ import annotations

PREFIX = "environment/"
"""Settings with this prefix are no configuration of the training."""
PACKAGES = "packages/"
"""Followed by a number: lines of package names and versions; and by a package's name where they are shown."""
VARIABLES = "variables/"
GIT_CHANGED = "git_changed"
"""The number of changed files; the command that counts them may take too long, so that it is missing."""
GIT_CHANGED_FILES = "git_changed_files"
INCOMPLETE = "incomplete"
"""The parts that could not be read in time, separated by spaces."""
OF_ONE_LAUNCH = frozenset({"host", "hosts", "node", "job", "pod", "restart_count", "cpus", INCOMPLETE})
"""What differs between launches of the same thing: shown, but no difference between attempts."""
