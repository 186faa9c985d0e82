"""Runs as pages show them: health, newest values, the strip of a whole life, what rollbacks cost."""
