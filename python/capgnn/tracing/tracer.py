"""A TorchFunctionMode under which a module runs once on meta tensors, and which writes down what it computes.

Meta tensors have shapes and no values, so sizes are numbers, and asserts, isinstance and loops over layers run; whoever asks for a value
gets an error. The rows of a tensor are told by their number, which nothing else has.
"""
from __future__ import annotations

import json
import linecache
import math
import os
import sys
from collections import Counter
from dataclasses import dataclass
from types import FrameType
from typing import Any, Callable, Dict, Iterator, List, Mapping, NoReturn, Optional, Sequence, Set, Tuple, Union

import torch
import torch_geometric
from torch import Tensor
from torch.overrides import TorchFunctionMode

from .nodes import Node

HERE = os.path.dirname(os.path.abspath(__file__))
PYG = os.path.dirname(os.path.abspath(torch_geometric.__file__))
LIBRARIES = (HERE, PYG, os.path.dirname(os.path.abspath(torch.__file__)), os.path.dirname(os.__file__) + os.sep + "contextlib", "<frozen", "<string>")


class TraceError(ValueError):
    """A module cannot be written as a program. Its text is one line: what, where, and what to do."""


def at_line(frames: Sequence[Tuple[str, int]]) -> Tuple[str, str]:
    """Returns the innermost line that is the user's ("net.py:31"), else torch_geometric's, and that line's text. Frames are innermost first."""
    mine = [f for f in frames if not f[0].startswith(LIBRARIES) and "torch_geometric.nn." not in f[0]] or [f for f in frames if f[0].startswith(PYG)]
    if not mine:
        return "", ""
    return f"{os.path.basename(mine[0][0])}:{mine[0][1]}", linecache.getline(*mine[0]).strip()


def refuse(what: str, frames: Optional[Sequence[Tuple[str, int]]] = None) -> NoReturn:
    """Raises TraceError at the user's line."""
    where, text = at_line(_frames() if frames is None else frames)
    raise TraceError(f"model: {what}" + (f"  ({where} `{text}`)" if where else ""))


def _frames() -> List[Tuple[str, int]]:
    """Returns files and lines of the calls that are running, from the innermost to forward."""
    out, frame = [], sys._getframe(1)  # type: Tuple[List[Tuple[str, int]], Optional[FrameType]]
    while frame is not None and frame.f_code is not Tracer.run.__code__:
        out.append((frame.f_code.co_filename, frame.f_lineno))
        frame = frame.f_back
    return out if frame is not None else []


@dataclass(frozen=True)
class Edges:
    """An edge_index, or a sparse matrix with a row for each target."""

    graph: str


@dataclass(frozen=True)
class Ends:
    """A row of an edge_index: sources (0) or targets (1)."""

    graph: str
    side: int


@dataclass(frozen=True)
class Mask:
    """Where values of a node are so (infinite, or op number); or, without a node, a tensor that must not be used. what is the error that says so."""

    node: Optional[Node]
    what: str
    op: str = ""
    number: float = 0


Value = Union[Node, Edges, Ends, Mask]

# Calls that ask for what shapes and types say, or change nothing that counts.
PLAIN = {"size", "dim", "numel", "is_floating_point", "stride", "len", "element_size", "is_complex", "get_device", "data_ptr", "nelement", "ndimension",
         "is_contiguous", "type", "is_sparse", "result_type", "hash", "is_tensor", "requires_grad", "manual_seed", "set_grad_enabled", "get_tracing_state",
         "is_storage", "is_nonzero", "bool", "float", "int", "item", "format", "repr", "tolist", "index"}
NUMBERS = {"ones": 1.0, "zeros": 0.0, "ones_like": 1.0, "zeros_like": 0.0, "new_ones": 1.0, "new_zeros": 0.0}
FILLS = {"full": 1, "full_like": 1, "new_full": 2, "fill": 1}  # and which argument is the number
RANDOM = ("rand", "randn", "rand_like", "randn_like", "randint", "randperm", "bernoulli", "normal", "uniform", "multinomial")


