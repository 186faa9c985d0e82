"""Headings: lines that say what the values below them are of."""
