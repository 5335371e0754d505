"""What moves between vertices and edges writes, and torch's calls on an edge_index."""

from __future__ import annotations

from typing import Any, Dict, List, Optional, Tuple

import torch
from torch import Tensor

from .elementwise import aligned
from .errors import lacks, refuse
from .tracer import Edges, Ends, Mask, Tracer, Value

BY_HAND = (
    "an edge_index is put together by hand: make the graph before, or use add_self_loops, remove_self_loops or flip(0)"
)
PRODUCTS = ("matmul", "mm", "spmm", "smm", "sparse_mm", "mv")


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
        lacks(f"{how} over neighbours", "sum, mean, max and min are")
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
    return gathered(t, t.made(row.shape, node), graph, how)


def data_weight(t: Tracer, graph: str) -> Tensor:
    """Returns the weights of the data set as edges of a graph."""
    t.weighted.add(True)
    return t.number_of_each("edge_weight", "E:" + graph, graph)


def followed(t: Tracer, weight: Optional[Tensor], graph: str) -> Optional[Tensor]:
    """Returns weights of edges as those of a graph that was made of theirs."""
    if weight is None:
        return None
    node = t.node(weight)
    if node.op == "reshape":
        node = t.named(node.inputs[0])
    if t.number_of(node) is not None and t.number_of(node) == t.graphs[graph].get("weight", 1):
        return t.made(t.rows("E:" + graph, weight.shape[1:]), node)
    if node.attributes.get("what") == "edge_weight":
        weights = t.reshape(t.node(data_weight(t, graph)), weight.shape[1:])
        return t.made(t.rows("E:" + graph, weight.shape[1:]), weights)
    refuse("loops are added to edges that have values: add or remove loops first, then compute values of edges")


def on_graph(t: Tracer, func: Any, base: str, args: Tuple[Any, ...], kwargs: Dict[str, Any], value: Value) -> Any:
    """Answers a call of torch on an edge_index or one of its rows."""
    first = t.value(args[0])
    if base in ("cat", "stack", "vstack"):
        return stacked(t, [t.value(x) for x in args[0]])
    if isinstance(first, Edges):
        return of_edges(t, base, args, first.graph)
    if base in ("getitem", "index_select"):
        of = t.value(args[-1])
        if isinstance(of, Ends) and not isinstance(first, Ends):
            return moved(t, args[0], of.graph, of.side)
    if base in ("index_add", "scatter_add", "scatter_reduce"):
        out = added(t, *args, **kwargs)
        return t.bind(args[0], t.node(out)) if func.__name__.endswith("_") else out
    if base in ("view", "expand", "expand_as", "unsqueeze", "contiguous", "long", "to"):
        shape = args[0].shape if base in ("long", "to") else func(*args, **kwargs).shape
        return t.bind(t.empty(shape, torch.int64), value)
    if base in ("eq", "ne", "gt", "lt"):
        other = t.value(args[1])
        same = base == "eq" and isinstance(first, Ends) and isinstance(other, Ends) and first.graph == other.graph
        loops = first.graph if same and t.graphs[first.graph].get("do") == "full_loops" else ""
        what = "edges are compared inside the model: make the graph before"
        return t.bind(func(*args, **kwargs), Mask(None, what, loops=loops))
    lacks(f"torch's {base} of the rows of an edge_index", "pass them to degree, softmax, scatter or propagate")


Tracer.on_graph = on_graph


def on_loops(t: Tracer, graph: str, x: Tensor, mask: Tensor, value: Any = None) -> Optional[Tensor]:
    """Returns a row of x, which has one for each edge, for each vertex: that of its loop; or gives it another value."""
    node = t.whole(x, "E:" + graph)
    is_loop = t.reshape(t.constant("loop", "E:" + graph, graph), (1,) * len(node.shape))
    if value is None and node.op in ("src", "dst"):
        return t.made(shaped(t, x, "V").shape, t.named(node.inputs[0]))
    if value is None:
        loops = t.emit("sum_in", [t.mul([is_loop, node])], node.shape, "V", graph=graph)
        return t.made(shaped(t, x, "V").shape, loops)
    per_vertex = isinstance(value, Tensor) and t.space(value.shape) == "V"
    other = t.node(moved(t, value, graph, 1) if per_vertex else value)
    t.bind(x, t.add([node, t.mul([is_loop, t.add([other, node], [1, -1])])], [1, 1]))
    return None


Tracer.on_loops = on_loops


def of_edges(t: Tracer, base: str, args: Tuple[Any, ...], graph: str) -> Any:
    """Answers a call on an edge_index, or on a sparse matrix in its place."""
    if base in ("unbind", "iter"):
        rows = [t.ends(graph, 0), t.ends(graph, 1)]
        return iter(rows) if base == "iter" else rows
    if base == "getitem" and args[1] in (0, 1, -1, -2):
        return t.ends(graph, args[1] % 2)
    if (base, *args[1:]) in (("flip", 0), ("flip", [0]), ("flip", (0,)), ("getitem", [1, 0])):
        return reverse(t, graph)
    if base in ("to", "contiguous", "clone", "long", "detach", "coalesce", "cpu", "cuda"):
        return args[0]
    if base in PRODUCTS:  # the matrix was made outside, so its values are weights of edges
        t.matrix = True
        return weighted_sum(t, graph, args[1], data_weight(t, graph))
    if base in ("eq", "ne", "setitem"):
        refuse(BY_HAND)
    lacks(f"torch's {base} of an edge_index", "pass it to a convolution or to propagate")


def stacked(t: Tracer, rows: List[Optional[Value]]) -> Tensor:
    """Returns the edge_index that two rows make."""
    a, b = rows if len(rows) == 2 else (None, None)
    if not (isinstance(a, Ends) and isinstance(b, Ends) and a.graph == b.graph and a.side != b.side):
        refuse(BY_HAND)
    return t.edge_index(a.graph) if a.side == 0 else reverse(t, a.graph)


def added(
    t: Tracer, x: Tensor, dim: int, index: Tensor, src: Any = None, reduce: str = "sum", *, source: Any = None,
    include_self: bool = True
) -> Tensor:
    """Returns what index_add, scatter_add and scatter_reduce make."""
    src, of = source if src is None else src, t.value(index)
    if not isinstance(of, Ends) or not isinstance(src, Tensor) or dim % x.dim() != t.axis(x.shape):
        lacks("a sum by other numbers than those of edge_index, or along another axis than rows")
    if reduce != "sum" and include_self:
        lacks(f"{reduce} of neighbours and what is there", "use include_self=False")
    out = gathered(t, src, of.graph, {"amax": "max", "amin": "min"}.get(reduce, reduce), of.side)
    if t.number_of(t.node(x)) == 0 or not include_self:
        return out
    return t.made(out.shape, t.add([aligned(t, out, x), t.node(out)], [1, 1]))


def reverse(t: Tracer, graph: str) -> Tensor:
    made = t.graphs[graph]
    return t.edge_index(made["of"]) if made.get("do") == "reverse" else t.edge_index(graph, "reverse")
