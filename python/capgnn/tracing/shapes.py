"""What calls write that move values without arithmetic. Rows keep to themselves: whatever mixes them is refused."""

from __future__ import annotations

import math
from typing import Any, List, Optional, Sequence, Tuple

import torch
from torch import Tensor

from .errors import lacks, refuse
from .nodes import Node
from .elementwise import aligned, moved
from .tracer import IN_ORDER, Mask, Tracer, calls

CHOSEN = "rows are chosen inside the model: return all rows; the store's train_mask chooses"


@calls("contiguous", "clone", "to", "float", "double", "half", "type_as", "cpu", "cuda", "identity", "alias", "real")
def same(t: Tracer, out: Tensor, x: Tensor, *_: Any, **__: Any) -> Optional[Node]:
    if isinstance(t.value(x), Mask):
        t.bind(out, t.value(x))  # type: ignore[arg-type]
        return None
    return t.node(x)


@calls("cat", "concat", "concatenate")
def cat(t: Tracer, out: Tensor, tensors: Sequence[Tensor], dim: int = 0, **_: Any) -> Node:
    axis = _.get("axis", dim) % out.dim()
    if any(t.axis(x.shape) == axis for x in tensors):
        refuse("rows of vertices or edges are put below each other: a vertex has one row")
    space = t.space(out.shape)
    return t.concat([t.whole(x, space) for x in tensors if x.numel()], t.place(out.shape, axis))


@calls("stack")
def stack(t: Tracer, out: Tensor, tensors: Sequence[Tensor], dim: int = 0) -> Node:
    pairs = [(x, x.unsqueeze(dim)) for x in tensors]
    return cat(t, out, [t.made(wide.shape, reshape(t, wide, x)) for x, wide in pairs], dim)


@calls("view", "reshape", "flatten", "unsqueeze", "squeeze", "unflatten", "ravel", "view_as", "reshape_as")
def reshape(t: Tracer, out: Tensor, x: Tensor, *_: Any, **__: Any) -> Node:
    node, a, b = t.node(x), t.axis(x.shape), t.axis(out.shape)
    if a is not None and (b is None or math.prod(x.shape[:a]) != math.prod(out.shape[:b])):
        refuse("rows of vertices are mixed by a reshape: keep their axis apart from columns")
    if t.number_of(node) is not None:
        return node
    return t.reshape(t.whole(x), t.behind(out.shape))


@calls("permute")
def permute(t: Tracer, out: Tensor, x: Tensor, *dims: Any, **named: Any) -> Node:
    order = named.get("dims", dims[0] if dims and not isinstance(dims[0], int) else dims)
    return moved(t, x, [i % x.dim() for i in order])


@calls("transpose", "swapaxes", "swapdims")
def transpose(t: Tracer, out: Tensor, x: Tensor, a: int, b: int) -> Node:
    order = list(range(x.dim()))
    order[a], order[b] = order[b], order[a]
    return moved(t, x, order)


@calls("t")
def transposed(t: Tracer, out: Tensor, x: Tensor) -> Node:
    return moved(t, x, list(range(x.dim()))[::-1])


@calls("adjoint")
def matrices_transposed(t: Tracer, out: Tensor, x: Tensor) -> Node:
    return transpose(t, out, x, -2, -1)


Tracer.getters[torch.Tensor.T.__get__] = transposed  # type: ignore[attr-defined]
Tracer.getters[torch.Tensor.mT.__get__] = matrices_transposed  # type: ignore[attr-defined]


@calls("expand", "expand_as", "broadcast_to")
def expand(t: Tracer, out: Tensor, x: Tensor, *_: Any, **__: Any) -> Node:
    return aligned(t, out, x)


@calls("repeat", "tile")
def repeat(t: Tracer, out: Tensor, x: Tensor, *sizes: Any) -> Node:
    counts = list(sizes[0]) if isinstance(sizes[0], (list, tuple)) else list(sizes)
    if t.axis(x.shape) is not None or t.axis(out.shape) is None:
        shape = [1] * (len(counts) - x.dim()) + list(x.shape)
        x = t.made(shape, reshape(t, t.empty(shape), x))
        for axis, count in enumerate(counts):
            if count > 1:
                wide = t.empty([s * (count if i == axis else 1) for i, s in enumerate(x.shape)])
                x = t.bind(wide, cat(t, wide, [x] * count, axis))
        return t.node(x)
    return aligned(t, out, x)  # a value for all rows


