"""Replacements for functions of torch_geometric while a module is traced: what they take, as nodes."""

from __future__ import annotations

import inspect
import sys
from functools import partialmethod
from types import ModuleType
from typing import Any, Callable, Dict, List, Optional, Tuple

import torch
import torch.utils.checkpoint
import torch_geometric.utils as utils
from torch import Tensor
from torch_geometric.nn.aggr import Aggregation
from torch_geometric.nn.aggr.fused import FusedAggregation
from torch_geometric.nn.conv import ChebConv, MessagePassing
from torch_geometric.nn.conv.gcn_conv import gcn_norm
from torch_geometric.nn.resolver import aggregation_resolver

from .edges import followed, gathered, moved, reverse, weighted_sum
from .errors import lacks, refuse
from .nodes import Node
from .tracer import Edges, Ends, Tracer


class Helpers:
    """Replacements for functions of torch_geometric, which take what these take."""

    def __init__(self, tracer: Tracer):
        self.t = tracer

    def graph(self, edge_index: Any) -> str:
        value = self.t.value(edge_index)
        if not isinstance(value, Edges):
            refuse(
                "an edge_index is neither an argument of forward nor made of it"
                if edge_index is None or isinstance(edge_index, Tensor)
                else f"a {type(edge_index).__name__} as the graph: pass an edge_index"
            )
        return value.graph

    def ends(self, index: Any) -> Ends:
        value = self.t.value(index)
        if not isinstance(value, Ends):
            refuse("rows are grouped by numbers that are not those of edge_index")
        return value

    def with_loops(
        self, do: str, edge_index: Tensor, edge_attr: Any = None, fill_value: Any = None, num_nodes: Any = None
    ) -> Tuple[Tensor, Optional[Tensor]]:
        t, graph = self.t, self.graph(edge_index)
        if edge_attr is None:
            of = t.graphs[graph]
            if (do, of.get("do")) == ("loops", "no_loops"):  # as GATConv does
                graph, do = of["of"], "full_loops"
            return self.looped(graph, do), None
        if not isinstance(fill_value, (int, float, type(None))):
            refuse("weights of loops that are no number are no operation of capgnn: use fill_value=1.0")
        made = self.looped(graph, do, 1 if fill_value is None else fill_value)
        return made, followed(self.t, edge_attr, self.graph(made))

    def looped(self, graph: str, do: str, weight: float = 1) -> Tensor:
        """Returns a graph with other loops. Where some were added to those that are there, one is left: the last."""
        t, of = self.t, self.t.graphs[graph]
        if (do, of.get("do")) == ("full_loops", "loops"):
            graph, do, weight = self.graph(t.edge_index(of["of"], "no_loops")), "loops", of.get("weight", 1)
        return t.edge_index(graph, do, weight)

    add_self_loops = partialmethod(with_loops, "loops")
    add_remaining_self_loops = partialmethod(with_loops, "full_loops")
    remove_self_loops = partialmethod(with_loops, "no_loops")

    def gcn_norm(
        self, edge_index: Tensor, edge_weight: Any = None, num_nodes: Any = None, improved: bool = False,
        add_self_loops: bool = True, flow: str = "source_to_target", dtype: Any = None
    ) -> Any:
        t = self.t
        if flow != "source_to_target":
            lacks("gcn_norm with flow='target_to_source'", "reverse the edges with flip(0)")
        if add_self_loops and edge_weight is None and improved:
            edge_index = t.edge_index(self.graph(edge_index), "full_loops", 2)
        elif add_self_loops:
            edge_index, edge_weight = self.with_loops("full_loops", edge_index, edge_weight, 2 if improved else 1)
        graph, node = self.graph(edge_index), None if edge_weight is None else t.node(edge_weight)
        if node is not None and t.number_of(node) is None and node.attributes.get("what") != "edge_weight":
            lacks("gcn_norm of weights that the model computes", "pass edge_weight of the data set")
        t.weighted.add(node is not None and t.number_of(node) is None)
        return edge_index, t.number_of_each("gcn_norm", "E:" + graph, graph)

    def get_laplacian(self, *_: Any, **__: Any) -> Any:
        refuse("get_laplacian is an operation of capgnn in ChebConv alone")

    def degree(self, index: Tensor, num_nodes: Any = None, dtype: Any = None) -> Tensor:
        ends = self.ends(index)
        return self.t.number_of_each(("out_degree", "in_degree")[ends.side], "V", ends.graph)

    def softmax(self, src: Tensor, index: Any = None, ptr: Any = None, num_nodes: Any = None, dim: int = 0) -> Tensor:
        ends = self.ends(index)
        if ends.side == 0:
            lacks("softmax over out-edges", "use MessagePassing(flow='target_to_source')")
        node = self.t.whole(src, "E:" + ends.graph)
        return self.t.made(src.shape, self.t.emit("softmax_in", [node], node.shape, graph=ends.graph))

    def scatter(self, src: Tensor, index: Tensor, dim: int = 0, dim_size: Any = None, reduce: str = "sum") -> Tensor:
        of = self.t.value(index)
        if isinstance(of, Node) and self.t.number_of(of) == 0:  # a batch of one graph
            if reduce not in ("mean", "sum", "add"):
                lacks(f"{reduce} over all vertices")
            return src.mean(0, keepdim=True) if reduce == "mean" else src.sum(0, keepdim=True)
        ends = self.ends(index)
        if dim % src.dim() != self.t.axis(src.shape):
            refuse("scatter along another axis than rows")
        return gathered(self.t, src, ends.graph, reduce, ends.side)

    def to_dense_batch(self, x: Tensor, batch: Any = None, *_: Any, **__: Any) -> Tuple[Tensor, Tensor]:
        if batch is not None and self.t.number_of(self.t.node(batch)) != 0:
            lacks("to_dense_batch of several graphs")
        return x.unsqueeze(0), torch.ones(1, x.shape[0], dtype=torch.bool)

    def spmm(self, src: Tensor, other: Tensor, reduce: str = "sum") -> Tensor:
        return weighted_sum(self.t, self.graph(src), other, None, reduce)

    def maybe_num_nodes(self, *_: Any, **__: Any) -> int:
        return self.t.vertices

    def dropout_edge(self, edge_index: Tensor, *_: Any, **__: Any) -> Any:
        refuse("edges are dropped at random: drop features or hidden rows instead (F.dropout)")

    def cheb_norm(
        self, conv: Any, edge_index: Tensor, num_nodes: Any, edge_weight: Any, normalization: Any,
        lambda_max: Any = None, *_: Any, **__: Any
    ) -> Any:
        """Minus D^-1/2 A D^-1/2 without loops, which is the scaled Laplacian of λ = 2."""
        if (
            normalization != "sym"
            or edge_weight is not None
            or lambda_max is not None
            and self.t.number_of(self.t.node(lambda_max)) != 2
        ):
            refuse("ChebConv is an operation of capgnn with normalization='sym', without edge_weight and lambda_max")
        edge_index, _ = self.remove_self_loops(edge_index)
        source, target = edge_index
        root = self.degree(source).pow(-0.5)
        root = root.masked_fill(root == float("inf"), 0)
        return edge_index, -(root[source] * root[target])

    def propagate(self, conv: Any, edge_index: Any, size: Any = None, **kwargs: Any) -> Tensor:
        edge_index, collect = self.collector(conv, edge_index, kwargs)
        out = conv.message(**collect(type(conv).message))
        out = conv.aggregate(out, **collect(type(conv).aggregate, 1))
        return conv.update(out, **collect(type(conv).update, 1))

    def edge_updater(self, conv: Any, edge_index: Any, size: Any = None, **kwargs: Any) -> Tensor:
        edge_index, collect = self.collector(conv, edge_index, kwargs)
        return conv.edge_update(**collect(type(conv).edge_update))

    def collector(
        self, conv: Any, edge_index: Tensor, kwargs: Dict[str, Any]
    ) -> Tuple[Tensor, Callable[..., Dict[str, Any]]]:
        """Returns a function that collects the arguments of message, aggregate or update."""
        t = self.t
        if conv.flow != "source_to_target":
            edge_index = reverse(t, self.graph(edge_index))
        graph, moves = self.graph(edge_index), {}  # type: Tuple[str, Dict[str, Any]]
        known = {"index": 1, "edge_index_i": 1, "edge_index_j": 0}
        sizes = ("dim_size", "size_i", "size_j", "num_nodes")

        def argument(name: str, parameter: inspect.Parameter, func: Any) -> Any:
            if name in known:
                return t.ends(graph, known[name])
            if name == "edge_index":
                return edge_index
            if name == "ptr" or name in ("edge_weight", "edge_attr") and name not in kwargs:
                return None
            if name in kwargs:
                return kwargs[name]
            if name in sizes:
                return t.vertices
            if name[-2:] in ("_i", "_j") and name[:-2] in kwargs:
                side, x = int(name.endswith("_i")), kwargs[name[:-2]]
                x = x[side] if isinstance(x, (tuple, list)) else x
                if name not in moves:
                    moves[name] = moved(t, x, graph, side) if isinstance(x, Tensor) else x
                return moves[name]
            if parameter.default is parameter.empty:
                refuse(f"{func.__qualname__} wants {name}, which propagate was not given")
            return parameter.default

        def collect(func: Any, skip: int = 0) -> Dict[str, Any]:
            named = list(inspect.signature(func).parameters.items())[1 + skip :]
            return {k: argument(k, p, func) for k, p in named if p.kind not in (p.VAR_KEYWORD, p.VAR_POSITIONAL)}

        return edge_index, collect


