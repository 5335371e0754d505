"""What torch's elementwise functions write. Behind tracer and result a handler takes what torch's function takes."""

from __future__ import annotations

import math
import operator
from typing import Any, List, Optional, Union

import torch
from torch import Tensor

from .builder import LEAST
from .errors import lacks, refuse
from .nodes import Node
from .tracer import Mask, Tracer, calls

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
    behind = [t.place(x.shape, i) for i in order if i != rows]
    return t.permute(node, behind)


def swapped(f: Any) -> Any:
    """Returns the handler of a call whose operands are in the other order."""
    return lambda t, out, a, b, **named: f(t, out, b, a, **named)


@calls("add", "iadd")
def add(t: Tracer, out: Tensor, a: Any, b: Any, *, alpha: float = 1, **_: Any) -> Node:
    return t.add([aligned(t, out, a), aligned(t, out, b)], [1, alpha])


@calls("sub", "isub", "subtract")
def sub(t: Tracer, out: Tensor, a: Any, b: Any, *, alpha: float = 1, **_: Any) -> Node:
    return t.add([aligned(t, out, a), aligned(t, out, b)], [1, -alpha])


@calls("mul", "imul", "multiply")
def mul(t: Tracer, out: Tensor, a: Any, b: Any, **_: Any) -> Node:
    return t.mul([aligned(t, out, a), aligned(t, out, b)])


for _name, _f in (("radd", add), ("rsub", sub), ("rmul", mul)):
    calls(_name)(swapped(_f))


@calls("div", "truediv", "itruediv", "true_divide", "divide")
def div(t: Tracer, out: Tensor, a: Any, b: Any, *, rounding_mode: Any = None, **_: Any) -> Node:
    if rounding_mode is not None:
        lacks("a division that rounds")
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
        lacks(f"gelu with approximate={approximate!r}", "use gelu(x)")
    return t.function("gelu", t.node(x))


@calls("prelu")
def prelu(t: Tracer, out: Tensor, x: Tensor, weight: Tensor) -> Node:
    positive = t.function("relu", t.node(x))
    return t.add([positive, t.mul([t.add([t.node(x), positive], [1, -1]), t.node(weight)])], [1, 1])


@calls("softplus")
def softplus(t: Tracer, out: Tensor, x: Tensor, beta: float = 1, threshold: float = 20) -> Node:
    if threshold < 17:  # up to there log(1 + e^x) and x differ in float32
        lacks(f"softplus with the threshold {threshold:g}", "leave it out")
    return t.scale(t.function("softplus", t.scale(t.node(x), beta)), 1 / beta)


@calls("logsigmoid")
def logsigmoid(t: Tracer, out: Tensor, x: Tensor) -> Node:
    return t.scale(t.function("softplus", t.scale(t.node(x), -1)), -1)


@calls("pow", "float_power")
def power(t: Tracer, out: Tensor, x: Any, exponent: Any) -> Node:
    if isinstance(exponent, Tensor) and t.number_of(t.node(exponent)) is None:
        lacks("a power whose exponent is no number", "write exp(y * log(x))")
    e = t.number_of(t.node(exponent))
    return t.function("square", t.node(x)) if e == 2 else t.function("power", t.node(x), exponent=e)


calls("rsqrt")(lambda t, out, x: t.function("power", t.node(x), exponent=-0.5))
calls("reciprocal")(lambda t, out, x: t.function("power", t.node(x), exponent=-1.0))


@calls("log1p")
def log1p(t: Tracer, out: Tensor, x: Tensor) -> Node:
    return t.function("log", t.add([t.node(x), t.number(1)], [1, 1]))


@calls("clamp", "clip", "clamp_min")
def clamp(t: Tracer, out: Tensor, x: Tensor, min: Any = None, max: Any = None) -> Node:
    return t.clamp(t.node(x), min, max)


@calls("dropout")
def dropout(t: Tracer, out: Tensor, x: Tensor, p: float = 0.5, training: bool = True, inplace: bool = False) -> Node:
    if not training or p == 0:
        return t.node(x)
    return t.emit("dropout", [t.whole(x)], t.behind(x.shape), p=float(p))


def _comparison(op: str) -> Any:
    def handler(t: Tracer, out: Tensor, x: Tensor, other: Any = math.inf) -> Union[Mask, Node]:
        a = t.number_of(t.value(x)) if isinstance(t.value(x), Node) else None
        if a is not None and isinstance(other, (int, float)):  # as numbers of one batch are
            return t.number(a == other if op == "isinf" else getattr(operator, op)(a, other))
        return Mask(
            t.node(x) if isinstance(other, (int, float)) and isinstance(t.value(x), Node) else None, COMPARISON, op,
            other
        )

    return handler


