"""Pairs of really trained small models: how often a difference is reported, and how good intervals are."""
