"""Formats, and following sources: what turns files into batches."""
