"""Headings: lines that state what the values below them are of."""
