"""What calls on edges write: torch's on an edge_index, and torch_geometric's helpers, which are replaced while a module is traced."""
from __future__ import annotations

import inspect
import sys
from types import ModuleType
from typing import Any, Callable, Dict, List, Optional, Sequence, Tuple

import torch
import torch.utils.checkpoint
import torch_geometric.utils as utils
from torch import Tensor
from torch_geometric.nn.aggr import Aggregation
from torch_geometric.nn.aggr.fused import FusedAggregation
from torch_geometric.nn.conv import ChebConv, MessagePassing
from torch_geometric.nn.conv.gcn_conv import gcn_norm
from torch_geometric.nn.resolver import aggregation_resolver

from .arithmetic import aligned
from .nodes import Node
from .shapes import CHOSEN
from .tracer import Edges, Ends, Mask, Tracer, Value, refuse

BY_HAND = "an edge_index is put together by hand: make the graph before, or use add_self_loops, remove_self_loops or flip(0)"
PRODUCTS = ("matmul", "mm", "spmm", "smm", "sparse_mm", "rmatmul", "_spmm")


def shaped(t: Tracer, x: Tensor, space: str) -> Tensor:
    """Returns an empty tensor like x, but with the rows of another space."""
    (size,), axis = t.rows(space, ()), t.axis(x.shape)
    return t.empty([size if i == axis else s for i, s in enumerate(x.shape)])


def moved(t: Tracer, x: Tensor, graph: str, side: int) -> Tensor:
    """Returns a row for each edge: that of its source (0) or target (1)."""
    if t.space(x.shape) != "V":
        refuse("rows are looked up by vertex in a tensor that has no row for each vertex")
    out, node = shaped(t, x, "E:" + graph), t.node(x)
    if node.space == "G":  # the same for all
        return t.bind(out, node)
    return t.bind(out, t.emit(("src", "dst")[side], [t.whole(x)], t.behind(x.shape), "E:" + graph, graph=graph))


def gathered(t: Tracer, x: Tensor, graph: str, how: str, side: int = 1) -> Tensor:
    """Returns a row for each vertex: the sum, mean, max or min over its in-edges."""
    if side == 0:
        refuse("values are summed over out-edges: use MessagePassing(flow='target_to_source')")
    if how not in ("sum", "add", "mean", "max", "min"):
        refuse(f"{how} over neighbours is no operation of capgnn: sum, mean, max and min are")
    out, number, behind = shaped(t, x, "V"), t.number_of(t.node(x)), t.behind(x.shape)
    if number is not None and how in ("sum", "add"):
        return t.bind(out, t.scale(t.reshape(t.constant("in_degree", "V", graph), (1,) * len(behind)), number))
    node = t.whole(x, "E:" + graph)
    if how in ("max", "min"):
        sign = 1 if how == "max" else -1
        return t.bind(out, t.scale(t.emit("max_in", [t.scale(node, sign)], behind, "V", graph=graph), sign))
    node = t.emit("sum_in", [node], behind, "V", graph=graph)
    return t.bind(out, t.div(node, t.constant("in_count", "V", graph)) if how == "mean" else node)


def weighted_sum(t: Tracer, graph: str, x: Tensor, weight: Optional[Tensor], how: str = "sum") -> Tensor:
    """Returns A x, where A has the weights of edges, or ones."""
    row = moved(t, x, graph, 0)
    if weight is None:
        return gathered(t, row, graph, how)
    node = t.mul([t.whole(weight, "E:" + graph), t.node(row)])
    return gathered(t, t.bind(t.empty(row.shape), node), graph, how)


def data_weight(t: Tracer, graph: str) -> Tensor:
    """Returns the weights of the data set as edges of a graph."""
    t.weighted.add(True)
    return t.bind(t.empty(t.rows("E:" + graph, ())), t.constant("edge_weight", "E:" + graph, graph))


def followed(t: Tracer, weight: Optional[Tensor], graph: str) -> Optional[Tensor]:
    """Returns weights of edges as those of a graph that was made of theirs."""
    if weight is None:
        return None
    node = t.node(weight)
    if node.op == "reshape":
        node = t.named(node.inputs[0])
    if t.number_of(node) is not None and t.number_of(node) == t.graphs[graph].get("weight", 1):
        return t.bind(t.empty(t.rows("E:" + graph, weight.shape[1:])), node)
    if node.attributes.get("what") == "edge_weight":
        return t.bind(t.empty(t.rows("E:" + graph, weight.shape[1:])), t.reshape(t.node(data_weight(t, graph)), weight.shape[1:]))
    refuse("loops are added to edges that have values: add or remove loops first, then compute values of edges")


