"""Reports of runs and projects as self-contained HTML files, which need neither a server nor JavaScript."""
