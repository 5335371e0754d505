"""What torch's arithmetic writes: elementwise functions, products, sums and norms. Each handler has the signature of torch's function."""
from __future__ import annotations

import math
from typing import Any, List, Optional, Sequence, Tuple, Union

import torch
from torch import Tensor

from .nodes import Node
from .tracer import Mask, Tracer, calls, refuse

Axes = Union[int, Sequence[int], None]
LEAST = 1e-30  # sums of weights that are less count as 0
COMPARISON = "a comparison of values is no operation of capgnn"


def aligned(t: Tracer, out: Tensor, x: Any) -> Node:
    """Returns the node of x such that its shape, put below that of out behind the rows, broadcasts as torch does."""
    node = t.node(x)
    rows = t.axis(out.shape)
    if not isinstance(x, Tensor) or rows is None or not node.shape:
        return node
    pad = out.dim() - x.dim()
    behind = [size for i, size in enumerate(x.shape) if i + pad != rows]
    if t.axis(x.shape) is not None:
        behind = [1] * (out.dim() - 1 - len(behind)) + behind
    if list(node.shape) == behind or node.space != t.space(x.shape):  # the latter: it repeats a value for all rows
        return node
    return t.reshape(t.whole(x), behind)


def moved(t: Tracer, x: Tensor, order: List[int]) -> Node:
    """Returns x with its axes in another order."""
    node, rows = t.whole(x), t.axis(x.shape)
    behind = [i - (rows is not None and i > rows) for i in order if i != rows]
    return t.permute(node, behind)


@calls("add", "iadd")
def add(t: Tracer, out: Tensor, a: Any, b: Any, *, alpha: float = 1, **_: Any) -> Node:
    return t.add([aligned(t, out, a), aligned(t, out, b)], [1, alpha])


@calls("radd")
def radd(t: Tracer, out: Tensor, a: Any, b: Any, **_: Any) -> Node:
    return add(t, out, b, a)


@calls("sub", "isub", "subtract")
def sub(t: Tracer, out: Tensor, a: Any, b: Any, *, alpha: float = 1, **_: Any) -> Node:
    return t.add([aligned(t, out, a), aligned(t, out, b)], [1, -alpha])


@calls("rsub")
def rsub(t: Tracer, out: Tensor, a: Any, b: Any, **_: Any) -> Node:
    return sub(t, out, b, a)


@calls("mul", "imul", "multiply")
def mul(t: Tracer, out: Tensor, a: Any, b: Any, **_: Any) -> Node:
    return t.mul([aligned(t, out, a), aligned(t, out, b)])


@calls("rmul")
def rmul(t: Tracer, out: Tensor, a: Any, b: Any, **_: Any) -> Node:
    return mul(t, out, b, a)


@calls("div", "truediv", "itruediv", "true_divide", "divide")
def div(t: Tracer, out: Tensor, a: Any, b: Any, *, rounding_mode: Any = None, **_: Any) -> Node:
    if rounding_mode is not None:
        refuse("a division that rounds is no operation of capgnn")
    return t.div(aligned(t, out, a), aligned(t, out, b))


@calls("rtruediv", "rdiv")
def rdiv(t: Tracer, out: Tensor, a: Any, b: Any) -> Node:
    if isinstance(b, Tensor):
        return div(t, out, b, a)
    return t.scale(t.function("power", t.node(a), exponent=-1.0), b)


@calls("addcmul")
def addcmul(t: Tracer, out: Tensor, x: Tensor, a: Tensor, b: Tensor, *, value: float = 1) -> Node:
    return t.add([aligned(t, out, x), mul(t, out, a, b)], [1, value])


@calls("lerp")
def lerp(t: Tracer, out: Tensor, a: Tensor, b: Tensor, weight: Any) -> Node:
    return t.add([aligned(t, out, a), t.mul([sub(t, out, b, a), aligned(t, out, weight)])], [1, 1])


def _plain(name: str) -> Any:
    return lambda t, out, x, *_, **__: t.function(name, t.node(x))


for _name in ("relu", "tanh", "sigmoid", "silu", "exp", "log", "sqrt", "square"):
    calls(_name)(_plain(_name))
calls("detach")(_plain("stop"))
Tracer.getters[torch.Tensor.data.__get__] = _plain("stop")  # type: ignore[attr-defined]


@calls("neg", "negative")
def neg(t: Tracer, out: Tensor, x: Tensor) -> Node:
    return t.scale(t.node(x), -1)


@calls("abs", "absolute")
def absolute(t: Tracer, out: Tensor, x: Tensor) -> Node:
    return t.add([t.function("relu", t.node(x)), t.function("relu", t.scale(t.node(x), -1))], [1, 1])


