"""A TorchFunctionMode under which a module runs once on meta tensors, and which writes down what it computes.

Meta tensors have shapes and no values, so sizes are numbers, and asserts, isinstance and loops over layers run;
whoever asks for a value gets an error. The rows of a tensor are told by their number, which nothing else has.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Callable, Dict, Iterator, List, Mapping, Optional, Sequence, Set, Tuple, Union

import torch
from torch import Tensor
from torch.overrides import TorchFunctionMode

from .builder import Builder
from .errors import changes, lacks, refuse
from .nodes import Node


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
    """Where values of a node are so (infinite, or op number), or edges are loops; without either, what must not be used.

    With op "order" it is the numbers of all rows, in their order.

    what: the error of whoever uses it
    loops: the graph whose loops they are, one at each vertex
    """

    node: Optional[Node]
    what: str
    op: str = ""
    number: float = 0
    loops: str = ""


Value = Union[Node, Edges, Ends, Mask]

IN_ORDER = "numbers of vertices are computed with: they only pick rows in their order"

# Calls that ask for what shapes and types say, or change nothing that counts.
PLAIN = (
    "size dim numel is_floating_point stride len element_size is_complex get_device data_ptr nelement "
    "ndimension is_contiguous type is_sparse result_type hash is_tensor requires_grad manual_seed "
    "set_grad_enabled get_tracing_state is_storage is_nonzero bool float int item format repr tolist "
    "index"
).split()
NUMBERS = {"ones": 1.0, "zeros": 0.0, "ones_like": 1.0, "zeros_like": 0.0, "new_ones": 1.0, "new_zeros": 0.0}
FILLS = {"full": 1, "full_like": 1, "new_full": 2, "fill": 1}  # and which argument is the number
IN_PLACE = {f"__{op}__" for op in "setitem iadd isub imul itruediv ifloordiv ipow iand ior ixor".split()}
RANDOM = "rand randn rand_like randn_like randint randperm bernoulli normal uniform multinomial".split()


class Tracer(Builder, TorchFunctionMode):
    """Writes the nodes of one run.

    module: on the device meta
    scalars: buffers of one number, which are numbers in the program
    vertices, edges: sizes that no other axis has; each further graph has 1000 edges more
    """

    handlers: Dict[str, Callable[..., Any]] = {}  # of torch's functions, by their names without underscores
    getters: Dict[Any, Callable[..., Any]] = {}  # of attributes that are tensors
    on_graph: Callable[..., Any]
    on_loops: Callable[..., Any]

    def __init__(self, module: torch.nn.Module, scalars: Dict[str, float], vertices: int, edges: int):
        self.scalars = scalars
        named = [*module.named_parameters(), *module.named_buffers()]
        self._names = {id(t): name for name, t in named}
        super().__init__(set(self._names.values()), vertices, edges)
        self._buffers = {id(t) for t in module.buffers()}
        self._held = {storage(t): (name, t) for name, t in named}
        self.matrix = False  # whether the graph is multiplied with as a matrix
        self._values: Dict[int, Value] = {}
        self._kept: List[Any] = []  # tensors whose id has a value
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

    def made(self, shape: Sequence[int], value: Value) -> Tensor:
        """Returns an empty tensor that has a value."""
        return self.bind(self.empty(shape), value)

    def number_of_each(self, what: str, space: str, graph: str) -> Tensor:
        """Returns a constant of vertices or edges as a tensor."""
        return self.made(self.rows(space, ()), self.constant(what, space, graph))

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
            lacks("a number for each pair of vertices or edges", "aggregate over edges")
        return found[0] if found else None

    def space(self, shape: Sequence[int]) -> str:
        axis = self.axis(shape)
        return "G" if axis is None else self._sizes[shape[axis]]

    def behind(self, shape: Sequence[int]) -> Tuple[int, ...]:
        """Returns a shape without its rows."""
        axis = self.axis(shape)
        return tuple(size for i, size in enumerate(shape) if i != axis)

    def place(self, shape: Sequence[int], axis: int) -> int:
        """Returns where an axis of a shape is behind the rows."""
        rows = self.axis(shape)
        return axis - (rows is not None and axis > rows)

    def rows(self, space: str, shape: Sequence[int]) -> Tuple[int, ...]:
        """Returns the shape of a tensor whose rows come first."""
        return (*(size for size, of in self._sizes.items() if of == space), *shape)

    def node(self, t: Any) -> Node:
        """Returns the node of a tensor or number. A tensor that only repeats it has a larger shape."""
        if not isinstance(t, Tensor):
            return self.number(t)
        value = self.value(t)
        if isinstance(value, Node):
            return value
        if value is not None:
            numbers = "an edge_index is used as numbers: pass it to a convolution or to propagate"
            refuse(value.what if isinstance(value, Mask) else numbers)
        name = self._names.get(id(t))
        if name in self.scalars:
            return self.number(self.scalars[name])
        if name is not None:
            return self.tensor(t) if t.requires_grad else self.function("stop", self.tensor(t))
        if t.device.type != "meta" and t.numel() == 1:
            with torch._C.DisableTorchFunction():
                return self.number(float(t))
        refuse(f"a tensor of shape {[*t.shape]} is neither an argument of forward nor a parameter: use register_buffer")

    def tensor(self, t: Tensor) -> Node:
        """Returns a parameter or buffer of the module."""
        name = self._names[id(t)]
        return self.tensors.setdefault(name, Node(name, "tensor", shape=tuple(t.shape)))

    def whole(self, t: Any, space: str = "") -> Node:
        """Returns the node of a tensor in full shape, with rows if the tensor or space has them."""
        node, space = self.node(t), space or self.space(t.shape)
        shape = self.behind(t.shape)
        if len(node.shape) < len(shape):
            node = self.reshape(node, (1,) * (len(shape) - len(node.shape)) + node.shape)
        for axis, size in enumerate(shape):
            if node.shape[axis] != size:
                node = self.concat([node] * size, axis)
        if node.space != space:
            what, graph = ("in_count", "g") if space == "V" else ("edge_weight", space[2:])
            node = self.mul([self.function("clamp", self.constant(what, space, graph), low=1.0, high=1.0), node])
        return node

    # -- calls -------------------------------------------------------------------------------------------------------

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = dict(kwargs or {})
        name = getattr(func, "__name__", str(func))
        base = name.strip("_")
        if base in RANDOM:
            refuse("random numbers are drawn inside the model: dropout is the only random operation of capgnn")
        self._leaves(func, name, args, kwargs)
        if base in NUMBERS or base in FILLS or base in ("empty", "arange", "eye", "new_empty", "empty_like"):
            return self._create(func, base, args, kwargs)
        tensors = [t for t in _flat((args, kwargs)) if self.knows(t)]
        handler = self.getters.get(func) if name == "__get__" else self.handlers.get(base)
        plain = base == "get" or base in PLAIN
        counts = name.endswith("_") and args and id(args[0]) in self._buffers  # batches, as BatchNorm does
        if not tensors or counts or plain and (handler is None or name.startswith("__") and base != "get"):
            return func(*args, **kwargs)
        for t in tensors:
            if isinstance(self.value(t), (Edges, Ends)):
                return self.on_graph(func, base, args, kwargs, self.value(t))
        if handler is None:
            lacks(f"torch's {base}")
        mask = self.value(args[1]) if base in ("getitem", "setitem") else None
        if isinstance(mask, Mask) and mask.loops:
            return self.on_loops(mask.loops, *args)
        if base == "getitem" and isinstance(mask, Mask) and mask.op != "order":
            refuse(mask.what)
        if base == "getitem" and getattr(args[1], "dtype", None) == torch.bool and self.number_of(self.node(args[1])) == 1:
            base, handler, func = "reshape", self.handlers["reshape"], torch.reshape  # all rows
            args = (args[0], (-1, *args[0].shape[args[1].dim() :]))
        out = func(*args, **kwargs)
        if kwargs.pop("out", None) is not None:
            lacks(f"torch's {base} with out=")
        made = handler(self, out, *args, **kwargs)
        if isinstance(made, (list, tuple)):
            for t, node in zip(out, made):
                self.bind(t, node)
        elif made is not None:
            self.bind(out, made)
        return out

    def _leaves(self, func: Any, name: str, args: Tuple[Any, ...], kwargs: Dict[str, Any]) -> None:
        """Refuses a call that changes a parameter or a buffer, but for the count of batches of BatchNorm."""
        inside = name.endswith("_") and not name.endswith("__") and name != "requires_grad_"
        data = func == torch.Tensor.data.__set__  # type: ignore[attr-defined]
        changed = args[0] if args and (inside or data or name in IN_PLACE) else kwargs.get("out")
        name, of = self._held.get(storage(changed), ("", None)) if isinstance(changed, Tensor) else ("", None)
        if name and not name.endswith("num_batches_tracked"):
            refuse(changes("buffer" if id(of) in self._buffers else "parameter", name))

    def _create(self, func: Any, base: str, args: Tuple[Any, ...], kwargs: Dict[str, Any]) -> Any:
        """Makes a tensor on the device meta, and knows of its number if it has one."""
        kwargs = kwargs if base == "fill" else {**kwargs, "device": "meta"}
        out = func(*args, **kwargs)
        if base == "arange" and args == (self.vertices,):
            self.bind(out, Mask(None, IN_ORDER, "order"))
        elif base in NUMBERS:
            self.bind(out, self.number(NUMBERS[base]))
        elif base in FILLS:
            at = FILLS[base]
            self.bind(out, self.number(args[at] if len(args) > at else kwargs.get("fill_value", kwargs.get("value"))))
        return out


def storage(t: Tensor) -> int:
    """Returns what tells the memory of a tensor and of its views from that of others."""
    return t.untyped_storage()._cdata if t.layout == torch.strided else id(t)


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
    """Makes a function the handler of torch's functions of these names.

    It is given the tracer, what torch returned, and torch's arguments, and returns the node of the result.
    """

    def register(f: Callable[..., Any]) -> Callable[..., Any]:
        Tracer.handlers.update(dict.fromkeys(names, f))
        return f

    return register
