"""Mutated inputs for every reader of outside files, and the limits that reading them must respect."""
