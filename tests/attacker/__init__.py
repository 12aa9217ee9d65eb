"""Structure, systems and feasibility intervals."""
