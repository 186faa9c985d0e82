"""Evaluation losses: series of few points, judged by what so few can tell."""
