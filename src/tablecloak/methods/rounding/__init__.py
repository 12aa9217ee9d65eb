"""Parts of the rounding methods: tables in integer units, totals, annealing."""
