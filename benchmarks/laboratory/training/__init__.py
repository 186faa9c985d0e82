"""Training of laboratory runs with torch: data, models, optimizers, and the mechanisms of faults."""
