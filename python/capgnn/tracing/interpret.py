"""What the nodes of a program compute, in torch on one device: docs/formats/model.md as code, for proofs."""

from __future__ import annotations

from typing import Callable, Dict, List, Mapping, NamedTuple, Optional

import torch
import torch.nn.functional as F
from torch import Tensor

from .nodes import Node, Program

FUNCTIONS: Dict[str, Callable[..., Tensor]] = {
    "relu": torch.relu,
    "tanh": torch.tanh,
    "sigmoid": torch.sigmoid,
    "silu": F.silu,
    "gelu": F.gelu,
    "exp": torch.exp,
    "log": torch.log,
    "sqrt": torch.sqrt,
    "square": torch.square,
    "softplus": F.softplus,
    "stop": Tensor.detach,
    "dropout": lambda x, p: x,
    "leaky_relu": lambda x, slope=0.01: F.leaky_relu(x, slope),
    "elu": lambda x, alpha=1.0: F.elu(x, alpha),
    "power": lambda x, exponent: x**exponent,
    "clamp": lambda x, low=None, high=None: x.clamp(low, high),
}


class Graph(NamedTuple):
    """Edges [m]: their ends, weights, and which of them are loops that were added."""

    source: Tensor
    target: Tensor
    weight: Tensor
    added: Tensor

    def made(self, n: int, do: str, weight: float = 1) -> Graph:
        """Returns the graph that is made of this one, of n vertices."""
        if do == "reverse":
            return Graph(self.target, self.source, self.weight, self.added)
        keep = self.source != self.target if do in ("no_loops", "full_loops") else torch.ones_like(self.added)
        kept = Graph(*(x[keep] for x in self))
        if do == "no_loops":
            return kept
        loops = Graph(
            torch.arange(n), torch.arange(n), self.weight.new_full((n,), weight), torch.ones(n, dtype=torch.bool)
        )
        if do == "full_loops":  # loops that are there keep their weights
            there = self.source[~keep]
            loops.weight[there], loops.added[there] = self.weight[~keep], self.added[~keep]
        return Graph(*(torch.cat(pair) for pair in zip(kept, loops)))


