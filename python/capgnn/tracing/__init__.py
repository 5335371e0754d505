"""Modules of torch_geometric as programs of capgnn. Imports torch and torch_geometric.

`trace` makes a `Program` (nodes.py). tracer.py runs the module once; elementwise.py, products.py, reductions.py,
shapes.py, edges.py and helpers.py say what functions of torch and torch_geometric write with builder.py; prove.py
compares what interpret.py computes of it with the module.
"""

import torch

if tuple(int(part) for part in torch.__version__.split(".")[:2]) < (2, 4):
    raise ImportError(f"capgnn.trace needs torch 2.4 or newer, where x[i] can be traced: this is {torch.__version__}")

from .fit import fit  # noqa: E402
from .nodes import Program  # noqa: E402
from .trace import trace  # noqa: E402

__all__ = ["Program", "fit", "trace"]
