"""Export of runs to files, and import of these and of other trackers' runs."""
