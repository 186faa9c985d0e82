"""From the log into chunks, and the numbers of a run that it keeps beside them."""
