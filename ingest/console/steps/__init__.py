"""The step of a line, from what the lines count: steps, batches, epochs, or nothing."""
