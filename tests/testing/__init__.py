"""The oracle and what makes random cases."""
