"""Parts of the perturbation methods: controlled tabular adjustment, ranges, integer units."""