class Tracer(TorchFunctionMode):
    """Writes the nodes of one run.

    module: on the device meta
    vertices, edges: sizes that no other axis has; each further graph has 1000 edges more
    """

    handlers: Dict[str, Callable[..., Any]] = {}  # of torch's functions, by their names without underscores
    getters: Dict[Any, Callable[..., Any]] = {}  # of attributes that are tensors
    on_graph: Callable[..., Any]

    def __init__(self, module: torch.nn.Module, vertices: int, edges: int):
        super().__init__()
        self.vertices, self.edges = vertices, edges
        self.nodes: Dict[str, Node] = {}  # in the order of calls
        self.graphs: Dict[str, Dict[str, Any]] = {"g": {}}
        self.tensors: Dict[str, Node] = {}
        self.weighted: Set[bool] = set()  # whether edges have the weights of the data set, of all places where they may
        self.matrix = False  # whether the graph is multiplied with as a matrix
        self._sizes = {vertices: "V"}
        self._values: Dict[int, Value] = {}
        self._kept: List[Any] = []  # tensors whose id has a value
        self.permuted: Dict[str, Tuple[Node, List[int]]] = {}  # nodes that are others with their axes in this order
        self._made: Dict[str, Node] = {}
        self._count: Counter = Counter()
        self._names = {id(t): name for name, t in [*module.named_parameters(), *module.named_buffers()]}
        self._buffers = {id(t) for t in module.buffers()}
        self._indices: Dict[str, Tensor] = {}
        self.edge_index("g")

    def run(self, module: torch.nn.Module, arguments: Mapping[str, Any]) -> Any:
        """Returns what forward returns."""
        with self:
            return module(**arguments)

    # -- values ------------------------------------------------------------------------------------------------------

    def empty(self, shape: Sequence[int], dtype: torch.dtype = torch.float32) -> Tensor:
        with torch._C.DisableTorchFunction():
            return torch.empty(tuple(shape), dtype=dtype, device="meta")

    def bind(self, t: Tensor, value: Value) -> Tensor:
        self._values[id(t)] = value
        self._kept.append(t)
        return t

    def value(self, t: Any) -> Optional[Value]:
        return self._values.get(id(t)) if isinstance(t, Tensor) else None

    def knows(self, t: Any) -> bool:
        return isinstance(t, Tensor) and (id(t) in self._values or id(t) in self._names)

    def edge_index(self, graph: str, do: str = "", weight: float = 1) -> Tensor:
        """Returns the edge_index of a graph, or of one that is made of it. weight is that of loops which are added."""
        name = (f"{graph}.{do}" if do else graph) + (f"_{weight:g}" if weight != 1 else "")
        if name not in self._indices:
            if do:
                self.graphs[name] = {"of": graph, "do": do, **({"weight": weight} if weight != 1 else {})}
            size = self.edges + 1000 * len(self._indices)
            self._sizes[size] = "E:" + name
            self._indices[name] = self.bind(self.empty((2, size), torch.int64), Edges(name))
        return self._indices[name]

    def ends(self, graph: str, side: int) -> Tensor:
        return self.bind(self.empty(self._indices[graph].shape[1:], torch.int64), Ends(graph, side))

    def axis(self, shape: Sequence[int]) -> Optional[int]:
        """Returns the axis of rows of a shape, None without one."""
        found = [i for i, size in enumerate(shape) if size in self._sizes]
        if len(found) > 1:
            refuse("a number for each pair of vertices or edges is no operation of capgnn: aggregate over edges")
        return found[0] if found else None

    def space(self, shape: Sequence[int]) -> str:
        axis = self.axis(shape)
        return "G" if axis is None else self._sizes[shape[axis]]

    def behind(self, shape: Sequence[int]) -> Tuple[int, ...]:
        """Returns a shape without its rows."""
        axis = self.axis(shape)
        return tuple(size for i, size in enumerate(shape) if i != axis)

    def rows(self, space: str, shape: Sequence[int]) -> Tuple[int, ...]:
        """Returns the shape of a tensor whose rows come first."""
        return (*(size for size, of in self._sizes.items() if of == space), *shape)

    def node(self, t: Any) -> Node:
        """Returns the node of a tensor or number. Its shape may be smaller than the tensor's, if that only repeats it."""
        if not isinstance(t, Tensor):
            return self.number(t)
        value = self.value(t)
        if isinstance(value, Node):
            return value
        if value is not None:
            refuse(value.what if isinstance(value, Mask) else "an edge_index is used as numbers: pass it to a convolution or to propagate")
        name = self._names.get(id(t))
        if name is not None:
            return self.tensors.setdefault(name, Node(name, "tensor", shape=tuple(t.shape)))
        if t.device.type != "meta" and t.numel() == 1:
            with torch._C.DisableTorchFunction():
                return self.number(float(t))
        refuse(f"a tensor of shape {list(t.shape)} is neither an argument of forward nor a parameter or buffer: register_buffer makes it one")

    def whole(self, t: Any, space: str = "") -> Node:
        """Returns the node of a tensor in full shape, with a row for each vertex or edge if the tensor or space has them."""
        node, space = self.node(t), space or self.space(t.shape)
        shape = self.behind(t.shape)
        if len(node.shape) < len(shape):
            node = self.reshape(node, (1,) * (len(shape) - len(node.shape)) + node.shape)
        for axis, size in enumerate(shape):
            if node.shape[axis] != size:
                node = self.concat([node] * size, axis)
        if node.space != space:
            ones = self.constant("in_count", "V", "g") if space == "V" else self.constant("edge_weight", space, space[2:])
            node = self.mul([self.function("clamp", ones, low=1.0, high=1.0), node])
        return node

    # -- nodes -------------------------------------------------------------------------------------------------------

    def emit(self, op: str, inputs: Sequence[Node], shape: Sequence[int], space: Optional[str] = None, /, **attributes: Any) -> Node:
        """Appends a node, unless there is an equal one."""
        if space is None:
            spaces = {n.space for n in inputs} - {"G"}
            if len(spaces) > 1:
                refuse("values of vertices and of edges, or of edges of two graphs, meet in one operation")
            space = spaces.pop() if spaces else "G"
        names = tuple(n.name for n in inputs)
        key = json.dumps([op, names, attributes, space])
        if op == "dropout" or key not in self._made:
            self._count[op] += 1
            name = f"{op}{self._count[op]}"
            while name in self._names.values():
                name += "_"
            node = Node(name, op, names, attributes, space, tuple(shape), at_line(_frames())[0])
            self._made[key] = node
            self.nodes[name] = node
        return self._made[key]

    def number(self, v: Any) -> Node:
        v = float(v)
        if not math.isfinite(v):
            refuse(f"the number {v} is no number that a file holds")
        if v == self.vertices:
            return self.emit("const", [], (), what="vertices")
        if v in self._sizes:
            refuse("the number of edges is used as a number")
        return self.emit("const", [], (), what="number", value=v)

    def number_of(self, node: Node) -> Optional[float]:
        """Returns the value of a node that is a number."""
        return node.attributes["value"] if node.attributes.get("what") == "number" else None

    def constant(self, what: str, space: str, graph: str) -> Node:
        """Returns a number for each vertex or edge that the graph determines."""
        return self.emit("const", [], (), space, graph=graph, what=what)

    def reshape(self, node: Node, shape: Sequence[int]) -> Node:
        if node.op == "reshape":
            node = self.named(node.inputs[0])
        return node if tuple(shape) == node.shape else self.emit("reshape", [node], shape, shape=list(shape))

    def scale(self, node: Node, c: float) -> Node:
        return self.add([node], [c])

    def add(self, nodes: Sequence[Node], c: Sequence[float]) -> Node:
        """Returns the sum of c·node. Terms that only scale a node are joined."""
        terms = [(self.named(n.inputs[0]), k * n.attributes["coef"][0]) if n.op == "add" and len(n.inputs) == 1 else (n, k) for n, k in zip(nodes, c)]
        nodes, c = [n for n, _ in terms], [float(k) for _, k in terms]
        if c == [1.0]:
            return nodes[0]
        return self.joined("add", nodes, **({} if set(c) == {1.0} else {"coef": c}))

    def mul(self, nodes: Sequence[Node]) -> Node:
        for x, y in (nodes, reversed(nodes)):
            number = self.number_of(x)
            if number is not None:
                return self.scale(y, number)
        return self.joined("mul", nodes)

    def div(self, a: Node, b: Node) -> Node:
        number = self.number_of(b)
        return self.scale(a, 1 / number) if number else self.joined("div", [a, b])

    def joined(self, op: str, nodes: Sequence[Node], **attributes: Any) -> Node:
        """Returns a node whose inputs are broadcast, without reshapes that only put ones before a shape."""
        shape = torch.broadcast_shapes(*(n.shape for n in nodes))
        inputs = list(nodes)
        for i, n in enumerate(nodes):
            below = self.named(n.inputs[0]) if n.op == "reshape" else n
            ones = len(n.shape) - len(below.shape)
            if ones > 0 and n.shape == (1,) * ones + below.shape and torch.broadcast_shapes(*(m.shape for m in [*inputs[:i], below, *inputs[i + 1:]])) == shape:
                inputs[i] = below
        return self.emit(op, inputs, shape, **attributes)

    def function(self, name: str, node: Node, **attributes: Any) -> Node:
        return self.emit(name, [node], node.shape, **attributes)

    def concat(self, nodes: Sequence[Node], axis: int) -> Node:
        shape = list(nodes[0].shape)
        shape[axis] = sum(n.shape[axis] for n in nodes)
        return nodes[0] if len(nodes) == 1 else self.emit("concat", nodes, shape, axis=axis)

    def fold(self, how: str, node: Node, axis: int) -> Node:
        """Returns sum, mean, max or softmax along an axis behind the row, which all but softmax remove."""
        shape = node.shape if how == "softmax" else node.shape[:axis] + node.shape[axis + 1:]
        return self.emit("fold", [node], shape, how=how, axis=axis)

    def permute(self, node: Node, axes: Sequence[int]) -> Node:
        """Returns a node with the axes behind the row in another order: a product with 1."""
        if node.name in self.permuted:
            node, before = self.permuted[node.name]
            axes = [before[i] for i in axes]
        if list(axes) == sorted(axes):
            return node
        letters, row = "ijklmopq"[:len(axes)], "n" * (node.space != "G")
        out = self.emit("product", [node, self.number(1)], [node.shape[i] for i in axes], spec=f"{row}{letters},->{row}{''.join(letters[i] for i in axes)}")
        self.permuted[out.name] = node, list(axes)
        return out

    def named(self, name: str) -> Node:
        return self.tensors[name] if name in self.tensors else self.nodes[name]

    # -- calls -------------------------------------------------------------------------------------------------------

    def __torch_function__(self, func: Any, types: Any, args: Tuple[Any, ...] = (), kwargs: Optional[Dict[str, Any]] = None) -> Any:
        kwargs = dict(kwargs or {})
        name = getattr(func, "__name__", str(func))
        base = name.strip("_")
        if base in RANDOM:
            refuse("random numbers are drawn inside the model: dropout is the only random operation of capgnn")
        if base in NUMBERS or base in FILLS or base in ("empty", "arange", "eye", "new_empty", "empty_like"):
            return self._create(func, base, args, kwargs)
        tensors = [t for t in _flat((args, kwargs)) if self.knows(t)]
        handler = self.getters.get(func) if name == "__get__" else self.handlers.get(base)
        if not tensors or (name.startswith("__") and base in PLAIN) or (handler is None and base in PLAIN) or name == "__get__" and handler is None:
            return func(*args, **kwargs)
        if name.endswith("_") and args and id(args[0]) in self._buffers:
            return func(*args, **kwargs)  # a counter of batches
        for t in tensors:
            if isinstance(self.value(t), (Edges, Ends)):
                return self.on_graph(func, base, args, kwargs, self.value(t))
        if handler is None:
            refuse(f"torch's {base} is no operation of capgnn")
        if base == "getitem" and isinstance(self.value(args[1]), Mask):
            refuse(self.value(args[1]).what)  # type: ignore[union-attr]
        out = func(*args, **kwargs)
        if kwargs.pop("out", None) is not None:
            refuse(f"torch's {base} with out= is no operation of capgnn")
        made = handler(self, out, *args, **kwargs)
        if isinstance(made, (list, tuple)):
            for t, node in zip(out, made):
                self.bind(t, node)
        elif made is not None:
            self.bind(out, made)
        return out

    def _create(self, func: Any, base: str, args: Tuple[Any, ...], kwargs: Dict[str, Any]) -> Any:
        """Makes a tensor on the device meta, and knows of its number if it has one."""
        kwargs = kwargs if base == "fill" else {**kwargs, "device": "meta"}
        out = func(*args, **kwargs)
        if base in NUMBERS:
            self.bind(out, self.number(NUMBERS[base]))
        elif base in FILLS:
            at = FILLS[base]
            self.bind(out, self.number(args[at] if len(args) > at else kwargs.get("fill_value", kwargs.get("value"))))
        return out


def _flat(a: Any) -> Iterator[Any]:
    """Yields what lists, tuples and dicts hold."""
    if isinstance(a, (list, tuple)):
        for x in a:
            yield from _flat(x)
    elif isinstance(a, dict):
        yield from _flat(list(a.values()))
    else:
        yield a


def calls(*names: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Makes a function the handler of torch's functions of these names: it is given the tracer, what torch returned, and torch's arguments."""
    def register(f: Callable[..., Any]) -> Callable[..., Any]:
        Tracer.handlers.update(dict.fromkeys(names, f))
        return f
    return register
