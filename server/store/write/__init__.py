"""Deliveries into the log: checks, which attempt they belong to, the rows of a transaction."""