class replaced:
    """Replaces torch_geometric's helpers by those of a tracer, in all modules that have imported them."""

    def __init__(self, tracer: Tracer, module: torch.nn.Module):
        self.helpers, self.module = Helpers(tracer), module
        self._undo: List[Tuple[Any, str, Any]] = []

    def __enter__(self) -> replaced:
        h = self.helpers
        functions = {
            id(getattr(utils, name)): getattr(h, name)
            for name in (
                "add_self_loops", "add_remaining_self_loops", "remove_self_loops", "degree", "softmax", "scatter",
                "spmm", "get_laplacian", "dropout_edge", "to_dense_batch"
            )
        }
        functions.update(
            {
                id(utils.dropout_adj): h.dropout_edge,
                id(gcn_norm): h.gcn_norm,
                id(utils.num_nodes.maybe_num_nodes): h.maybe_num_nodes,
            }
        )
        for module in list(sys.modules.values()):
            if isinstance(module, ModuleType) and not module.__name__.startswith(("torch.", "numpy", __package__)):
                for name, value in list(vars(module).items()):
                    if id(value) in functions:
                        self._set(module, name, functions[id(value)])
        for kind in {
            kind for m in self.module.modules() for kind in type(m).__mro__ if issubclass(kind, MessagePassing)
        }:
            for name in ("propagate", "edge_updater"):
                if name in vars(kind):
                    self._set(kind, name, _method(getattr(h, name)))
        self._set(ChebConv, "__norm__", _method(h.cheb_norm))
        self._set(
            Aggregation,
            "__call__",
            lambda a, x, index=None, ptr=None, dim_size=None, dim=-2, **k: a.forward(
                x, index=index, ptr=None, dim_size=dim_size, dim=dim, **k
            ),
        )
        self._set(Aggregation, "assert_sorted_index", lambda *_: None)
        self._set(
            FusedAggregation,
            "forward",
            lambda a, x, index=None, ptr=None, dim_size=None, dim=-2: [
                aggregation_resolver(k)(x, index, dim_size=dim_size, dim=dim) for k in a.aggr_names
            ],
        )
        self._set(torch.utils.checkpoint, "checkpoint", lambda f, *a, use_reentrant=None, **k: f(*a, **k))
        return self

    def __exit__(self, *_: Any) -> None:
        for owner, name, old in reversed(self._undo):
            if old is replaced:
                delattr(owner, name)
            else:
                setattr(owner, name, old)

    def _set(self, owner: Any, name: str, value: Any) -> None:
        self._undo.append((owner, name, vars(owner).get(name, replaced)))
        setattr(owner, name, value)


def _method(f: Callable[..., Any]) -> Callable[..., Any]:
    return lambda self, *args, **kwargs: f(self, *args, **kwargs)
