"""What forward is called with, told by the names of its parameters."""

from __future__ import annotations

import inspect
from typing import Any, Dict, Mapping

import torch
from torch_geometric.nn import Sequential

from .errors import TraceError

# The names under which forward takes its arguments.
FEATURES = ("x", "x_in", "feat", "feats", "feature", "features", "node_feat", "in_feat", "h", "inputs", "input")
GRAPHS = ("edge_index", "edge_indices", "edges", "adj", "adj_t", "A", "g")
WEIGHTS = ("edge_weight", "edge_weights")
HOLDERS = ("data", "graph", "batch_data", "dataset")


class Holder:
    """Stands for a Data, or a dict of tensors, that forward takes."""

    def __init__(self, held: Mapping[str, Any]):
        self.__dict__.update(held)

    def __getattr__(self, key: str) -> Any:
        if key == "graph":
            return self
        raise AttributeError(f"data has no {key}")

    def __getitem__(self, key: str) -> Any:
        return getattr(self, key)

    def __contains__(self, key: str) -> bool:
        return getattr(self, key, None) is not None


def arguments_of(module: torch.nn.Module, x: Any, graph: Any, weight: Any, more: Mapping[str, Any]) -> Dict[str, Any]:
    """Returns what forward takes, by its parameters' names: features, the graph, weights, or an object with all."""
    held = {
        "x": x,
        "node_feat": x,
        "edge_index": graph,
        "adj_t": graph,
        "num_nodes": x.shape[0],
        "edge_weight": weight,
        "edge_attr": None,
        **more,
    }
    out: Dict[str, Any] = {}
    taken = inspect.signature(module.forward).parameters.values()
    if isinstance(module, Sequential):  # whose forward takes anything
        taken = [inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY) for name in module.signature.param_dict]
    parameters = [p for p in taken if p.kind not in (p.VAR_POSITIONAL, p.VAR_KEYWORD)]
    for i, p in enumerate(parameters):
        if p.name in FEATURES:
            out[p.name] = x
        elif p.name in GRAPHS:
            out[p.name] = graph
        elif p.name in WEIGHTS:
            out[p.name] = weight
        elif p.name in HOLDERS:
            out[p.name] = Holder(held)
        elif p.default is not p.empty:
            continue
        elif p.name in held:
            out[p.name] = held[p.name]
        elif i == 0:
            out[p.name] = x
        else:
            raise TraceError(
                f"model: forward takes {p.name!r}, which capgnn does not give: it gives x, edge_index and edge_weight"
            )
    return out