def on_graph(t: Tracer, func: Any, base: str, args: Tuple[Any, ...], kwargs: Dict[str, Any], value: Value) -> Any:
    """Answers a call of torch on an edge_index or one of its rows."""
    first = args[0]
    if isinstance(t.value(first), Edges):
        graph = value.graph  # type: ignore[union-attr]
        if base in ("unbind", "iter", "split", "chunk"):
            rows = [t.ends(graph, 0), t.ends(graph, 1)]
            return iter(rows) if base == "iter" else rows
        if base == "getitem" and args[1] in (0, 1, -1, -2):
            return t.ends(graph, args[1] % 2)
        if base == "flip" or base == "getitem" and args[1] == [1, 0]:
            return reverse(t, graph)
        if base in ("to", "contiguous", "clone", "long", "detach", "coalesce", "cpu", "cuda", "t_"):
            return first
        if base in PRODUCTS:  # the matrix was made outside, so its values are weights of edges
            t.matrix = True
            return weighted_sum(t, graph, args[1], data_weight(t, graph))
        refuse(BY_HAND if base in ("stack", "cat", "eq", "ne") else f"torch's {base} of an edge_index is no operation of capgnn: pass it to a convolution or to propagate")
    if base in ("stack", "vstack") and all(isinstance(t.value(x), Ends) for x in first):
        ends = [t.value(x) for x in first]
        if len(ends) == 2 and ends[0].graph == ends[1].graph and ends[0].side != ends[1].side:  # type: ignore[union-attr]
            graph = ends[0].graph  # type: ignore[union-attr]
            return t.edge_index(graph) if ends[0].side == 0 else reverse(t, graph)  # type: ignore[union-attr]
    if base in ("getitem", "index_select"):
        of = t.value(args[-1])
        if isinstance(of, Ends) and not isinstance(t.value(first), (Edges, Ends)):
            return moved(t, first, of.graph, of.side)
    if base in ("index_add", "scatter_add", "scatter_reduce") and isinstance(t.value(args[2]), Ends):
        ends = t.value(args[2])
        how = args[4] if base == "scatter_reduce" else "sum"
        out = gathered(t, args[3], ends.graph, {"amax": "max", "amin": "min"}.get(how, how), ends.side)  # type: ignore[union-attr]
        node = t.add([aligned(t, out, first), t.node(out)], [1, 1]) if t.number_of(t.node(first)) != 0 else t.node(out)
        return t.bind(first if func.__name__.endswith("_") else out, node)
    if base in ("view", "expand", "expand_as", "unsqueeze", "long", "to", "contiguous") and isinstance(value, Ends):
        return t.bind(func(*args, **kwargs) if base not in ("to", "long") else t.empty(first.shape, torch.int64), value)
    if base in ("eq", "ne", "gt", "lt"):
        return t.bind(func(*args, **kwargs), Mask(None, "edges are compared inside the model: make the graph before"))
    refuse(f"torch's {base} of the rows of an edge_index is no operation of capgnn: pass them to degree, softmax, scatter or propagate")


Tracer.on_graph = on_graph


def reverse(t: Tracer, graph: str) -> Tensor:
    return t.edge_index(t.graphs[graph]["of"]) if t.graphs[graph].get("do") == "reverse" else t.edge_index(graph, "reverse")


# -- torch_geometric's helpers --------------------------------------------------------------------------------------------


