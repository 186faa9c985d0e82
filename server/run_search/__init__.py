"""Searching runs: the filter language, an index in memory of what it reads, orders, columns, completion."""
