"""One model for suppression, intervals, rounding and perturbation: formulations, protection cuts, separation."""