class Helpers:
    """Replacements for functions of torch_geometric, which take what these take."""

    def __init__(self, tracer: Tracer):
        self.t = tracer

    def graph(self, edge_index: Any) -> str:
        value = self.t.value(edge_index)
        if not isinstance(value, Edges):
            refuse("an edge_index is neither an argument of forward nor made of it" if edge_index is None or isinstance(edge_index, Tensor)
                   else f"a {type(edge_index).__name__} as the graph: pass an edge_index")
        return value.graph

    def ends(self, index: Any) -> Ends:
        value = self.t.value(index)
        if not isinstance(value, Ends):
            refuse("rows are grouped by numbers that are not those of edge_index")
        return value

    def with_loops(self, do: str, edge_index: Tensor, weight: Optional[Tensor], fill: Any = None) -> Tuple[Tensor, Optional[Tensor]]:
        t, graph = self.t, self.graph(edge_index)
        if weight is None:
            of = t.graphs[graph]
            if (do, of.get("do")) == ("loops", "no_loops"):  # as GATConv does
                graph, do = of["of"], "full_loops"
            return t.edge_index(graph, do), None
        if not isinstance(fill, (int, float, type(None))):
            refuse("weights of loops that are no number are no operation of capgnn: use fill_value=1.0")
        made = t.edge_index(graph, do, 1 if fill is None else fill)
        return made, followed(self.t, weight, self.graph(made))

    def add_self_loops(self, edge_index: Tensor, edge_attr: Any = None, fill_value: Any = None, num_nodes: Any = None) -> Any:
        return self.with_loops("loops", edge_index, edge_attr, fill_value)

    def add_remaining_self_loops(self, edge_index: Tensor, edge_attr: Any = None, fill_value: Any = None, num_nodes: Any = None) -> Any:
        return self.with_loops("full_loops", edge_index, edge_attr, fill_value)

    def remove_self_loops(self, edge_index: Tensor, edge_attr: Any = None) -> Any:
        return self.with_loops("no_loops", edge_index, edge_attr)

    def gcn_norm(self, edge_index: Tensor, edge_weight: Any = None, num_nodes: Any = None, improved: bool = False, add_self_loops: bool = True,
                 flow: str = "source_to_target", dtype: Any = None) -> Any:
        t = self.t
        if flow != "source_to_target":
            refuse("gcn_norm with flow='target_to_source' is no operation of capgnn: reverse the edges with flip(0)")
        if add_self_loops and edge_weight is None and improved:
            edge_index = t.edge_index(self.graph(edge_index), "full_loops", 2)
        elif add_self_loops:
            edge_index, edge_weight = self.with_loops("full_loops", edge_index, edge_weight, 2 if improved else 1)
        graph, node = self.graph(edge_index), None if edge_weight is None else t.node(edge_weight)
        if node is not None and t.number_of(node) is None and node.attributes.get("what") != "edge_weight":
            refuse("gcn_norm of weights that the model computes is no operation of capgnn: pass edge_weight of the data set")
        t.weighted.add(node is not None and t.number_of(node) is None)
        return edge_index, t.bind(t.empty(t.rows("E:" + graph, ())), t.constant("gcn_norm", "E:" + graph, graph))

    def get_laplacian(self, edge_index: Tensor, edge_weight: Any = None, normalization: Any = None, dtype: Any = None, num_nodes: Any = None) -> Any:
        refuse("get_laplacian is an operation of capgnn in ChebConv alone")

    def degree(self, index: Tensor, num_nodes: Any = None, dtype: Any = None) -> Tensor:
        ends = self.ends(index)
        return self.t.bind(self.t.empty(self.t.rows("V", ())), self.t.constant(("out_degree", "in_degree")[ends.side], "V", ends.graph))

    def softmax(self, src: Tensor, index: Any = None, ptr: Any = None, num_nodes: Any = None, dim: int = 0) -> Tensor:
        ends = self.ends(index)
        if ends.side == 0:
            refuse("softmax over out-edges is no operation of capgnn: use MessagePassing(flow='target_to_source')")
        node = self.t.whole(src, "E:" + ends.graph)
        return self.t.bind(self.t.empty(src.shape), self.t.emit("softmax_in", [node], node.shape, graph=ends.graph))

    def scatter(self, src: Tensor, index: Tensor, dim: int = 0, dim_size: Any = None, reduce: str = "sum") -> Tensor:
        if self.t.value(index) is not None and isinstance(self.t.value(index), Node) and self.t.number_of(self.t.node(index)) == 0:  # a batch of one graph
            return {"mean": src.mean, "sum": src.sum, "add": src.sum}.get(reduce, lambda *_, **__: refuse(f"{reduce} over all vertices is no operation of capgnn"))(0, keepdim=True)
        ends = self.ends(index)
        if dim % src.dim() != self.t.axis(src.shape):
            refuse("scatter along another axis than rows")
        return gathered(self.t, src, ends.graph, reduce, ends.side)

    def spmm(self, src: Tensor, other: Tensor, reduce: str = "sum") -> Tensor:
        return weighted_sum(self.t, self.graph(src), other, None, reduce)

    def maybe_num_nodes(self, *_: Any, **__: Any) -> int:
        return self.t.vertices

    def dropout_edge(self, edge_index: Tensor, *_: Any, **__: Any) -> Any:
        refuse("edges are dropped at random: drop features or hidden rows instead (F.dropout)")

    def cheb_norm(self, conv: Any, edge_index: Tensor, num_nodes: Any, edge_weight: Any, normalization: Any, lambda_max: Any = None, *_: Any, **__: Any) -> Any:
        """Minus D^-1/2 A D^-1/2 without loops, which is the scaled Laplacian of λ = 2."""
        if normalization != "sym" or edge_weight is not None or lambda_max is not None and self.t.number_of(self.t.node(lambda_max)) != 2:
            refuse("ChebConv is an operation of capgnn with normalization='sym', without edge_weight and lambda_max")
        edge_index, _ = self.remove_self_loops(edge_index)
        source, target = edge_index
        root = self.degree(source).pow(-0.5)
        root = root.masked_fill(root == float("inf"), 0)
        return edge_index, -(root[source] * root[target])

    # -- MessagePassing ----------------------------------------------------------------------------------------------

    def propagate(self, conv: Any, edge_index: Any, size: Any = None, **kwargs: Any) -> Tensor:
        edge_index, collect = self.collector(conv, edge_index, kwargs)
        out = conv.message(**collect(type(conv).message))
        out = conv.aggregate(out, **collect(type(conv).aggregate, 1))
        return conv.update(out, **collect(type(conv).update, 1))

    def edge_updater(self, conv: Any, edge_index: Any, size: Any = None, **kwargs: Any) -> Tensor:
        edge_index, collect = self.collector(conv, edge_index, kwargs)
        return conv.edge_update(**collect(type(conv).edge_update))

    def collector(self, conv: Any, edge_index: Tensor, kwargs: Dict[str, Any]) -> Tuple[Tensor, Callable[..., Dict[str, Any]]]:
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
            named = list(inspect.signature(func).parameters.items())[1 + skip:]
            return {k: argument(k, p, func) for k, p in named if p.kind not in (p.VAR_KEYWORD, p.VAR_POSITIONAL)}

        return edge_index, collect