@calls("leaky_relu")
def leaky_relu(t: Tracer, out: Tensor, x: Tensor, negative_slope: float = 0.01, inplace: bool = False) -> Node:
    return t.function("leaky_relu", t.node(x), slope=float(negative_slope))


@calls("elu")
def elu(t: Tracer, out: Tensor, x: Tensor, alpha: float = 1.0, inplace: bool = False) -> Node:
    return t.function("elu", t.node(x), alpha=float(alpha))


@calls("selu")
def selu(t: Tracer, out: Tensor, x: Tensor, inplace: bool = False) -> Node:
    return t.scale(t.function("elu", t.node(x), alpha=1.6732632423543772), 1.0507009873554805)


@calls("gelu")
def gelu(t: Tracer, out: Tensor, x: Tensor, approximate: str = "none") -> Node:
    if approximate != "none":
        refuse(f"gelu with approximate={approximate!r} is no operation of capgnn: use gelu(x)")
    return t.function("gelu", t.node(x))


@calls("prelu")
def prelu(t: Tracer, out: Tensor, x: Tensor, weight: Tensor) -> Node:
    positive = t.function("relu", t.node(x))
    return t.add([positive, t.mul([t.add([t.node(x), positive], [1, -1]), t.node(weight)])], [1, 1])


@calls("softplus")
def softplus(t: Tracer, out: Tensor, x: Tensor, beta: float = 1, threshold: float = 20) -> Node:
    return t.scale(t.function("softplus", t.scale(t.node(x), beta)), 1 / beta)


@calls("logsigmoid")
def logsigmoid(t: Tracer, out: Tensor, x: Tensor) -> Node:
    return t.scale(t.function("softplus", t.scale(t.node(x), -1)), -1)


@calls("pow", "float_power")
def power(t: Tracer, out: Tensor, x: Any, exponent: Any) -> Node:
    if isinstance(exponent, Tensor) and t.number_of(t.node(exponent)) is None:
        refuse("a power whose exponent is no number is no operation of capgnn: write exp(y * log(x))")
    e = t.number_of(t.node(exponent))
    return t.function("square", t.node(x)) if e == 2 else t.function("power", t.node(x), exponent=e)


@calls("rsqrt")
def rsqrt(t: Tracer, out: Tensor, x: Tensor) -> Node:
    return t.function("power", t.node(x), exponent=-0.5)


@calls("reciprocal")
def reciprocal(t: Tracer, out: Tensor, x: Tensor) -> Node:
    return t.function("power", t.node(x), exponent=-1.0)


@calls("log1p")
def log1p(t: Tracer, out: Tensor, x: Tensor) -> Node:
    return t.function("log", t.add([t.node(x), t.number(1)], [1, 1]))


@calls("clamp", "clip")
def clamp(t: Tracer, out: Tensor, x: Tensor, min: Any = None, max: Any = None) -> Node:
    return t.function("clamp", t.node(x), **{k: float(v) for k, v in (("low", min), ("high", max)) if v is not None})


@calls("clamp_min")
def clamp_min(t: Tracer, out: Tensor, x: Tensor, min: Any) -> Node:
    return clamp(t, out, x, min)


@calls("dropout", "feature_dropout", "alpha_dropout")
def dropout(t: Tracer, out: Tensor, x: Tensor, p: float = 0.5, training: bool = True, inplace: bool = False) -> Node:
    if not training or p == 0:
        return t.node(x)
    return t.emit("dropout", [t.whole(x)], t.behind(x.shape), p=float(p))


def _comparison(op: str) -> Any:
    def handler(t: Tracer, out: Tensor, x: Tensor, other: Any = math.inf) -> Mask:
        return Mask(t.node(x) if isinstance(other, (int, float)) and isinstance(t.value(x), Node) else None, COMPARISON, op, other)
    return handler


for _name in ("eq", "isinf", "le", "lt", "ge", "gt"):
    calls(_name)(_comparison(_name))


@calls("ne", "logical_and", "logical_or", "logical_not", "and", "or", "invert", "any", "all", "isfinite", "isnan", "argmax", "argmin", "argsort")
def decide(t: Tracer, out: Tensor, *_: Any, **__: Any) -> Mask:
    return Mask(None, COMPARISON)


