"""Modules of torch_geometric as programs of capgnn. Imports torch and torch_geometric.

`trace` makes a `Program` (nodes.py). tracer.py runs the module once; arithmetic.py, shapes.py and edges.py say what torch's and
torch_geometric's functions write; interpret.py computes what is written, and trace.py proves it against the module.
"""
from .nodes import Program
from .trace import trace
from .tracer import TraceError

__all__ = ["Program", "TraceError", "trace"]
