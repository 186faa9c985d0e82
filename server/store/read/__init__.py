"""Points out of log and chunks: series, charts, numbers, newest points."""
