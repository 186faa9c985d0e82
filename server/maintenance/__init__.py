"""Keeping house: backups, moves, deletion, retention, space."""
