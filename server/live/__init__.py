"""News for open pages, as it happens."""
