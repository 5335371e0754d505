"""Modules of torch_geometric as programs of capgnn. Imports torch and torch_geometric.

`trace` makes a `Program` (nodes.py). tracer.py runs the module once; elementwise.py, products.py, reductions.py,
shapes.py, edges.py and helpers.py say what functions of torch and torch_geometric write with builder.py; prove.py
compares what interpret.py computes of it with the module.
"""

from .fit import fit, with_weights
from .nodes import Program
from .trace import trace

__all__ = ["Program", "fit", "trace", "with_weights"]
