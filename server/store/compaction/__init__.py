"""Compaction: log entries become chunks, in a background thread."""
