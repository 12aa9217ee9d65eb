"""The benchmarks themselves."""