for _name in ("eq", "isinf", "le", "lt", "ge", "gt"):
    calls(_name)(_comparison(_name))


@calls("invert", "logical_not", "bitwise_not")
def invert(t: Tracer, out: Tensor, x: Tensor) -> Union[Mask, Node]:
    number = t.number_of(t.value(x)) if isinstance(t.value(x), Node) else None
    return Mask(None, COMPARISON) if number is None else t.number(not number)


@calls(
    "ne", "logical_and", "logical_or", "and", "or", "any", "all", "isfinite", "isnan",
    "argmax", "argmin", "argsort"
)
def decide(t: Tracer, out: Tensor, *_: Any, **__: Any) -> Mask:
    return Mask(None, COMPARISON)


@calls("masked_fill", "setitem")
def masked_fill(t: Tracer, out: Any, x: Tensor, mask: Any, value: Any) -> Optional[Node]:
    """Zeroes where the mask is, or puts a number in place of 0."""
    of = t.value(mask)
    number = t.number_of(of) if isinstance(of, Node) else None
    if isinstance(of, Mask) and of.op == "order" and of == t.value(value):
        t.bind(x, of)
        return None
    if out is not None and number is not None:
        return t.node(value) if number else t.node(x)
    if isinstance(of, Mask) and of.op == "eq" and of.number == 0 and of.node == t.node(x) and out is None:
        zero = t.add([absolute(t, x, x), t.number(LEAST)], [-1 / LEAST, 1 / LEAST])
        zero = t.function("stop", t.function("clamp", zero, low=0.0, high=1.0))
        t.bind(x, t.add([of.node, t.mul([zero, t.node(value)])], [1, 1]))
        return None
    if not (isinstance(of, Mask) and of.node is not None and of.node == t.node(x) and t.number_of(t.node(value)) == 0):
        refuse(
            of.what
            if isinstance(of, Mask)
            else "values are written into some places of a tensor: make it of whole tensors, as with torch.cat"
        )
    if of.number != math.inf:
        node = kept(t, of)
    elif of.node.op == "power" and of.node.attributes["exponent"] < 0:
        node = t.zeroed(of.node)
    else:
        refuse("zeroes in place of infinite values are known where these are a negative power, as in degree.pow(-0.5)")
    if out is None:  # x[mask] = value
        t.bind(x, node)
        return None
    return node


@calls("nan_to_num")
def nan_to_num(
    t: Tracer, out: Tensor, x: Tensor, nan: Any = 0.0, posinf: Any = None, neginf: Any = None
) -> Node:
    """Returns x, with zeroes in place of what is infinite of degrees. Rows are finite, or training ends."""
    made, zeroes = finite(t, t.node(x)), nan in (None, 0) and posinf == 0 and neginf == 0
    if made != t.node(x) and not zeroes:
        lacks("nan_to_num of infinite numbers but for zeroes", "say posinf=0.0 and neginf=0.0")
    return made


def finite(t: Tracer, node: Node) -> Node:
    """Returns a node with zeroes where it is infinite because a negative power of degrees is."""
    inputs = [t.named(name) for name in node.inputs]
    if node.op == "power" and node.attributes["exponent"] < 0:
        base = t.named(inputs[0].inputs[0]) if inputs[0].op in ("src", "dst") else inputs[0]
        return t.zeroed(node) if "degree" in base.attributes.get("what", "") else node
    if node.op == "mul":
        return t.mul([finite(t, x) for x in inputs])
    if node.op in ("src", "dst", "sqrt", "reshape", "add") and len(inputs) == 1:
        return t.emit(node.op, [finite(t, inputs[0])], node.shape, node.space, **node.attributes)
    return node


def kept(t: Tracer, of: Mask) -> Node:
    """Returns values of a node with zeroes where they are at most, or at least, a number: a product with 0 or 1.

    What is the number but for roundings of float32 is the number.
    """
    if of.node is None or of.op not in ("le", "lt", "ge", "gt"):
        refuse(of.what)
    sign = 1.0 if of.op in ("le", "lt") else -1.0
    number = of.number + (1e-6 if of.op in ("le", "gt") else -1e-6) * abs(of.number)
    above = t.add([of.node, t.number(number)], [sign / LEAST, -sign / LEAST])
    return t.mul([of.node, t.function("stop", t.function("clamp", above, low=0.0, high=1.0))])
