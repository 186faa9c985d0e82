"""Layouts: patterns of all lines that differ from a known one in their numbers alone."""
