"""What the nodes of a program compute, in torch, on one device and all vertices: the meaning of a file, against which a module is proved."""
from __future__ import annotations

from typing import Any, Dict, Mapping, Optional, Tuple

import torch
import torch.nn.functional as F
from torch import Tensor

from .nodes import Node, Program

FUNCTIONS = {"relu": torch.relu, "tanh": torch.tanh, "sigmoid": torch.sigmoid, "silu": F.silu, "gelu": F.gelu, "exp": torch.exp, "log": torch.log, "sqrt": torch.sqrt,
             "square": torch.square, "abs": torch.abs, "softplus": F.softplus, "stop": Tensor.detach,
             "leaky_relu": lambda x, slope: F.leaky_relu(x, slope), "elu": lambda x, alpha: F.elu(x, alpha),
             "power": lambda x, exponent: x ** exponent, "clamp": lambda x, min=None, max=None: x.clamp(min, max),
             "finite": lambda x: torch.where(x.isfinite(), x, torch.zeros_like(x))}


class Interpreter:
    """Runs a program on a graph.

    x: [n, features]; edge_index: [2, m] (source, target); edge_weight: [m], ones without it
    training: batch_norm takes the moments of the rows and not the running ones; nothing is dropped
    """

    def __init__(self, program: Program, x: Tensor, edge_index: Tensor, edge_weight: Optional[Tensor] = None, training: bool = True):
        self.program, self.x, self.n, self.training = program, x, len(x), training
        weight = x.new_ones(edge_index.shape[1]) if edge_weight is None else edge_weight
        self.edges: Dict[str, Tuple[Tensor, Tensor, Tensor, Tensor]] = {"g": (edge_index[0], edge_index[1], weight, torch.zeros_like(weight, dtype=torch.bool))}
        for name, made in program.graphs.items():
            if made:
                self.edges[name] = made_of(*self.edges[made["of"]], self.n, made["do"])

    def run(self, tensors: Mapping[str, Tensor]) -> Tensor:
        """Returns the logits with tensors of the state_dict."""
        values: Dict[str, Tensor] = dict(tensors)
        for node in self.program.nodes:
            values[node.name] = self.compute(node, [values[i] for i in node.inputs], values)
        return values[self.program.logits]

    def compute(self, node: Node, x: Any, values: Mapping[str, Tensor]) -> Tensor:
        op, of = node.op, node.attributes
        if op in FUNCTIONS:
            return FUNCTIONS[op](x[0], **of)
        return getattr(self, op)(node, *x, **({"values": values} if op == "batch_norm" else {}))

    def first(self, node: Node) -> int:
        """Returns the axis that is the first behind the rows."""
        return 1 if node.space else 0

    def input(self, node: Node) -> Tensor:
        return self.x

    def const(self, node: Node) -> Tensor:
        of = node.attributes
        if of["what"] in ("number", "vertices"):
            return self.x.new_tensor(of.get("value", self.n))
        if of["what"] == "ones":
            return self.x.new_ones(len(self.edges[of["graph"]][0]) if "graph" in of else self.n, 1)
        source, target, weight, added = self.edges[of["graph"]]
        if "degree" in of["what"]:
            return torch.bincount(target if of["what"] == "in_degree" else source, minlength=self.n)[:, None].to(self.x)
        if of["what"] == "gcn_norm" and not of.get("weighted"):
            weight = torch.ones_like(weight)
        weight = torch.where(added, torch.full_like(weight, of.get("fill", 1.0)), weight)
        if of["what"] == "gcn_norm":
            degree = self.x.new_zeros(self.n).index_add(0, target, weight)
            root = torch.where(degree > 0, degree, torch.ones_like(degree)) ** -0.5 * (degree > 0)
            weight = root[source] * weight * root[target]
        return weight[:, None]

    def linear(self, node: Node, x: Tensor, weight: Tensor, bias: Optional[Tensor] = None) -> Tensor:
        return F.linear(x, weight, bias)

    def product(self, node: Node, a: Tensor, b: Tensor) -> Tensor:
        return torch.einsum(node.attributes["eq"], a, b)

    def add(self, node: Node, *x: Tensor) -> Tensor:
        out = sum(c * v for c, v in zip(node.attributes.get("c", [1.0] * len(x)), x))
        return out  # type: ignore[return-value]

    def mul(self, node: Node, a: Tensor, b: Tensor) -> Tensor:
        return a * b

    def div(self, node: Node, a: Tensor, b: Tensor) -> Tensor:
        return a / b

    def dropout(self, node: Node, x: Tensor) -> Tensor:
        return x

    def layer_norm(self, node: Node, x: Tensor, *affine: Tensor) -> Tensor:
        return F.layer_norm(x, x.shape[-1:], *affine, eps=node.attributes["eps"])

    def batch_norm(self, node: Node, x: Tensor, *affine: Tensor, values: Mapping[str, Tensor]) -> Tensor:
        of = node.attributes
        running = [values[of[k]] for k in ("mean", "var")] if "mean" in of and not self.training else [None, None]
        return F.batch_norm(x, *running, *affine, training=running[0] is None, eps=of["eps"])

    def concat(self, node: Node, *x: Tensor) -> Tensor:
        return torch.cat(x, node.attributes["axis"] + self.first(node))

    def slice(self, node: Node, x: Tensor) -> Tensor:
        of = node.attributes
        return x.narrow(of["axis"] + self.first(node), of["from"], of["to"] - of["from"])

    def reshape(self, node: Node, x: Tensor) -> Tensor:
        return x.reshape((*x.shape[:self.first(node)], *node.attributes["shape"]))

    def permute(self, node: Node, x: Tensor) -> Tensor:
        return x.permute(*range(self.first(node)), *(a + self.first(node) for a in node.attributes["axes"]))

    def fold(self, node: Node, x: Tensor) -> Tensor:
        axis = node.attributes["axis"] + self.first(node)
        return {"sum": lambda: x.sum(axis, True), "mean": lambda: x.mean(axis, True), "max": lambda: x.amax(axis, True), "softmax": lambda: x.softmax(axis)}[node.attributes["do"]]()

    def sum_all(self, node: Node, x: Tensor) -> Tensor:
        return x.sum(0)

    def src(self, node: Node, x: Tensor) -> Tensor:
        return x[self.edges[node.attributes["graph"]][0]]

    def dst(self, node: Node, x: Tensor) -> Tensor:
        return x[self.edges[node.attributes["graph"]][1]]

    def sum_in(self, node: Node, x: Tensor) -> Tensor:
        return x.new_zeros((self.n, *x.shape[1:])).index_add(0, self.edges[node.attributes["graph"]][1], x)

    def max_in(self, node: Node, x: Tensor) -> Tensor:
        target = self.edges[node.attributes["graph"]][1].view(-1, *[1] * (x.dim() - 1)).expand_as(x)
        return x.new_zeros((self.n, *x.shape[1:])).scatter_reduce(0, target, x, "amax", include_self=False)

    def softmax_in(self, node: Node, x: Tensor) -> Tensor:
        target = self.edges[node.attributes["graph"]][1]
        e = (x - self.max_in(node, x.detach())[target]).exp()
        return e / self.sum_in(node, e)[target]


def made_of(source: Tensor, target: Tensor, weight: Tensor, added: Tensor, n: int, do: str) -> Tuple[Tensor, Tensor, Tensor, Tensor]:
    """Returns ends, weights and whether it is an added loop, of the edges of a graph that is made of another."""
    if do == "reverse":
        return target, source, weight, added
    keep = source != target if do in ("no_loops", "full_loops") else torch.ones_like(source, dtype=torch.bool)
    kept = (source[keep], target[keep], weight[keep], added[keep])
    if do == "no_loops":
        return kept
    loops = torch.arange(n)
    of, new = weight.new_ones(n), torch.ones(n, dtype=torch.bool)
    if do == "full_loops":  # loops that are there keep their weights
        of[source[~keep]], new[source[~keep]] = weight[~keep], added[~keep]
    more = (loops, loops, of, new)
    a, b, c, d = (torch.cat(pair) for pair in zip(kept, more))
    return a, b, c, d
