"""The attempts (launches) of a run: assignment of rows, config of each, superseded steps and goodput."""

from holter.attempts.attempts import Attempts

__all__ = ["Attempts"]
