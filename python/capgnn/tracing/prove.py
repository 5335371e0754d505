"""Proofs: program and module run in float64 on a small random graph, and their logits and gradients must be equal."""

from __future__ import annotations

import copy
from typing import Any, Callable, Dict, List, Mapping, Optional, Sequence, Tuple

import numpy as np
import torch
from torch import Tensor
from torch.nn.modules.batchnorm import _NormBase
from torch.overrides import TorchFunctionMode

from .arguments import arguments_of
from .errors import TraceError, changes, first_line
from .interpret import Interpreter
from .nodes import Program

# TOLERANCE is the largest difference between program and module in parts of the largest value: sums in another order.
TOLERANCE = 1e-9


class Undropped(TorchFunctionMode):
    """Dropout drops nothing, and nothing is rounded to float32."""

    def __torch_function__(
        self, func: Callable[..., Any], types: Any, args: Sequence[Any] = (),
        kwargs: Optional[Mapping[str, Any]] = None
    ) -> Any:
        name = getattr(func, "__name__", "").strip("_")
        if name == "dropout":
            return args[0] if args else (kwargs or {})["input"]
        if name == "float" and args:
            return args[0].double()
        return func(*args, **(kwargs or {}))


def random_graph(features: int, n: int = 40, edges: int = 150) -> Tuple[Tensor, Tensor, Tensor]:
    """Returns x, edge_index and weights of a directed graph with loops, and vertices without in- or out-edges."""
    r = np.random.default_rng(5)
    pairs = r.choice((n - 6) * (n - 2), edges, replace=False)
    source, target = pairs % (n - 6), pairs // (n - 6)
    target[:4] = source[:4]
    source, target = np.unique(np.stack([source, target]), axis=1)[
        :, r.permutation(len(np.unique(source * n + target)))
    ]
    return (
        torch.from_numpy(r.standard_normal((n, features))), torch.from_numpy(np.stack([source, target])),
        torch.from_numpy(r.uniform(0.5, 2, len(source)))
    )


def prove(program: Program, module: torch.nn.Module, training: bool) -> None:
    """Raises TraceError if logits or gradients of a program are not those of its module."""
    x, edge_index, weight = random_graph(program.features)
    given = weight if program.weighted else None
    graph = edge_index
    if program.matrix:
        graph = torch.sparse_coo_tensor(
            edge_index.flip(0), torch.ones_like(weight) if given is None else given, (len(x), len(x))
        ).coalesce()
    copied, default = spread(copy.deepcopy(module).double(), training), torch.get_default_dtype()
    tensors = {name: p for name, p in [*copied.named_parameters(), *copied.named_buffers()]}
    leaves = {name: p.detach().clone().requires_grad_(p.requires_grad) for name, p in tensors.items()}
    before = state_of(copied)
    torch.set_default_dtype(torch.float64)
    try:
        with Undropped():
            arguments = arguments_of(copied, x, graph, given, {"batch": torch.zeros(len(x), dtype=torch.int64)})
            out = first_of(copied(**arguments))
            after = state_of(copied)
            with torch.no_grad():
                again = first_of(copied(**arguments))
    except Exception as e:
        raise TraceError(
            f"model: forward does not run on a graph of {len(x)} vertices: {type(e).__name__}: {first_line(e)}"
        ) from e
    finally:
        torch.set_default_dtype(default)
    normed = {i for n in program.nodes if n.op == "batch_norm" for i in n.inputs[3:]}
    for name, held in before.items():
        if name not in normed and after.get(name) != held:
            raise TraceError(f"model: {changes(held[0], name)}")
    if (again - out).abs().max() > TOLERANCE * (1 + out.abs().max()):
        raise TraceError(
            "model: forward gives other logits when it is called again: it reads what it has kept in the module: "
            "let it leave the module's attributes as they are"
        )
    ours = Interpreter(program, x, edge_index, given, training).run(leaves)
    ours = ours.log_softmax(-1) if program.ends else ours
    compare("logits", ours, out)
    direction = torch.randn(out.shape, generator=torch.Generator().manual_seed(7), dtype=out.dtype)
    wanted = [name for name, p in tensors.items() if p.requires_grad]
    want = gradients(out, direction, [tensors[name] for name in wanted])
    got = gradients(ours, direction, [leaves[name] for name in wanted])
    for name, a, b in zip(wanted, got, want):
        compare(f"the gradient of {name}", a, b)


def first_of(out: Any) -> Any:
    return next(v for v in out if isinstance(v, Tensor)) if isinstance(out, (tuple, list)) else out


def state_of(module: torch.nn.Module) -> Dict[str, Tuple[Any, ...]]:
    """Returns by name what forward must leave as it is: parameters, buffers but those of BatchNorm, numbers."""
    out: Dict[str, Tuple[Any, ...]] = {}
    for path, m in module.named_modules():
        start = path + "." if path else ""
        out.update({start + k: ("number", v) for k, v in vars(m).items() if type(v) in (int, float)})
        out.update({start + k: ("parameter", id(p), p._version) for k, p in m.named_parameters(recurse=False)})
        if not isinstance(m, _NormBase):
            out.update({start + k: ("buffer", id(b), b._version) for k, b in m.named_buffers(recurse=False)})
    return out


def gradients(out: Tensor, direction: Tensor, leaves: List[Tensor]) -> List[Tensor]:
    if not leaves or not out.requires_grad:
        return [torch.zeros_like(p) for p in leaves]
    found = torch.autograd.grad((out * direction).sum(), leaves, allow_unused=True)
    return [torch.zeros_like(p) if g is None else g for p, g in zip(leaves, found)]


def is_scalar(name: str, t: Tensor) -> bool:
    """Reports whether a tensor is a buffer of one number, such as the mean degree of PNA."""
    return (
        t.numel() == 1 and t.is_floating_point() and "running_" not in name and not isinstance(t, torch.nn.Parameter)
    )


def spread(module: torch.nn.Module, training: bool) -> torch.nn.Module:
    """Moves weights and running statistics, so that none is where it hides an error, as 0 or 1."""
    generator = torch.Generator().manual_seed(3)
    with torch.no_grad():
        for name, p in [*module.named_parameters(), *module.named_buffers()]:
            if p.is_floating_point() and not is_scalar(name, p):
                p.add_(0.1 * torch.rand(p.shape, generator=generator, dtype=p.dtype))
    return module.train(training)


def compare(what: str, got: Tensor, want: Tensor) -> None:
    if got.shape != want.shape:
        raise TraceError(
            f"model: program and module differ in shapes of {what}: {[*got.shape]}, {[*want.shape]}: please report"
        )
    difference = (got - want).abs().max().item() if got.numel() else 0.0
    if not difference <= TOLERANCE * (1 + want.abs().max().item()):
        raise TraceError(f"model: program and module differ by {difference:.2g} in {what}: please report")
