"""Data that comes again: its fingerprint in the noise of the loss."""
