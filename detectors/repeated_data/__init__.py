"""Detection of data that a run sees again after a resume."""