@calls("getitem")
def getitem(t: Tracer, out: Tensor, x: Tensor, index: Any) -> Node:
    keys = list(index) if isinstance(index, tuple) else [index]
    tensors = [k for k in keys if isinstance(k, (Tensor, list))]
    if tensors:
        return looked_up(t, out, x, tensors[0], len(keys) == 1)
    if any(k is Ellipsis for k in keys):
        i = next(i for i, k in enumerate(keys) if k is Ellipsis)
        keys[i : i + 1] = [slice(None)] * (x.dim() - sum(k is not None and k is not Ellipsis for k in keys))
    if t.number_of(t.node(x)) is not None:
        return t.node(x)
    node, rows = t.whole(x), t.axis(x.shape)
    for axis, k in enumerate(k for k in keys if k is not None):
        size = x.shape[axis]
        begin, end, step = (k % size, k % size + 1, 1) if isinstance(k, int) else k.indices(size)
        if (begin, end, step) == (0, size, 1):
            continue
        if axis == rows:
            refuse(CHOSEN)
        if step != 1:
            lacks("a slice with a step")
        node = sliced(t, node, t.place(x.shape, axis), begin, end)
    return t.reshape(node, t.behind(out.shape))


def sliced(t: Tracer, node: Node, axis: int, begin: int, end: int) -> Node:
    return t.emit(
        "slice", [node], (*node.shape[:axis], end - begin, *node.shape[axis + 1 :]), axis=axis, lo=begin, hi=end
    )


def looked_up(t: Tracer, out: Tensor, x: Tensor, index: Any, alone: bool) -> Node:
    """Returns the one row of a batch for all vertices, whose numbers are 0. Nothing else can be looked up."""
    value = t.value(index)
    if alone and isinstance(value, Mask) and value.op == "order" and t.axis(x.shape) == 0:
        return t.node(x)
    number = t.number_of(value) if isinstance(value, Node) else None
    if alone and number == 0 and x.shape[0] == 1:
        return t.reshape(t.whole(x), x.shape[1:])
    refuse(CHOSEN)


@calls("sort")
def sort(t: Tracer, out: Any, x: Tensor, *_: Any, **__: Any) -> List[Any]:
    """Returns numbers that are all the same, as those of one batch, as they are."""
    if t.number_of(t.node(x)) is None or x.dim() != 1:
        lacks("torch's sort")
    return [t.node(x), Mask(None, IN_ORDER, "order")]


@calls("index_select")
def index_select(t: Tracer, out: Tensor, x: Tensor, dim: int, index: Any) -> Node:
    return looked_up(t, out, x, index, dim % x.dim() == 0)


@calls("split", "chunk", "tensor_split", "split_with_sizes")
def split(t: Tracer, out: Sequence[Tensor], x: Tensor, _: Any, dim: int = 0) -> List[Node]:
    axis, node, at, nodes = dim % x.dim(), t.whole(x), 0, []  # type: Tuple[int, Node, int, List[Node]]
    if axis == t.axis(x.shape):
        refuse(CHOSEN)
    axis = t.place(x.shape, axis)
    for part in out:
        nodes.append(sliced(t, node, axis, at, at + part.shape[dim]))
        at += part.shape[dim]
    return nodes


@calls("unbind")
def unbind(t: Tracer, out: Sequence[Tensor], x: Tensor, dim: int = 0) -> List[Node]:
    pieces = split(t, [x.narrow(dim, 0, 1)] * len(out), x, 1, dim)
    return [t.reshape(node, t.behind(part.shape)) for node, part in zip(pieces, out)]


@calls("iter")
def iterate(t: Tracer, out: Any, x: Tensor) -> None:
    refuse("a loop over rows is no operation of capgnn" if t.axis(x.shape) == 0 else "a loop over a tensor: use unbind")
