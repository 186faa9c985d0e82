"""Attacks on a server, for measurements of how it answers others meanwhile."""
