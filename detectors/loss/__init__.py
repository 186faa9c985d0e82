"""Events of the loss: spikes, divergence, bad resumes, values that are no numbers."""
