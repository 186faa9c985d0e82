"""Events of the pace: regressions of throughput, and stalls."""
