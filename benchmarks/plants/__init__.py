"""Runs made up with faults in them, by what they happen to: speeds, ranks, datasets, and the rest."""
