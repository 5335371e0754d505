"""Nodes are appended to a program, and simplified on the way: equal ones are one, factors join sums."""

from __future__ import annotations

import json
import math
from collections import Counter
from typing import Any, Dict, List, Optional, Sequence, Set, Tuple

import torch

from .errors import at_line, frames_of_forward, refuse
from .nodes import Node

# LEAST is what sums of weights are at least: what is less counts as 0.
LEAST = 1e-30


class Builder:
    """A program that grows.

    names: of tensors of the state_dict, which nodes must not have
    vertices, edges: the sizes that stand for the numbers of vertices and edges
    """

    def __init__(self, names: Set[str], vertices: int, edges: int):
        super().__init__()
        self.vertices, self.edges = vertices, edges
        self.nodes: Dict[str, Node] = {}  # in the order of calls
        self.graphs: Dict[str, Dict[str, Any]] = {"g": {}}
        self.tensors: Dict[str, Node] = {}
        self.permuted: Dict[str, Tuple[Node, List[int]]] = {}  # nodes that are others with their axes in this order
        self.weighted: Set[bool] = set()  # whether edges have weights of the data set, of all places where they may
        self._taken = names
        self._sizes = {vertices: "V"}  # spaces by their number of rows
        self._made: Dict[str, Node] = {}
        self._count: Counter = Counter()

    def emit(
        self, op: str, inputs: Sequence[Node], shape: Sequence[int], space: Optional[str] = None, /, **attributes: Any
    ) -> Node:
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
            while name in self._taken:
                name += "_"
            node = Node(name, op, names, attributes, space, tuple(shape), at_line(frames_of_forward())[0])
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
        terms = [
            (self.named(n.inputs[0]), k * n.attributes["coef"][0]) if n.op == "add" and len(n.inputs) == 1 else (n, k)
            for n, k in zip(nodes, c)
        ]
        nodes, c = [n for n, _ in terms], [float(k) for _, k in terms]
        if c == [1.0]:
            return nodes[0]
        return self.joined("add", nodes, **({} if set(c) == {1.0} else {"coef": c}))

    def clamp(self, node: Node, low: Optional[float] = None, high: Optional[float] = None) -> Node:
        if node.attributes.get("what") == "in_degree" and low == 1 and high is None:
            return self.constant("in_count", "V", node.attributes["graph"])
        bounds = {key: float(v) for key, v in (("low", low), ("high", high)) if v is not None}
        return self.function("clamp", node, **bounds)

    def zeroed(self, power: Node) -> Node:
        """Returns a negative power of x >= 0 with zeroes in place of infinite values: x^e where x > 0."""
        base = self.named(power.inputs[0])
        least = 1.0 if "degree" in base.attributes.get("what", "") else LEAST
        there = self.clamp(self.scale(base, 1 / least), high=1.0)
        return self.mul([self.function("power", self.clamp(base, low=least), **power.attributes), there])

    def normalises(self, a: Node, b: Node) -> bool:
        """Reports whether a product is gcn_norm by hand: 1/√(in-degree) of an edge's ends."""
        if (a.op, b.op) not in (("src", "dst"), ("dst", "src")) or a.inputs != b.inputs or a.space != b.space:
            return False
        graph = a.attributes["graph"]
        power = self.function("power", self.constant("in_degree", "V", graph), exponent=-0.5)
        looped = self.graphs[graph].get("do") in ("loops", "full_loops")
        return self.named(a.inputs[0]) in [self.zeroed(power)] + [power] * looped

    def mul(self, nodes: Sequence[Node]) -> Node:
        if self.normalises(*nodes):
            self.weighted.add(False)
            return self.constant("gcn_norm", nodes[0].space, nodes[0].attributes["graph"])
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
            if (
                ones > 0
                and n.shape == (1,) * ones + below.shape
                and torch.broadcast_shapes(*(m.shape for m in [*inputs[:i], below, *inputs[i + 1 :]])) == shape
            ):
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
        shape = node.shape if how == "softmax" else node.shape[:axis] + node.shape[axis + 1 :]
        return self.emit("fold", [node], shape, how=how, axis=axis)

    def permute(self, node: Node, axes: Sequence[int]) -> Node:
        """Returns a node with the axes behind the row in another order: a product with 1."""
        if node.name in self.permuted:
            node, before = self.permuted[node.name]
            axes = [before[i] for i in axes]
        if list(axes) == sorted(axes):
            return node
        letters, row = "ijklmopq"[: len(axes)], "n" * (node.space != "G")
        out = self.emit(
            "product", [node, self.number(1)], [node.shape[i] for i in axes],
            spec=f"{row}{letters},->{row}{''.join(letters[i] for i in axes)}"
        )
        self.permuted[out.name] = node, list(axes)
        return out

    def named(self, name: str) -> Node:
        return self.tensors[name] if name in self.tensors else self.nodes[name]
