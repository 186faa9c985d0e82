"""Launches of a program in one text: where each begins, and with which settings."""
