"""A module of torch_geometric becomes a program, which is proved against it before anybody uses it."""
from __future__ import annotations

import copy
import inspect
import os
import traceback
import warnings
from typing import Any, Callable, Dict, List, Mapping, Optional, Sequence, Tuple

import numpy as np
import torch
from torch import Tensor
from torch.overrides import TorchFunctionMode

from ..given import held_by
from ..store import read_store
from . import arithmetic, shapes  # noqa: F401 the handlers of torch's functions
from .edges import CHOSEN, data_weight, replaced
from .interpret import Interpreter
from .nodes import Node, Program
from .tracer import Mask, TraceError, Tracer, refuse

# SIZES are the numbers of vertices and edges of two traces, which no width is: programs that differ hold a size as a number.
SIZES = ((1_000_003, 3_000_017), (2_000_003, 7_000_003))
# TOLERANCE is the largest difference between program and module, in parts of the largest value: float64, and sums in another order.
TOLERANCE = 1e-9
# The names under which forward takes its arguments.
FEATURES = ("x", "x_in", "feat", "feats", "feature", "features", "node_feat", "in_feat", "h", "inputs", "input")
GRAPHS = ("edge_index", "edge_indices", "edges", "adj", "adj_t", "A", "g")
WEIGHTS = ("edge_weight", "edge_weights")
HOLDERS = ("data", "graph", "batch_data", "dataset")
CHOICES = tuple(f"{name}_{end}" for name in ("train", "val", "test") for end in ("mask", "idx"))
LOOKS = "forward looks at values: an if or a loop depends on data"


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


def trace(module: torch.nn.Module, data: Any) -> Program:
    """Returns the program of a module's forward, proved on a small random graph: logits and gradients are those of the module.

    module: a torch module that takes x and edge_index, edge_weight if the data have it, or one object with them; it is not changed
    data: a graph as `train` takes it, of which x and edge_weight are looked at, or a store
    raises: TraceError, which names the line of forward that capgnn has no operation for
    """
    features, weighted = width_of(data)
    program, other = (forward_of(module, features, weighted, True, *sizes) for sizes in SIZES)
    for a, b in zip(program.nodes, other.nodes):
        if (str(a), a.shape) != (str(b), b.shape):
            raise TraceError(f"model: {a}: the number of vertices or edges is within a number: use mean() or sum() over vertices  ({a.line})")
    program.weights = {name: t.detach() for name, t in module.state_dict(keep_vars=True).items() if name in program.tensors}
    program.weights.update({name: t.detach() for name, t in module.named_buffers() if name in program.tensors})
    prove(program, module, True)
    try:
        prove(program, module, False)
    except TraceError as e:
        evaluated = forward_of(module, features, weighted, False, *SIZES[0])
        line = next((a[1] for a, b in zip(undropped(program), undropped(evaluated)) if a[0] != b[0]), "")
        raise TraceError(f"model: forward computes something else in eval mode than in train mode: only dropout and BatchNorm may differ  ({line})") from e
    return program


def width_of(data: Any) -> Tuple[int, bool]:
    """Returns the columns of x, and whether edges have weights."""
    if isinstance(data, (str, os.PathLike)):
        store = read_store(data)
        shape = store["x"].shape if "x" in store else store.get("x_shape")
        weighted = "weights" in store
    else:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # to_store says what is not read
            held = held_by(data)
        shape, weighted = np.shape(held["x"]) if "x" in held else None, held.get("edge_weight") is not None
    if shape is None or len(shape) != 2:
        raise ValueError("x: the data have no features [vertices, columns]")
    return int(shape[1]), weighted


def undropped(program: Program) -> List[Tuple[str, str]]:
    """Returns what nodes compute without dropout, whatever they are called, and their lines."""
    known: Dict[str, str] = {}
    out = []
    for n in program.nodes:
        inputs = [known.get(i, i) for i in n.inputs]
        if n.op == "dropout":
            known[n.name] = inputs[0]
            continue
        known[n.name] = f"%{len(out)}"
        out.append((f"{n.op} {inputs} {n.attributes} {n.shape}", n.line))
    return out


