"""What products write: linear layers, matrix products and einsum."""

from __future__ import annotations

from typing import Any, List, Optional, Tuple

from torch import Tensor

from .elementwise import aligned, moved, swapped
from .errors import lacks, refuse
from .nodes import Node
from .reductions import reduced
from .tracer import Tracer, calls


@calls("linear")
def linear(t: Tracer, out: Tensor, x: Tensor, weight: Tensor, bias: Optional[Tensor] = None) -> Node:
    if t.space(weight.shape) != "G" or t.axis(x.shape) == x.dim() - 1:
        refuse("a product over all vertices: aggregate over edges, or take means over vertices")
    inputs = [t.whole(x), t.whole(weight)] + ([] if bias is None else [t.whole(bias)])
    return t.emit("linear", inputs, t.behind(out.shape))


@calls("einsum")
def einsum(t: Tracer, out: Tensor, equation: str, *operands: Any) -> Node:
    xs = list(operands[0]) if isinstance(operands[0], (list, tuple)) else list(operands)
    left, arrow, result = equation.replace(" ", "").partition("->")
    if not arrow:
        lacks("einsum without ->", "name the letters of the result")
    terms = left.split(",")
    dots = [x.dim() - len(term.replace("...", "")) for term, x in zip(terms, xs)]
    terms = [term.replace("...", "UVWXYZ"[6 - n :]) for term, n in zip(terms, dots)]
    result = result.replace("...", "UVWXYZ"[6 - max(dots) :])
    while len(xs) > 2:
        kept = "".join(dict.fromkeys(k for k in terms[0] + terms[1] if k in result + "".join(terms[2:])))
        sizes = dict(zip(terms[0] + terms[1], (*xs[0].shape, *xs[1].shape)))
        xs[:2] = [t.made([sizes[k] for k in kept], product(t, terms[0], xs[0], terms[1], xs[1], kept))]
        terms[:2] = [kept]
    if len(xs) == 2:
        return product(t, terms[0], xs[0], terms[1], xs[1], result)
    return alone(t, terms[0], xs[0], result)


def alone(t: Tracer, letters: str, x: Tensor, result: str) -> Node:
    """Returns the einsum of one tensor."""
    summed = [i for i, k in enumerate(letters) if k not in result]
    if summed:
        x = t.made([s for i, s in enumerate(x.shape) if i not in summed], reduced(t, "sum", x, summed, False))
    kept = [k for k in letters if k in result]
    return moved(t, x, [kept.index(k) for k in result])


@calls("matmul", "mm", "bmm", "mv", "dot", "imatmul")
def matmul(t: Tracer, out: Tensor, a: Tensor, b: Tensor, **_: Any) -> Node:
    batch = "uvwxyz"[: max(a.dim(), b.dim()) - 2]
    left = (batch + "ik")[-a.dim() :] if a.dim() > 1 else "k"
    right = (batch + "kj")[-b.dim() :] if b.dim() > 1 else "k"
    return product(t, left, a, right, b, batch + ("i" if a.dim() > 1 else "") + ("j" if b.dim() > 1 else ""))


calls("rmatmul")(swapped(matmul))


@calls("addmm", "baddbmm", "addmv")
def addmm(t: Tracer, out: Tensor, x: Tensor, a: Tensor, b: Tensor, *, beta: float = 1, alpha: float = 1) -> Node:
    return t.add([aligned(t, out, x), matmul(t, out, a, b)], [beta, alpha])


def product(t: Tracer, left: str, a: Tensor, right: str, b: Tensor, result: str) -> Node:
    """Returns the einsum of two tensors. In a node the letter n is that of rows and comes first."""
    for letters, x, ones, other in ((left, a, right, b), (right, b, left, a)):
        number = t.number_of(t.node(other))
        if number is not None and set(ones + result) <= set(letters):
            return t.scale(alone(t, letters, x, result), number)
    left, right, result = (letters.translate({ord("n"): "N"}) for letters in (left, right, result))  # n is that of rows
    sizes = dict(zip(left + right, (*a.shape, *b.shape)))
    sizes.update((k, s) for k, s in zip(right, b.shape) if s != 1)
    sizes.update((k, s) for k, s in zip(left, a.shape) if s != 1)
    rows = [k for k, size in sizes.items() if t.axis((size,)) is not None]
    if len(rows) > 1:
        t.axis([sizes[k] for k in rows])  # which refuses
    if rows and rows[0] not in result and t.space((sizes[rows[0]],)) != "V":
        lacks("a sum over all edges", "aggregate over the in-edges of each vertex")
    terms, nodes = [], []
    for letters, x in ((left, a), (right, b)):
        node, behind = t.whole(x), [k for k in letters if k not in rows]
        kept = [k for k, size in zip(behind, node.shape) if size == sizes[k]]
        node = t.reshape(node, [sizes[k] for k in kept])  # without axes that only broadcast
        if node.name in t.permuted:
            node, axes = t.permuted[node.name]
            kept = [kept[axes.index(i)] for i in range(len(kept))]
        terms.append(("n" if node.space != "G" else "") + "".join(kept))
        nodes.append(node)
    summed = bool(rows) and rows[0] not in result
    if summed and "G" in (nodes[0].space, nodes[1].space):
        refuse("a product over all vertices with a tensor that has no rows")
    result = "n" * (bool(rows) and not summed) + "".join(k for k in result if k not in rows)
    names = {"n": "n", **dict(zip(dict.fromkeys("".join(terms).replace("n", "")), "ijklmopqrstuvw"))}
    shape = [sizes[k] for k in result if k != "n"]
    left, right, result = ("".join(names[k] for k in term) for term in (*terms, result))
    if (left, right, result) == ("ni", "ji", "nj") and nodes[1].space == "G":
        return t.emit("linear", nodes, shape)
    return t.emit("product", nodes, shape, "G" if "n" not in result else None, spec=f"{left},{right}->{result}")


@calls("gru_cell")
def gru_cell(
    t: Tracer, out: Tensor, x: Tensor, hidden: Tensor, w_x: Tensor, w_h: Tensor, b_x: Optional[Tensor] = None,
    b_h: Optional[Tensor] = None
) -> Node:
    width, h = hidden.shape[-1], t.whole(hidden)
    wide = t.empty((*out.shape[:-1], 3 * width))
    gates: List[Tuple[Node, ...]] = []
    for node in (linear(t, wide, x, w_x, b_x), linear(t, wide, hidden, w_h, b_h)):
        gates.append(
            tuple(t.emit("slice", [node], h.shape, axis=0, lo=i * width, hi=(i + 1) * width) for i in range(3))
        )
    (reset_x, update_x, new_x), (reset_h, update_h, new_h) = gates
    reset, update = (t.function("sigmoid", t.add(pair, [1, 1])) for pair in ((reset_x, reset_h), (update_x, update_h)))
    new = t.function("tanh", t.add([new_x, t.mul([reset, new_h])], [1, 1]))
    return t.add([new, t.mul([update, t.add([h, new], [1, -1])])], [1, 1])
