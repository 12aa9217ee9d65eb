"""Parts of mixed-joint: the plan of ways, and all of them as one formulation."""
