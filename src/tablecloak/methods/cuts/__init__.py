"""Valid inequalities of cell suppression, their separation, and the programs over them."""
