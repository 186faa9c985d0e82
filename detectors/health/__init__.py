"""The machines under a run: memory that only grows, GPUs that report faults."""
