"""What sums, means, softmax and norms write, along columns and over all vertices, and layers made of them."""

from __future__ import annotations

import math
from typing import Any, List, Optional, Sequence, Union

from torch import Tensor

from .elementwise import div, sub
from .errors import lacks, refuse
from .nodes import Node
from .tracer import Mask, Tracer, calls

Axes = Union[int, Sequence[int], None]


def axes_of(x: Tensor, dim: Axes) -> List[int]:
    return (
        list(range(x.dim()))
        if dim is None or dim == ()
        else sorted(i % x.dim() for i in ([dim] if isinstance(dim, int) else dim))
    )


def reduced(t: Tracer, how: str, x: Tensor, dim: Axes, keepdim: bool) -> Node:
    """Returns the sum, mean, max or min along axes, over all vertices among them."""
    axes, rows, node = axes_of(x, dim), t.axis(x.shape), t.whole(x)
    if rows in axes and node.space != "V":
        lacks(f"{how} over all edges", "aggregate over the in-edges of each vertex")
    node = t.scale(node, -1) if how == "min" else node
    for axis in reversed(axes):
        if axis != rows:
            node = t.fold("max" if how == "min" else how, node, t.place(x.shape, axis))
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
            lacks(f"the {how} of two tensors")
        if t.axis(x.shape) in axes_of(
            x, dim
        ):  # which refuses only those who use it: `if x.max() > 10` gets its own error
            return Mask(None, f"{how} over all vertices or edges is no operation of capgnn")
        node = reduced(t, how, x, dim, keepdim)
        return node if isinstance(out, Tensor) else [node, Mask(None, f"places of a {how} are no operation of capgnn")]

    return handler


calls("max", "maximum")(_extreme("max"))
calls("min", "minimum")(_extreme("min"))


@calls("amax", "amin")
def amax(t: Tracer, out: Tensor, x: Tensor, *_: Any, **__: Any) -> None:
    lacks("amax or amin, whose gradient is shared by equal entries,", "use max(dim)[0] or min(dim)[0], where one has it")


@calls("var")
def var(
    t: Tracer, out: Tensor, x: Tensor, dim: Any = None, unbiased: bool = True, keepdim: bool = False, *,
    correction: Optional[float] = None
) -> Node:
    if isinstance(dim, bool):  # var(x, unbiased)
        dim, unbiased = None, dim
    minus = correction if correction is not None else float(unbiased)
    shape = [1 if i in axes_of(x, dim) else s for i, s in enumerate(x.shape)]
    middle = t.made(shape, reduced(t, "mean", x, dim, True))
    square = t.made(x.shape, t.function("square", sub(t, x, x, middle)))
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
        lacks("softmax over all vertices or edges", "name the axis of columns, dim=-1")
    return t.fold("softmax", t.whole(x), t.place(x.shape, axis))


@calls("log_softmax")
def log_softmax(t: Tracer, out: Tensor, x: Tensor, dim: Optional[int] = None, *_: Any, **__: Any) -> Node:
    return t.function("log", softmax(t, out, x, dim))


def normed(t: Tracer, x: Tensor, p: Any, dim: Axes, keepdim: bool) -> Node:
    if p not in (2, 2.0, "fro", None):
        lacks(f"a norm of order {p}", "order 2 is")
    square = t.made(x.shape, t.function("square", t.node(x)))
    return t.function("sqrt", reduced(t, "sum", square, dim, keepdim))


@calls("norm", "vector_norm", "linalg_vector_norm", "linalg_norm")
def norm(t: Tracer, out: Tensor, x: Tensor, p: Any = 2, dim: Axes = None, keepdim: bool = False, **_: Any) -> Node:
    return normed(t, x, _.get("ord", p), dim, keepdim)


@calls("normalize")
def normalize(t: Tracer, out: Tensor, x: Tensor, p: float = 2.0, dim: int = 1, eps: float = 1e-12, **_: Any) -> Node:
    shape = list(x.shape)
    shape[dim] = 1
    length = t.made(shape, t.function("clamp", normed(t, x, p, dim, True), low=float(eps)))
    return div(t, out, x, length)


@calls("instance_norm")
def instance_norm(
    t: Tracer, out: Tensor, x: Tensor, running_mean: Any = None, running_var: Any = None, weight: Any = None,
    bias: Any = None, use_input_stats: bool = True, momentum: float = 0.1, eps: float = 1e-5
) -> Node:
    if x.dim() != 3 or x.shape[0] != 1 or t.axis(x.shape) != 2 or running_mean is not None:
        lacks("instance_norm with running statistics, or of several graphs,")
    columns = t.made((t.vertices, x.shape[1]), t.reshape(t.whole(x), x.shape[1:2]))
    return t.reshape(batch_norm(t, out, columns, None, None, weight, bias, True, momentum, eps), t.behind(x.shape))


@calls("layer_norm")
def layer_norm(
    t: Tracer, out: Tensor, x: Tensor, normalized_shape: Sequence[int], weight: Optional[Tensor] = None,
    bias: Optional[Tensor] = None, eps: float = 1e-5
) -> Node:
    if len(normalized_shape) != 1 or (weight is None) != (bias is None):
        refuse(
            "LayerNorm over one axis, with weight and bias or without both, is an operation of capgnn; others are not"
        )
    return t.emit(
        "layer_norm", [t.whole(x), *(t.node(p) for p in (weight, bias) if p is not None)], t.behind(x.shape),
        eps=float(eps)
    )


@calls("batch_norm")
def batch_norm(
    t: Tracer, out: Tensor, x: Tensor, running_mean: Optional[Tensor], running_var: Optional[Tensor],
    weight: Optional[Tensor] = None, bias: Optional[Tensor] = None, training: bool = False, momentum: float = 0.1,
    eps: float = 1e-5
) -> Node:
    node = t.whole(x)
    if node.space != "V" or len(node.shape) != 1:
        lacks("BatchNorm of edges", "use LayerNorm, or BatchNorm of vertices")
    given = (weight, bias, running_mean, running_var)
    if (
        any((p is None) != (q is None) for p, q in zip(given[::2], given[1::2]))
        or weight is None
        and running_mean is not None
    ):
        lacks(
            "BatchNorm with running statistics but without weight and bias",
            "use affine=True or track_running_stats=False",
        )
    count = len(t.nodes)
    made = t.emit(
        "batch_norm",
        [node, *(t.node(p) for p in given[:2] if p is not None), *(t.tensor(p) for p in given[2:] if p is not None)],
        node.shape, eps=float(eps), momentum=float(momentum)
    )
    if running_mean is not None and len(t.nodes) == count:  # whose running statistics would be updated once
        refuse("the same BatchNorm is given the same rows twice: call it once, and use what it returns in both places")
    return made
