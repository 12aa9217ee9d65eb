"""What results are worth: lower bounds, loss of information, comparisons of methods, explanations."""
