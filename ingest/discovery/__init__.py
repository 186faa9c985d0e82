"""Discovery: which files below a folder are logs, of which format and run, and which need not be read."""