@calls("masked_fill", "setitem")
def masked_fill(t: Tracer, out: Any, x: Tensor, mask: Any, value: Any) -> Optional[Node]:
    """Zeroes where the mask is."""
    of = t.value(mask)
    if not (isinstance(of, Mask) and of.node is not None and of.node == t.node(x) and t.number_of(t.node(value)) == 0):
        refuse(of.what if isinstance(of, Mask) else "values are written into some places of a tensor: make it of whole tensors, as with torch.cat")
    node = finite(t, of.node) if of.number == math.inf else kept(t, of)
    if out is None:  # x[mask] = value
        t.bind(x, node)
        return None
    return node


def finite(t: Tracer, node: Node) -> Node:
    """Returns a negative power of x >= 0 with zeroes in place of infinite values: x^e where x > 0."""
    if node.op != "power" or node.attributes["exponent"] >= 0:
        refuse("zeroes in place of infinite values are an operation of capgnn where these are a negative power, as in degree.pow(-0.5)")
    base = t.named(node.inputs[0])
    least = 1.0 if "degree" in base.attributes.get("what", "") else LEAST
    power, there = t.function("clamp", base, low=least), t.function("clamp", t.scale(base, 1 / least), high=1.0)
    return t.mul([t.function("power", power, exponent=node.attributes["exponent"]), there])


def kept(t: Tracer, of: Mask) -> Node:
    """Returns values of a node with zeroes where they are at most, or at least, a number: a product with 0 or 1."""
    if of.op not in ("le", "lt", "ge", "gt"):
        refuse(of.what)
    sign = 1.0 if of.op in ("le", "lt") else -1.0
    above = t.add([of.node, t.number(of.number)], [sign / LEAST, -sign / LEAST])
    return t.mul([of.node, t.function("stop", t.function("clamp", above, low=0.0, high=1.0))])


# -- products ------------------------------------------------------------------------------------------------------------


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
    if not arrow or "." in equation:
        refuse("einsum without -> is no operation of capgnn: name the letters of the result")
    terms = left.split(",")
    while len(xs) > 2:
        kept = "".join(dict.fromkeys(k for k in terms[0] + terms[1] if k in result + "".join(terms[2:])))
        sizes = dict(zip(terms[0] + terms[1], (*xs[0].shape, *xs[1].shape)))
        xs[:2] = [t.bind(t.empty([sizes[k] for k in kept]), product(t, terms[0], xs[0], terms[1], xs[1], kept))]
        terms[:2] = [kept]
    if len(xs) == 2:
        return product(t, terms[0], xs[0], terms[1], xs[1], result)
    x, summed = xs[0], [i for i, k in enumerate(terms[0]) if k not in result]
    if summed:
        x = t.bind(t.empty([s for i, s in enumerate(x.shape) if i not in summed]), reduced(t, "sum", x, summed, False))
    letters = [k for k in terms[0] if k in result]
    return moved(t, x, [letters.index(k) for k in result])


@calls("matmul", "mm", "bmm", "mv", "dot", "imatmul")
def matmul(t: Tracer, out: Tensor, a: Tensor, b: Tensor, **_: Any) -> Node:
    batch = "uvwxyz"[:max(a.dim(), b.dim()) - 2]
    left = (batch + "ik")[-a.dim():] if a.dim() > 1 else "k"
    right = (batch + "kj")[-b.dim():] if b.dim() > 1 else "k"
    return product(t, left, a, right, b, batch + ("i" if a.dim() > 1 else "") + ("j" if b.dim() > 1 else ""))


@calls("rmatmul")
def rmatmul(t: Tracer, out: Tensor, a: Tensor, b: Tensor) -> Node:
    return matmul(t, out, b, a)


@calls("addmm", "baddbmm", "addmv")
def addmm(t: Tracer, out: Tensor, x: Tensor, a: Tensor, b: Tensor, *, beta: float = 1, alpha: float = 1) -> Node:
    return t.add([aligned(t, out, x), matmul(t, out, a, b)], [beta, alpha])


def product(t: Tracer, left: str, a: Tensor, right: str, b: Tensor, result: str) -> Node:
    """Returns the einsum of two tensors. In a node the letter n is that of rows and comes first."""
    left, right, result = (letters.translate({ord("n"): "N"}) for letters in (left, right, result))  # n is that of rows
    sizes = dict(zip(left + right, (*a.shape, *b.shape)))
    sizes.update((k, s) for k, s in zip(right, b.shape) if s != 1)
    sizes.update((k, s) for k, s in zip(left, a.shape) if s != 1)
    rows = [k for k, size in sizes.items() if t.axis((size,)) is not None]
    if len(rows) > 1:
        t.axis([sizes[k] for k in rows])  # which refuses
    if rows and rows[0] not in result and t.space((sizes[rows[0]],)) != "V":
        refuse("a sum over all edges is no operation of capgnn: aggregate over the in-edges of each vertex")
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