def forward_of(module: torch.nn.Module, features: int, weighted: bool, training: bool, vertices: int, edges: int) -> Program:
    """Runs forward once on meta tensors."""
    if any(isinstance(p, torch.nn.parameter.UninitializedParameter) for p in module.parameters()):
        raise TraceError("model: parameters have no shape yet: call the module once with the data, or say in_channels")
    module = copy.deepcopy(module).to("meta").train(training)
    t = Tracer(module, vertices, edges)
    x = t.bind(t.empty((vertices, features)), t.emit("input", [], (features,), "V"))
    weight = data_weight(t, "g") if weighted else None
    t.weighted.clear()
    chosen = {name: t.bind(t.empty((vertices,), torch.bool), Mask(None, CHOSEN)) for name in CHOICES}
    labels = t.bind(t.empty((vertices,), torch.int64), Mask(None, "forward reads the labels: capgnn has the loss"))
    batch = t.bind(t.empty((vertices,), torch.int64), t.number(0))  # of one graph
    try:
        arguments = arguments_of(module, x, t.edge_index("g"), weight, {**chosen, "y": labels, "batch": batch})
        with replaced(t, module):
            out = t.run(module, arguments)
        return finished(t, module, out, features)
    except TraceError:
        raise
    except Exception as e:
        frames = [(f.filename, f.lineno or 0) for f in reversed(traceback.extract_tb(e.__traceback__))]
        text = str(e).splitlines()[0] if str(e) else ""
        if any(word in str(e) for word in ("meta tensor", "data-dependent", "_local_scalar_dense", "Cannot copy out")):
            refuse(LOOKS, frames)
        refuse(f"forward does not run: {type(e).__name__}: {text}", frames)


def arguments_of(module: torch.nn.Module, x: Any, graph: Any, weight: Any, more: Mapping[str, Any]) -> Dict[str, Any]:
    """Returns what forward takes, by the names of its parameters: features, the graph, weights, or an object that has all."""
    held = {"x": x, "node_feat": x, "edge_index": graph, "adj_t": graph, "num_nodes": x.shape[0], "edge_weight": weight, "edge_attr": None, **more}
    out: Dict[str, Any] = {}
    parameters = [p for p in inspect.signature(module.forward).parameters.values() if p.kind not in (p.VAR_POSITIONAL, p.VAR_KEYWORD)]
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
            raise TraceError(f"model: forward takes {p.name!r}, which capgnn does not give: it gives x, edge_index and edge_weight")
    return out


def finished(t: Tracer, module: torch.nn.Module, out: Any, features: int) -> Program:
    """Returns the program whose logits are what forward has returned, or the first of several."""
    several = out if isinstance(out, (tuple, list)) else [out]
    values = [x for x in several if isinstance(x, Tensor) and t.axis(x.shape) == 0 and t.space(x.shape) == "V"]
    if not values or len(values[0].shape) != 2:
        given = [list(t.behind(x.shape)) if isinstance(x, Tensor) else type(x).__name__ for x in several]
        raise TraceError(f"model: forward does not return a row of logits for every vertex, but {given[0]}")
    logits = t.whole(values[0], "V")
    ends = ""
    if logits.op == "log":  # of a softmax: the loss has it
        below = t.named(logits.inputs[0])
        if below.op == "fold" and below.attributes["how"] == "softmax":
            logits, ends = t.named(below.inputs[0]), "log_softmax"
    if t.weighted == {True, False}:
        raise TraceError("model: some convolutions have edge_weight and others not: give it to all of them, or to none")
    order = [name for name, _ in [*module.named_parameters(), *module.named_buffers()]]
    tensors = {name: t.tensors[name].shape for name in [*module.state_dict(), *order] if name in t.tensors}
    program = Program(type(module).__name__, features, t.graphs, list(t.nodes.values()), tensors, logits.name)
    program.weighted, program.matrix, program.ends = True in t.weighted, t.matrix, ends
    return program


# -- proof -----------------------------------------------------------------------------------------------------------------


