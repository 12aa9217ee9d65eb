"""Compiled kernels, arrays in and out. Each file is imported where it is used, for that compiles it."""