# -- sums and norms --------------------------------------------------------------------------------------------------------


def axes_of(x: Tensor, dim: Axes) -> List[int]:
    return list(range(x.dim())) if dim is None or dim == () else sorted(i % x.dim() for i in ([dim] if isinstance(dim, int) else dim))


def reduced(t: Tracer, how: str, x: Tensor, dim: Axes, keepdim: bool) -> Node:
    """Returns the sum, mean, max or min along axes, over all vertices among them."""
    axes, rows, node = axes_of(x, dim), t.axis(x.shape), t.whole(x)
    if rows in axes and node.space != "V":
        refuse(f"{how} over all edges is no operation of capgnn: aggregate over the in-edges of each vertex")
    node = t.scale(node, -1) if how == "min" else node
    for axis in reversed(axes):
        if axis != rows:
            node = t.fold("max" if how == "min" else how, node, axis - (rows is not None and axis > rows))
    node = t.scale(node, -1) if how == "min" else node
    if rows in axes:
        node = t.emit("sum_all", [node], node.shape, "G")
        node = t.div(node, t.number(t.vertices)) if how == "mean" else node
    shape = [1 if i in axes else size for i, size in enumerate(x.shape) if keepdim or i not in axes]
    return t.reshape(node, t.behind(shape))


@calls("sum")
def sum_(t: Tracer, out: Tensor, x: Tensor, dim: Axes = None, keepdim: bool = False, **_: Any) -> Node:
    return reduced(t, "sum", x, _.get("axis", dim), _.get("keepdims", keepdim))


@calls("mean")
def mean(t: Tracer, out: Tensor, x: Tensor, dim: Axes = None, keepdim: bool = False, **_: Any) -> Node:
    return reduced(t, "mean", x, _.get("axis", dim), _.get("keepdims", keepdim))


def _extreme(how: str) -> Any:
    def handler(t: Tracer, out: Any, x: Tensor, dim: Any = None, keepdim: bool = False, **_: Any) -> Any:
        if isinstance(dim, Tensor):
            refuse(f"the {how} of two tensors is no operation of capgnn")
        if t.axis(x.shape) in axes_of(x, dim):  # which refuses only those who use it: `if x.max() > 10` gets its own error
            return Mask(None, f"{how} over all vertices or edges is no operation of capgnn")
        node = reduced(t, how, x, dim, keepdim)
        return node if isinstance(out, Tensor) else [node, Mask(None, f"places of a {how} are no operation of capgnn")]
    return handler


calls("max", "amax", "maximum")(_extreme("max"))
calls("min", "amin", "minimum")(_extreme("min"))


@calls("var")
def var(t: Tracer, out: Tensor, x: Tensor, dim: Any = None, unbiased: bool = True, keepdim: bool = False, *, correction: Optional[float] = None) -> Node:
    if isinstance(dim, bool):  # var(x, unbiased)
        dim, unbiased = None, dim
    minus = correction if correction is not None else float(unbiased)
    middle = t.bind(t.empty([1 if i in axes_of(x, dim) else s for i, s in enumerate(x.shape)]), reduced(t, "mean", x, dim, True))
    square = t.bind(t.empty(x.shape), t.function("square", sub(t, x, x, middle)))
    node, count = reduced(t, "mean", square, dim, keepdim), math.prod(x.shape[i] for i in axes_of(x, dim))
    if not minus:
        return node
    if count % t.vertices:
        return t.scale(node, count / (count - minus))
    all_of = t.scale(t.number(t.vertices), count / t.vertices)
    return t.mul([node, t.div(all_of, t.add([all_of, t.number(1)], [1, -minus]))])


@calls("std")
def std(t: Tracer, out: Tensor, x: Tensor, *args: Any, **kwargs: Any) -> Node:
    return t.function("sqrt", var(t, out, x, *args, **kwargs))


@calls("softmax")
def softmax(t: Tracer, out: Tensor, x: Tensor, dim: Optional[int] = None, *_: Any, **__: Any) -> Node:
    rows = t.axis(x.shape)
    axis = (1 if dim is None else dim) % x.dim()
    if axis == rows:
        refuse("softmax over all vertices or edges is no operation of capgnn: name the axis of columns, dim=-1")
    return t.fold("softmax", t.whole(x), axis - (rows is not None and axis > rows))


@calls("log_softmax")
def log_softmax(t: Tracer, out: Tensor, x: Tensor, dim: Optional[int] = None, *_: Any, **__: Any) -> Node:
    return t.function("log", softmax(t, out, x, dim))


