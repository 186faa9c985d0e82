"""Detection in evaluation losses: series of few points, judged by statistics that suit few points."""
