"""Byte encodings of batches, chunks, pyramids and series names."""
