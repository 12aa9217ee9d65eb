"""The modular approach: a hierarchical table as many small ones without hierarchies, solved one after the other.

Reference: de Wolf (2002), HiTaS: a heuristic approach to cell suppression in hierarchical tables; de Wolf & Giessing
(2009), Adjusting the tau-ARGUS modular approach to deal with linked tables.
"""

from tablecloak.methods.modular.singletons import SingletonRules, with_singletons
from tablecloak.methods.modular.sweeps import Modular, ModularOptions
