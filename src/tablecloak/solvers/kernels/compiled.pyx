# cython: language_level=3, wraparound=False, cdivision=True, initializedcheck=False, nonecheck=False
# cython: embedsignature=False, auto_pickle=False
"""The compiled kernels, one module: each included file has one algorithm. `compiled.pyi` has their types.

Kernels know arrays only and check no argument; their callers do. They run without the interpreter lock and keep no
state but in the arrays that they are given, so that threads may run them side by side. Results are the same bytes
everywhere: sums keep their order, and the build forbids fused multiply-add and fast-math.

`boundscheck` is a setting of the build (see setup.py), off in releases. A function in which an index leaves its array
reports that as an exception that cannot be raised, which is an error in tests.
"""

cimport cython
from cpython.exc cimport PyErr_CheckSignals
from libc.math cimport INFINITY, NAN, ceil, exp, fabs, floor, pow, rint, sqrt
from libc.stdlib cimport llabs
from libc.stdint cimport INT64_MAX, int8_t, int64_t, uint8_t, uint64_t

import numpy as np

from tablecloak.progress import TimeUp
from tablecloak.solvers import tolerances

cdef extern from *:
    """
    #ifndef TABLECLOAK_SOURCES
    #define TABLECLOAK_SOURCES ""
    #endif
    """
    const char *TABLECLOAK_SOURCES

SOURCES = TABLECLOAK_SOURCES.decode()


cdef enum:
    NONE = -1  # no node, entry, row or column

cdef double LEVEL_NOISE = tolerances.LEVEL_NOISE
cdef double HALF_UNIT = tolerances.HALF_UNIT

include "stopping.pxi"
include "random.pxi"
include "heap.pxi"
include "adjacency.pxi"
include "max_flow.pxi"
include "connectivity.pxi"
include "min_cuts.pxi"
include "bottleneck_paths.pxi"
include "min_cost_flow.pxi"
include "augmenting_paths.pxi"
include "stratified_paths.pxi"
include "presolve.pxi"
include "exact_deviations.pxi"
include "null_space_simplex.pxi"
include "covering_simplex.pxi"
include "cut_rows.pxi"
include "capacity_rows.pxi"
include "combination_rows.pxi"
include "modular_elimination.pxi"
include "hypercubes.pxi"
include "opposite_cells.pxi"
include "sign_annealing.pxi"
include "unbiased_rounding.pxi"
