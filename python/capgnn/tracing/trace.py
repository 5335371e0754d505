"""A module of torch_geometric becomes a program, which is proved against it before anybody uses it."""

from __future__ import annotations

import copy
import itertools
import os
import traceback
import warnings
from typing import Any, Dict, List, Tuple

import numpy as np
import torch
from torch import Tensor

from ..given import held_by
from ..store import read_store
from . import products, shapes  # noqa: F401, which register handlers of torch's functions
from .arguments import arguments_of
from .edges import data_weight
from .errors import TraceError, first_line, refuse
from .helpers import replaced
from .nodes import Program
from .prove import is_scalar, prove
from .shapes import CHOSEN
from .tracer import Mask, Tracer

# SIZES are the numbers of vertices and edges of two traces, which no width is. Programs differ where a number is made
# of one.
SIZES = ((1_000_003, 3_000_017), (2_000_003, 7_000_003))
CHOICES = tuple(f"{name}_{end}" for name in ("train", "val", "test") for end in ("mask", "idx"))
LOOKS = "forward looks at values: an if or a loop depends on data"


def trace(module: torch.nn.Module, data: Any) -> Program:
    """Returns the program of a module's forward, proved on a random graph: logits and gradients are the module's.

    module: takes x and edge_index, and edge_weight if the data have it, or one object with them; it is not changed
    data: a graph as `train` takes it, of which x and edge_weight are looked at, or a store
    raises: TraceError, which names the line of forward that capgnn has no operation for
    """
    features, weighted, several = width_of(data)
    program, other = (forward_of(module, features, weighted, True, *sizes) for sizes in SIZES)
    for a, b in zip(program.nodes, other.nodes):
        if (str(a), a.shape) != (str(b), b.shape):
            raise TraceError(
                f"model: {a}: a number is made of how many vertices there are: use mean() over them  ({a.line})"
            )
    last = program.nodes[-1]
    if several and last.op == "sigmoid":
        raise TraceError(
            f"model: forward returns probabilities: return what sigmoid reads, the loss has it  ({last.line})"
        )
    given = {**dict(module.named_parameters()), **dict(module.named_buffers())}
    program.weights = {name: given[name].detach() for name in program.tensors}
    trained = {i for n in program.nodes if n.op != "stop" for i in n.inputs}
    program.frozen = [name for name in program.tensors if name not in trained]
    prove(program, module, True)
    evaluated = forward_of(module, features, weighted, False, *SIZES[0])
    for n in evaluated.nodes:
        if n.op == "dropout":
            raise TraceError(f"model: dropout is on in eval mode, too: give it training=self.training  ({n.line})")
    try:
        prove(program, module, False)
    except TraceError as e:
        pairs = itertools.zip_longest(undropped(program), undropped(evaluated), fillvalue=("", ""))
        line = next((a[1] or b[1] for a, b in pairs if a[0] != b[0]), "")
        raise TraceError(
            f"model: forward differs between train and eval mode by more than dropout and BatchNorm  ({line})"
        ) from e
    return program


def width_of(data: Any) -> Tuple[int, bool, bool]:
    """Returns the columns of x, whether edges have weights, and whether vertices have several labels."""
    if isinstance(data, (str, os.PathLike)):
        held: Dict[str, Any] = dict(read_store(data))
        shape = held["x"].shape if "x" in held else held.get("x_shape")
        weighted = "weights" in held
    else:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # to_store says what is not read
            held = held_by(data)
        shape, weighted = np.shape(held["x"]) if "x" in held else None, held.get("edge_weight") is not None
    if shape is None or len(shape) != 2:
        raise ValueError("x: the data have no features [vertices, columns]")
    labels = np.shape(held["y"]) if held.get("y") is not None else ()
    return int(shape[1]), weighted, len(labels) == 2 and labels[1] > 1


def undropped(program: Program) -> List[Tuple[str, str]]:
    """Returns what nodes compute without dropout, whatever they are called, and their lines."""
    known: Dict[str, str] = {}
    out: List[Tuple[str, str]] = []
    for n in program.nodes:
        inputs = [known.get(i, i) for i in n.inputs]
        if n.op == "dropout":
            known[n.name] = inputs[0]
            continue
        known[n.name] = f"%{len(out)}"
        out.append((f"{n.op} {inputs} {n.attributes} {n.shape}", n.line))
    return out


def forward_of(
    module: torch.nn.Module, features: int, weighted: bool, training: bool, vertices: int, edges: int
) -> Program:
    """Runs forward once on meta tensors."""
    if any(isinstance(p, torch.nn.parameter.UninitializedParameter) for p in module.parameters()):
        raise TraceError("model: parameters have no shape yet: call the module once with the data, or say in_channels")
    scalars = {name: b.item() for name, b in module.named_buffers() if is_scalar(name, b)}
    module = copy.deepcopy(module).to("meta").train(training)
    t = Tracer(module, scalars, vertices, edges)
    x = t.made((vertices, features), t.emit("input", [], (features,), "V"))
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
        if any(word in str(e) for word in ("meta tensor", "data-dependent", "_local_scalar_dense", "Cannot copy out")):
            refuse(LOOKS, frames)
        refuse(f"forward does not run: {type(e).__name__}: {first_line(e)}", frames)


def finished(t: Tracer, module: torch.nn.Module, out: Any, features: int) -> Program:
    """Returns the program whose logits are what forward has returned, or the first of several."""
    several = out if isinstance(out, (tuple, list)) else [out]
    values = [x for x in several if isinstance(x, Tensor) and t.axis(x.shape) == 0 and t.space(x.shape) == "V"]
    if not values or len(values[0].shape) != 2:
        given = [list(t.behind(x.shape)) if isinstance(x, Tensor) else type(x).__name__ for x in several]
        raise TraceError(f"model: forward does not return a row of logits for every vertex, but {given[0]}")
    logits, ends = t.whole(values[0], "V"), ""
    if logits.attributes.get("how") == "softmax":
        raise TraceError(
            f"model: forward returns probabilities: return what softmax reads, the loss has it  ({logits.line})"
        )
    if logits.op == "log":  # of a softmax: the loss has it
        below = t.named(logits.inputs[0])
        if below.op == "fold" and below.attributes["how"] == "softmax":
            logits, ends = t.named(below.inputs[0]), "log_softmax"
    order = [name for name, _ in [*module.named_parameters(), *module.named_buffers()]]
    tensors = {name: t.tensors[name].shape for name in [*module.state_dict(), *order] if name in t.tensors}
    program = Program(type(module).__name__, features, t.graphs, list(t.nodes.values()), tensors, logits.name)
    kept = {n.name for n in program.nodes}
    for n in t.nodes.values():
        if n.op == "batch_norm" and n.name not in kept and any(i in program.tensors for i in n.inputs[3:]):
            raise TraceError(
                "model: a BatchNorm has running statistics of rows that the logits do not depend on, too: "
                f"return the logits alone  ({n.line})"
            )
    if any(n.attributes.get("what") == "edge_weight" for n in program.nodes):
        t.weighted.add(True)
    if t.weighted == {True, False}:
        raise TraceError("model: some convolutions have edge_weight and others not: give it to all of them, or to none")
    program.weighted, program.matrix, program.ends = True in t.weighted, t.matrix, ends
    return program
