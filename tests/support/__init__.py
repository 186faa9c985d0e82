"""Helpers of tests: servers, databases, receivers, runs, and programs that are killed."""
