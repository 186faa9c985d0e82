"""Writing deliveries to the log: validation, attempt assignment, and the statements of a transaction."""
