"""What is known of a run's launches: which row is whose, what each was set up with, what newer ones redid."""

from holter.attempts.attempts import Attempts

__all__ = ["Attempts"]
