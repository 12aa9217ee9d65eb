"""Networks: maximum flows, minimum-cost flows, shortest paths. The typed interfaces of the kernels."""
