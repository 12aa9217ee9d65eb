"""The attacker's problem: what can be inferred from equations, a publication and a box. Shared by audit and methods."""