def normed(t: Tracer, x: Tensor, p: Any, dim: Axes, keepdim: bool) -> Node:
    if p not in (2, 2.0, "fro", None):
        refuse(f"a norm of order {p} is no operation of capgnn: order 2 is")
    square = t.bind(t.empty(x.shape), t.function("square", t.node(x)))
    return t.function("sqrt", reduced(t, "sum", square, dim, keepdim))


@calls("norm", "vector_norm", "linalg_vector_norm", "linalg_norm")
def norm(t: Tracer, out: Tensor, x: Tensor, p: Any = 2, dim: Axes = None, keepdim: bool = False, **_: Any) -> Node:
    return normed(t, x, _.get("ord", p), dim, keepdim)


@calls("normalize")
def normalize(t: Tracer, out: Tensor, x: Tensor, p: float = 2.0, dim: int = 1, eps: float = 1e-12, **_: Any) -> Node:
    shape = list(x.shape)
    shape[dim] = 1
    length = t.bind(t.empty(shape), t.function("clamp", normed(t, x, p, dim, True), low=float(eps)))
    return div(t, out, x, length)


@calls("instance_norm")
def instance_norm(t: Tracer, out: Tensor, x: Tensor, running_mean: Any = None, running_var: Any = None, weight: Any = None, bias: Any = None,
                  use_input_stats: bool = True, momentum: float = 0.1, eps: float = 1e-5) -> Node:
    if x.dim() != 3 or x.shape[0] != 1 or t.axis(x.shape) != 2 or running_mean is not None:
        refuse("instance_norm with running statistics, or of several graphs, is no operation of capgnn")
    columns = t.bind(t.empty((t.vertices, x.shape[1])), t.reshape(t.whole(x), x.shape[1:2]))
    return t.reshape(batch_norm(t, out, columns, None, None, weight, bias, True, momentum, eps), t.behind(x.shape))


@calls("layer_norm")
def layer_norm(t: Tracer, out: Tensor, x: Tensor, normalized_shape: Sequence[int], weight: Optional[Tensor] = None, bias: Optional[Tensor] = None, eps: float = 1e-5) -> Node:
    if len(normalized_shape) != 1 or (weight is None) != (bias is None):
        refuse("LayerNorm over one axis, with weight and bias or without both, is an operation of capgnn; others are not")
    return t.emit("layer_norm", [t.whole(x), *(t.node(p) for p in (weight, bias) if p is not None)], t.behind(x.shape), eps=float(eps))


@calls("batch_norm")
def batch_norm(t: Tracer, out: Tensor, x: Tensor, running_mean: Optional[Tensor], running_var: Optional[Tensor], weight: Optional[Tensor] = None,
               bias: Optional[Tensor] = None, training: bool = False, momentum: float = 0.1, eps: float = 1e-5) -> Node:
    node = t.whole(x)
    if node.space != "V" or len(node.shape) != 1:
        refuse("BatchNorm of edges is no operation of capgnn: use LayerNorm, or BatchNorm of vertices")
    given = (weight, bias, running_mean, running_var)
    if any((p is None) != (q is None) for p, q in zip(given[::2], given[1::2])) or weight is None and running_mean is not None:
        refuse("BatchNorm with running statistics but without weight and bias is no operation of capgnn: use affine=True or track_running_stats=False")
    return t.emit("batch_norm", [node, *(t.node(p) for p in given if p is not None)], node.shape, eps=float(eps), momentum=float(momentum))


@calls("gru_cell")
def gru_cell(t: Tracer, out: Tensor, x: Tensor, hidden: Tensor, w_x: Tensor, w_h: Tensor, b_x: Optional[Tensor] = None, b_h: Optional[Tensor] = None) -> Node:
    width, h = hidden.shape[-1], t.whole(hidden)
    wide = t.empty((*out.shape[:-1], 3 * width))
    gates: List[Tuple[Node, ...]] = []
    for node in (linear(t, wide, x, w_x, b_x), linear(t, wide, hidden, w_h, b_h)):
        gates.append(tuple(t.emit("slice", [node], h.shape, axis=0, lo=i * width, hi=(i + 1) * width) for i in range(3)))
    (reset_x, update_x, new_x), (reset_h, update_h, new_h) = gates
    reset, update = (t.function("sigmoid", t.add(pair, [1, 1])) for pair in ((reset_x, reset_h), (update_x, update_h)))
    new = t.function("tanh", t.add([new_x, t.mul([reset, new_h])], [1, 1]))
    return t.add([new, t.mul([update, t.add([h, new], [1, -1])])], [1, 1])
