"""Numbers that stop being numbers behind the log's back: loss scales, and NaN that a logger hides."""
