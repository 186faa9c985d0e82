"""The tracking interface of MLflow, so that its unmodified clients log to Holter and read back."""
