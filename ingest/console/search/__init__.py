"""Finds the lines that a dialect knows in a block of text, with few passes over it."""
