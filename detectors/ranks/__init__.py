"""Ranks held against their peers: stragglers, and collectives that slow down for all."""
