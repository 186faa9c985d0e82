"""Which files below a folder are logs: of which kind, of which run, and which of them need not be read."""