class Interpreter:
    """Runs a program on a graph.

    x: [n, features]; edge_index: [2, m] (source, target); edge_weight: [m], ones without it
    training: batch_norm takes the moments of the rows and not the running ones; nothing is dropped
    """

    def __init__(
        self, program: Program, x: Tensor, edge_index: Tensor, edge_weight: Optional[Tensor] = None,
        training: bool = True
    ):
        self.program, self.x, self.n, self.training = program, x, len(x), training
        weight = x.new_ones(edge_index.shape[1]) if edge_weight is None else edge_weight
        self.graphs = {"g": Graph(edge_index[0], edge_index[1], weight, torch.zeros(len(weight), dtype=torch.bool))}
        for name, how in program.graphs.items():
            if how:
                self.graphs[name] = self.graphs[how["of"]].made(self.n, how["do"], float(how.get("weight", 1)))

    def run(self, tensors: Mapping[str, Tensor]) -> Tensor:
        """Returns the logits with tensors of the state_dict."""
        values: Dict[str, Tensor] = dict(tensors)
        for node in self.program.nodes:
            values[node.name] = self.compute(node, [values[i] for i in node.inputs])
        return values[self.program.logits]

    def compute(self, node: Node, x: List[Tensor]) -> Tensor:
        """Returns the value of a node that reads x."""
        if node.op in FUNCTIONS:
            return FUNCTIONS[node.op](x[0], **node.attributes)
        if node.op in ("add", "mul", "div"):
            x = self.aligned(node, x)
        return getattr(self, node.op)(node, *x)

    def aligned(self, node: Node, xs: List[Tensor]) -> List[Tensor]:
        """Returns values with as many axes behind the row as their result has."""
        named = {n.name: n for n in self.program.nodes}
        out = []
        for name, x in zip(node.inputs, xs):
            rows = name in named and named[name].space != "G"
            missing = len(node.shape) + rows - x.dim()
            out.append(x.reshape((*x.shape[:1], *[1] * missing, *x.shape[1:])) if rows else x)
        return out

    def axis(self, node: Node) -> int:
        return node.attributes["axis"] + (node.space != "G")

    def input(self, node: Node) -> Tensor:
        return self.x

    def const(self, node: Node) -> Tensor:
        what = node.attributes["what"]
        if what in ("number", "vertices"):
            return self.x.new_tensor(node.attributes.get("value", self.n))
        source, target, weight, _ = self.graphs[node.attributes["graph"]]
        if node.space == "V":
            degree = torch.bincount(source if what == "out_degree" else target, minlength=self.n).to(self.x)
            return degree.clamp(1) if what == "in_count" else degree
        if what == "loop":
            return (source == target).to(weight)
        if what == "gcn_norm":
            degree = self.x.new_zeros(self.n).index_add(0, target, weight)
            root = torch.where(degree > 0, degree, torch.ones_like(degree)) ** -0.5 * (degree > 0)
            return root[source] * weight * root[target]
        return weight

    def linear(self, node: Node, x: Tensor, weight: Tensor, bias: Optional[Tensor] = None) -> Tensor:
        return F.linear(x, weight, bias)

    def product(self, node: Node, a: Tensor, b: Tensor) -> Tensor:
        return torch.einsum(node.attributes["spec"], a, b)

    def add(self, node: Node, *xs: Tensor) -> Tensor:
        out = torch.zeros((), dtype=self.x.dtype)
        for c, x in zip(node.attributes.get("coef", [1.0] * len(xs)), xs):
            out = out + c * x
        return out

    def mul(self, node: Node, a: Tensor, b: Tensor) -> Tensor:
        return a * b

    def div(self, node: Node, a: Tensor, b: Tensor) -> Tensor:
        return a / b

    def layer_norm(
        self, node: Node, x: Tensor, weight: Optional[Tensor] = None, bias: Optional[Tensor] = None
    ) -> Tensor:
        return F.layer_norm(x, list(x.shape[-1:]), weight, bias, node.attributes["eps"])

    def batch_norm(
        self, node: Node, x: Tensor, weight: Optional[Tensor] = None, bias: Optional[Tensor] = None, *running: Tensor
    ) -> Tensor:
        mean, var = running if running and not self.training else (None, None)
        return F.batch_norm(x, mean, var, weight, bias, training=mean is None, eps=node.attributes["eps"])

    def concat(self, node: Node, *xs: Tensor) -> Tensor:
        return torch.cat(xs, self.axis(node))

    def slice(self, node: Node, x: Tensor) -> Tensor:
        of = node.attributes
        return x.narrow(self.axis(node), of["lo"], of["hi"] - of["lo"])

    def reshape(self, node: Node, x: Tensor) -> Tensor:
        return x.reshape((*x.shape[: node.space != "G"], *node.shape))

    def fold(self, node: Node, x: Tensor) -> Tensor:
        return getattr(torch, {"max": "amax"}.get(node.attributes["how"], node.attributes["how"]))(x, self.axis(node))

    def sum_all(self, node: Node, x: Tensor) -> Tensor:
        return x.sum(0)

    def src(self, node: Node, x: Tensor) -> Tensor:
        return x[self.graphs[node.attributes["graph"]].source]

    def dst(self, node: Node, x: Tensor) -> Tensor:
        return x[self.graphs[node.attributes["graph"]].target]

    def sum_in(self, node: Node, x: Tensor) -> Tensor:
        return x.new_zeros((self.n, *x.shape[1:])).index_add(0, self.graphs[node.attributes["graph"]].target, x)

    def max_in(self, node: Node, x: Tensor) -> Tensor:
        target = self.graphs[node.attributes["graph"]].target.view(-1, *[1] * (x.dim() - 1)).expand_as(x)
        return x.new_zeros((self.n, *x.shape[1:])).scatter_reduce(0, target, x, "amax", include_self=False)

    def softmax_in(self, node: Node, x: Tensor) -> Tensor:
        target = self.graphs[node.attributes["graph"]].target
        e = (x - self.max_in(node, x.detach())[target]).exp()
        return e / self.sum_in(node, e)[target]