class Undropped(TorchFunctionMode):
    """Dropout drops nothing."""

    def __torch_function__(self, func: Callable[..., Any], types: Any, args: Sequence[Any] = (), kwargs: Optional[Mapping[str, Any]] = None) -> Any:
        if getattr(func, "__name__", "").strip("_") in ("dropout", "feature_dropout", "alpha_dropout"):
            return args[0] if args else (kwargs or {})["input"]
        return func(*args, **(kwargs or {}))


def random_graph(features: int, n: int = 40, edges: int = 150) -> Tuple[Tensor, Tensor, Tensor]:
    """Returns x, edge_index and weights of a directed graph with loops, vertices that have no edges, and some that have only in-edges."""
    r = np.random.default_rng(5)
    pairs = r.choice((n - 6) * (n - 2), edges, replace=False)
    source, target = pairs % (n - 6), pairs // (n - 6)
    target[:4] = source[:4]
    source, target = np.unique(np.stack([source, target]), axis=1)[:, r.permutation(len(np.unique(source * n + target)))]
    return (torch.from_numpy(r.standard_normal((n, features))), torch.from_numpy(np.stack([source, target])),
            torch.from_numpy(r.uniform(0.5, 2, len(source))))


def prove(program: Program, module: torch.nn.Module, training: bool) -> None:
    """Compares logits and gradients of a program with those of its module, in float64. Raises TraceError where they differ."""
    x, edge_index, weight = random_graph(program.features)
    given = weight if program.weighted else None
    graph = edge_index
    if program.matrix:
        graph = torch.sparse_coo_tensor(edge_index.flip(0), torch.ones_like(weight) if given is None else given, (len(x), len(x))).coalesce()
    copied, default = spread(copy.deepcopy(module).double(), training), torch.get_default_dtype()
    tensors = {name: p for name, p in [*copied.named_parameters(), *copied.named_buffers()]}
    leaves = {name: p.detach().clone().requires_grad_(p.requires_grad) for name, p in tensors.items()}
    torch.set_default_dtype(torch.float64)
    try:
        with Undropped():
            out = copied(**arguments_of(copied, x, graph, given, {"batch": torch.zeros(len(x), dtype=torch.int64)}))
    except Exception as e:
        raise TraceError(f"model: forward does not run on a random graph of {len(x)} vertices: {type(e).__name__}: {str(e).splitlines()[0] if str(e) else ''}") from e
    finally:
        torch.set_default_dtype(default)
    out = next(v for v in out if isinstance(v, Tensor)) if isinstance(out, (tuple, list)) else out
    ours = Interpreter(program, x, edge_index, given, training).run(leaves)
    ours = ours.log_softmax(-1) if program.ends else ours
    compare("logits", ours, out)
    direction = torch.randn(out.shape, generator=torch.Generator().manual_seed(7), dtype=out.dtype)
    wanted = [name for name, p in tensors.items() if p.requires_grad]
    want = torch.autograd.grad((out * direction).sum(), [tensors[name] for name in wanted], allow_unused=True)
    got = torch.autograd.grad((ours * direction).sum(), [leaves[name] for name in wanted], allow_unused=True)
    for name, a, b in zip(wanted, got, want):
        compare(f"the gradient of {name}", torch.zeros_like(leaves[name]) if a is None else a, torch.zeros_like(leaves[name]) if b is None else b)


def spread(module: torch.nn.Module, training: bool) -> torch.nn.Module:
    """Moves weights and running statistics, so that none is where it hides an error, as 0 or 1."""
    generator = torch.Generator().manual_seed(3)
    with torch.no_grad():
        for p in [*module.parameters(), *module.buffers()]:
            if p.is_floating_point():
                p.add_(0.1 * torch.rand(p.shape, generator=generator, dtype=p.dtype))
    return module.train(training)


def compare(what: str, got: Tensor, want: Tensor) -> None:
    if got.shape != want.shape:
        raise TraceError(f"model: program and module differ in the shape of {what}: {list(got.shape)}, {list(want.shape)}: please report")
    difference = (got - want).abs().max().item() if got.numel() else 0.0
    if not difference <= TOLERANCE * (1 + want.abs().max().item()):
        raise TraceError(f"model: program and module differ by {difference:.2g} in {what}: please report")
