"""Programs, networks, kernels."""
