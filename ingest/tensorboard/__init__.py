"""TensorBoard's event files, read in blocks by numpy, or compiled where numba is."""
