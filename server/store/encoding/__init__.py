"""How points stand in bytes: columns of a batch, chunks of a series, pyramids, names."""
