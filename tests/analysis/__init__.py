"""Lower bounds, loss, comparisons, explanations."""