class replaced:
    """Replaces torch_geometric's helpers by those of a tracer, in all modules that have imported them."""

    def __init__(self, tracer: Tracer, module: torch.nn.Module):
        self.helpers, self.module = Helpers(tracer), module
        self._undo: List[Tuple[Any, str, Any]] = []

    def __enter__(self) -> replaced:
        h = self.helpers
        functions = {id(getattr(utils, name)): getattr(h, name) for name in ("add_self_loops", "add_remaining_self_loops", "remove_self_loops", "degree", "softmax",
                                                                         "scatter", "spmm", "get_laplacian", "dropout_edge")}
        functions.update({id(utils.dropout_adj): h.dropout_edge, id(gcn_norm): h.gcn_norm, id(utils.num_nodes.maybe_num_nodes): h.maybe_num_nodes})
        for module in list(sys.modules.values()):
            if isinstance(module, ModuleType) and not module.__name__.startswith(("torch.", "numpy", __package__)):
                for name, value in list(vars(module).items()):
                    if id(value) in functions:
                        self._set(module, name, functions[id(value)])
        for kind in {kind for m in self.module.modules() for kind in type(m).__mro__ if issubclass(kind, MessagePassing)}:
            for name in ("propagate", "edge_updater"):
                if name in vars(kind):
                    self._set(kind, name, _method(getattr(h, name)))
        self._set(ChebConv, "__norm__", _method(h.cheb_norm))
        self._set(Aggregation, "__call__", lambda a, x, index=None, ptr=None, dim_size=None, dim=-2, **k: a.forward(x, index=index, ptr=None, dim_size=dim_size, dim=dim, **k))
        self._set(Aggregation, "assert_sorted_index", lambda *_: None)
        self._set(FusedAggregation, "forward", lambda a, x, index=None, ptr=None, dim_size=None, dim=-2:
                  [aggregation_resolver(k)(x, index, dim_size=dim_size, dim=dim) for k in a.aggr_names])
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
