"""The normal form of a store (docs/formats/store.md): arrays of a graph are checked and converted. What is lost is warned of."""
from __future__ import annotations

import operator
from typing import Any, Dict, List, Optional, Sequence, Tuple, Union

import numpy as np

from .given import SETS, held_by, some, sparse_rows, to_numpy, warn

Store = Dict[str, np.ndarray]
Names = Dict[str, List[str]]

# SPARSE_SHARE is the share of x that may differ from 0 for x to be written sparse: bags of words have 1 %, embeddings all.
SPARSE_SHARE = 0.05
# EXACT is the number up to which float32 holds all whole numbers.
EXACT = 1 << 24
# ROUNDED is the share of a column's range by which float32 may move a value in silence; of values as large as their range it is 6e-8.
ROUNDED = 1e-4
# MANY_CLASSES is the number of classes that any graph may have; more are only those of a graph with as many vertices.
MANY_CLASSES = 1000
# BLOCK is the number of values that are converted at once, so that a large array is not held twice more.
BLOCK = 1 << 20


def normal_form(data: Any, split: Optional[int], sparse: Optional[bool]) -> Tuple[Store, Dict[str, Any], Names]:
    """Returns the arrays of a store, what meta.json says of them, and names: "id" of vertices, "column" of x."""
    held = held_by(data)
    edges, weights, size = _edges(held)
    n = _vertices(held, edges, size)
    out: Store = {}
    names: Names = {}
    out["indptr"], out["indices"], weights = _adjacency(edges, n, weights)
    if "edge_index" in held and "adj_t" in held:
        _check_same(held["adj_t"], out["indptr"], out["indices"], weights)
    meta: Dict[str, Any] = {"vertices": n, "edges": len(out["indices"])}
    if weights is not None and (weights != 1).any():
        out["weights"], meta["weighted"] = weights, True
    meta.update({"features": 0, "sparse": False, "classes": 0, "multi_label": False})
    if "x" in held:
        features, cols = _features(held["x"], n, sparse)
        if cols:
            out.update(features)
            meta.update(features=cols, sparse="x" not in features)
        else:
            warn("x has no columns: the graph is written without features")
        head = list(getattr(held["x"], "columns", []))  # of a DataFrame
        if head != list(range(len(head))):  # which pandas numbers where nothing names them
            names["column"] = texts(["_".join(map(str, c)) if isinstance(c, tuple) else c for c in head], "columns")
    if "y" in held:
        out["y"], meta["classes"] = _labels(to_numpy(held["y"], "y"), n)
        meta["multi_label"] = out["y"].ndim == 2
    masks = _split(held, n, split)
    out.update(masks)
    meta.update({key[:-len("_mask")]: int(mask.sum()) for key, mask in masks.items()})
    if "ids" in held:
        ids = _ids(held["ids"], n)
        if isinstance(ids, list):
            names["id"] = ids
        else:
            out["ids"] = ids
    return out, meta, names


def _edges(held: Dict[str, Any]) -> Tuple[np.ndarray, Optional[np.ndarray], int]:
    """Returns edges [2, m], sources and targets, their weights, None if there are none, and the vertices that an adj_t says, else 0."""
    weights, key = held.get("edge_weight"), "edge_weight"
    attributes, size = held.get("edge_attr"), 0
    if "edge_index" in held:
        edges = to_numpy(held["edge_index"], "edge_index")
        if edges.ndim != 2 or edges.shape[0] != 2 or edges.size and edges.dtype.kind not in "iu":
            turn = ": transpose it" if edges.ndim == 2 and edges.shape[1] == 2 and edges.dtype.kind in "iu" else ""
            raise ValueError(f"edge_index: {edges.dtype} {edges.shape}, want integers [2, edges]{turn}")
    else:
        found = sparse_rows(held["adj_t"], "adj_t")
        if found is None:
            raise ValueError("adj_t: it is dense, want a sparse matrix; or give edge_index = adj_t.t().nonzero().t()")
        target, source, value, shape = found  # rows are targets
        if shape[0] != shape[1]:
            raise ValueError(f"adj_t: {shape}, want [vertices, vertices]")
        if weights is not None:
            raise ValueError("edge_weight: the order of edges in adj_t may be another: make the weights its values, or give edge_index")
        edges, size = np.stack([source, target]), shape[0]
        if attributes is not None or value is not None and value.ndim > 1:
            warn("edge_attr beside adj_t is not written: capgnn does not use features of edges")
        attributes, weights, key = None, value if value is None or value.ndim == 1 else None, "adj_t"
    if attributes is not None:
        shape = tuple(attributes.shape)
        if weights is not None or len(shape) > 2 or len(shape) == 2 and shape[1] != 1:
            warn("edge_attr is not written: capgnn does not use features of edges")
        else:
            warn("edge_attr has one column: it is written as weights of edges")
            key, weights = "edge_attr", attributes
    return edges, None if weights is None else _weights(to_numpy(weights, key), key, edges.shape[1]), size


def _check_same(adj_t: Any, indptr: np.ndarray, indices: np.ndarray, weights: Optional[np.ndarray]) -> None:
    """Raises ValueError if adj_t holds other edges than those of edge_index, or weights that they do not have."""
    edges, values, size = _edges({"adj_t": adj_t})
    same = size == len(indptr) - 1
    if same:
        starts, sources, values = _adjacency(edges, size, values)
        same = np.array_equal(starts, indptr) and np.array_equal(sources, indices)
        ones = values is None or bool((values == 1).all())
        same = same and (ones or weights is not None and np.array_equal(values, weights))
    if not same:
        raise ValueError("adj_t: it has other edges or weights than edge_index: drop one of them")


def _vertices(held: Dict[str, Any], edges: np.ndarray, size: int) -> int:
    """Returns the number of vertices: what x or y has, else num_nodes, else what edges need."""
    need = _largest(edges) + 1
    said = {key: _rows(held[key]) for key in ("x", "y") if key in held}
    if "x" not in said and said.get("y", 0) < need:  # y may be of the graph
        said.pop("y", None)
    if held.get("num_nodes") is not None:
        try:
            said["num_nodes"] = operator.index(held["num_nodes"])
        except TypeError:
            raise ValueError(f"num_nodes: {held['num_nodes']!r} is no whole number") from None
    if size:
        said["adj_t"] = size
    key, n = next(iter(said.items()), ("edge_index", need))
    if n < 1:
        raise ValueError(f"{key}: it says {n} vertices: a store has at least one")
    for other in ("num_nodes", "adj_t"):
        if said.get(other, n) != n:
            raise ValueError(f"{other}: it says {said[other]} vertices, {key} has {n}")
    if edges.size and (edges.min() < 0 or need > n):
        shape = tuple(getattr(held.get(key), "shape", ()))
        turn = ": transpose x, which has a row for each vertex" if key == "x" and len(shape) == 2 and shape[1] >= need else ""
        raise ValueError(f"edge_index: it has vertices from {edges.min()} to {edges.max()}, {key} says 0 to {n - 1}{turn}")
    return n


def _largest(array: np.ndarray) -> int:
    return int(array.max()) if array.size else -1  # max(initial=-1) is 255 of uint8


def _rows(array: Any) -> int:
    if hasattr(array, "sparse_sizes"):
        return int(array.sparse_sizes()[0])
    shape = array.shape if hasattr(array, "shape") else np.shape(array)
    return int(shape[0]) if len(shape) else 1


def _weights(weights: np.ndarray, key: str, m: int) -> np.ndarray:
    """Returns the weights of m edges as float32."""
    if weights.shape not in ((m,), (m, 1)):
        raise ValueError(f"{key}: {weights.shape}, want one for each of {m} edges")
    weights = weights.reshape(m)
    with np.errstate(over="ignore"):
        narrow = weights.astype(np.float32)
    bad = np.flatnonzero(~np.isfinite(narrow))
    if len(bad):
        raise ValueError(f"{key}: it has values that are not finite numbers of float32: {weights[bad[0]]} at edge {bad[0]}")
    rounded = np.count_nonzero((np.abs(narrow) > EXACT) & (narrow != weights))
    if rounded:
        warn(f"{key}: weights that lose digits in float32, which holds whole numbers up to {EXACT}: {rounded} of {m}; scale them")
    return narrow


def _adjacency(edges: np.ndarray, n: int, weights: Optional[np.ndarray]) -> Tuple[np.ndarray, np.ndarray, Optional[np.ndarray]]:
    """Returns indptr, indices and weights: row v has the sources of edges to v, ascending, each once."""
    if n > np.iinfo(np.int32).max:
        raise ValueError(f"edge_index: {n} vertices, a store holds at most {np.iinfo(np.int32).max}")
    pairs, back = np.unique(edges[1].astype(np.int64) * max(n, 1) + edges[0].astype(np.int64), return_inverse=True)
    if weights is not None:
        total = np.zeros(len(pairs), dtype=np.float32)
        np.add.at(total, back.reshape(-1), weights)
        if not np.isfinite(total).all():
            raise ValueError("edge_weight: weights of a repeated edge add up to more than float32 holds: scale them")
        weights = total
    target, source = np.divmod(pairs, max(n, 1))
    indptr = np.zeros(n + 1, dtype=np.int64)
    np.cumsum(np.bincount(target, minlength=n), out=indptr[1:])
    return indptr, source.astype(np.int32), weights


def _features(x: Any, n: int, sparse: Optional[bool]) -> Tuple[Store, int]:
    """Returns x, or x_indptr, x_indices and x_data, and the number of columns."""
    rows = sparse_rows(x, "x")
    if rows is None:
        dense = to_numpy(x, "x")
        if dense.ndim != 2 or dense.shape[0] != n:
            raise ValueError(f"x: {dense.shape}, want [{n}, features]{'; of one feature x[:, None]' if dense.ndim == 1 else ''}")
        dense = _float32(dense)
        if sparse is None:
            sparse = bool(np.count_nonzero(dense) <= SPARSE_SHARE * dense.size)
        if not sparse:
            return {"x": dense}, dense.shape[1]
        at, column = np.nonzero(dense)
        value, shape = dense[at, column], dense.shape
    else:
        at, column, value, shape = rows
        if shape[0] != n:
            raise ValueError(f"x: {shape}, want [{n}, features]")
        value = _float32_of(np.ones(len(at), np.float32) if value is None else value, at, column, shape[1])
    cols = int(shape[1])
    pairs, back = np.unique(at * max(cols, 1) + column, return_inverse=True)
    total = np.zeros(len(pairs), dtype=np.float32)
    np.add.at(total, back.reshape(-1), value)  # repeats are added up
    indptr = np.zeros(n + 1, dtype=np.int64)
    np.cumsum(np.bincount(pairs // max(cols, 1), minlength=n), out=indptr[1:])
    csr = {"x_indptr": indptr, "x_indices": (pairs % max(cols, 1)).astype(np.int32), "x_data": total}
    if sparse is False:
        return {"x": dense_features({**csr, "x_shape": np.array([n, cols])})}, cols
    return csr, cols


def dense_features(store: Store) -> np.ndarray:
    """Returns x of a store as a float32 matrix [n, d]; sparse features (x_indptr, x_indices, x_data) are made dense."""
    if "x" in store:
        return np.array(store["x"], dtype=np.float32)
    if "x_data" not in store:
        raise ValueError("the store has no features")
    n = len(store["x_indptr"]) - 1
    cols = int(store["x_shape"][1]) if "x_shape" in store else int(np.max(store["x_indices"], initial=-1)) + 1
    x = np.zeros((n, cols), dtype=np.float32)
    rows = np.repeat(np.arange(n), np.diff(store["x_indptr"]))
    np.add.at(x, (rows, store["x_indices"]), store["x_data"])
    return x


def _float32(x: np.ndarray) -> np.ndarray:
    """Returns x [n, d] as float32, with a warning of columns whose differences are lost."""
    out = np.empty(x.shape, dtype=np.float32)
    wide = x.dtype.kind in "iu" and x.dtype.itemsize > 2 or x.dtype.kind == "f" and x.dtype.itemsize > 4
    low, high, error = x[:1].copy(), x[:1].copy(), np.zeros(x.shape[1])  # of each column
    step = max(1, BLOCK // max(x.shape[1], 1))
    for begin in range(0, x.shape[0], step):
        block, into = x[begin:begin + step], out[begin:begin + step]
        with np.errstate(over="ignore"):
            into[...] = block
        bad = ~np.isfinite(into)
        if bad.any():
            at, column = np.argwhere(bad)[0]
            raise _not_finite(block[at, column], begin + at, column)
        if wide:
            low, high = np.minimum(low, block.min(axis=0)), np.maximum(high, block.max(axis=0))
            error = np.maximum(error, np.abs(into.astype(np.float64) - block).max(axis=0))
    if wide and len(x):
        lost = np.maximum(np.abs(low.astype(np.float64)), np.abs(high.astype(np.float64))) > EXACT
        if x.dtype.kind == "f":
            lost = lost & (error > 0) | (error > ROUNDED * (high - low))
        _say_rounded(np.flatnonzero((high > low) & lost), x.shape[1])
    return out


def _float32_of(value: np.ndarray, at: np.ndarray, column: np.ndarray, cols: int) -> np.ndarray:
    """Returns the values of a sparse matrix as float32, with a warning of columns whose differences are lost."""
    with np.errstate(over="ignore"):
        out = value.astype(np.float32)
    bad = np.flatnonzero(~np.isfinite(out))
    if len(bad):
        raise _not_finite(value[bad[0]], at[bad[0]], column[bad[0]])
    whole = value.dtype.kind in "iu"
    _say_rounded(np.unique(column[(np.abs(value.astype(np.float64)) > EXACT) & (whole | (out != value))]), cols)
    return out


def _not_finite(value: Any, row: int, column: int) -> ValueError:
    cure = "fill what is missing, such as with numpy.nan_to_num"
    if np.isfinite(value):
        cure = f"values reach {np.finfo(np.float32).max:.4g} in float32: scale them"
    return ValueError(f"x: it has values that are not finite numbers of float32: {value} in row {row}, column {column}: {cure}")


def _say_rounded(columns: np.ndarray, cols: int) -> None:
    if len(columns):
        warn(f"x: float32, which holds whole numbers up to {EXACT}, loses differences of values in column{'s' if len(columns) > 1 else ''} "
             f"{some(columns)} ({len(columns)} of {cols}): standardise first")


def _labels(y: np.ndarray, n: int) -> Tuple[np.ndarray, int]:
    """Returns y as a store has it, and the number of classes."""
    if y.ndim == 2 and y.shape[1] == 1:
        y = y[:, 0]
    if y.ndim not in (1, 2) or y.shape[0] != n:
        raise ValueError(f"y: {y.shape}, want [{n}] or [{n}, classes]")
    if y.ndim == 2:
        return _targets(y), y.shape[1]
    minus = np.count_nonzero(y == -1)
    if y.dtype.kind == "f":
        y = np.where(np.isnan(y), -1, y)  # as data sets of OGB mark vertices without a label
        bad = np.flatnonzero(~np.isfinite(y) | (y != np.floor(y)))
        if len(bad):
            raise ValueError(f"y: classes are whole numbers, not {y[bad[0]]} of vertex {bad[0]}; capgnn does not train on regression targets: "
                             "make classes of them, such as with numpy.digitize")
    below = np.flatnonzero(y < -1)
    if len(below):
        raise ValueError(f"y: {y[below[0]]} of vertex {below[0]} is below -1, which is no label: write -1 where there is none, "
                         "or give classes as numpy.unique(y, return_inverse=True)[1]")
    classes = max(_largest(y), -1) + 1
    if classes > max(n, MANY_CLASSES):
        raise ValueError(f"y: class {classes - 1} of {n} vertices: classes are 0, 1, …: give numpy.unique(y, return_inverse=True)[1]")
    y = y.astype(np.int64)  # no class of more bits is left
    used = np.bincount(y[y >= 0], minlength=classes)
    empty = np.flatnonzero(used == 0)
    if classes == 2 and len(empty) and minus:
        warn(f"y: -1, of {minus} of {n} vertices, is no label; if it is a class, as 1 is, give (y + 1) // 2")
    elif len(empty):
        warn(f"y: classes without a vertex: {len(empty)} of {classes}: {some(empty)}")
    if np.count_nonzero(used) > max(MANY_CLASSES, 0.9 * used.sum()):
        warn(f"y: {np.count_nonzero(used)} classes of {used.sum()} vertices with a label: are they ids?")
    return y, classes


def _targets(y: np.ndarray) -> np.ndarray:
    """Returns several labels per vertex [n, c]."""
    bad = np.argwhere((y != 0) & (y != 1))
    if len(bad):
        at, column = bad[0]
        raise ValueError(f"y: {y.shape} with values other than 0 and 1, such as {y[at, column]} in row {at}, column {column}: "
                         "several labels per vertex are 0 or 1; of several tasks give one column")
    if y.shape[1] > 1 and len(y) and (y.sum(axis=1) == 1).all():
        warn("y has one 1 in each row: it is written as several labels per vertex; for one class of each give y.argmax(1)")
    return np.ascontiguousarray(y, dtype=np.uint8)


def _split(held: Dict[str, Any], n: int, column: Optional[int]) -> Store:
    """Returns the masks that are there, of masks or of numbers of vertices."""
    out: Store = {}
    columns = 0
    for name in SETS:
        key = name + "_mask"
        if key in held:
            mask = to_numpy(held[key], key)
            columns = max(columns, mask.shape[1] if mask.ndim == 2 else 0)
            out[key] = _mask(mask, n, key, column)
        if name + "_idx" in held:
            mask = _mask_of(to_numpy(held[name + "_idx"], name + "_idx"), n, name)
            if key in out and (out[key] != mask).any():
                raise ValueError(f"{name}_idx: it names other vertices than {key}: drop one of them")
            out[key] = mask
    if column is not None and not columns:
        raise ValueError(f"split={column}: no mask has several columns: drop it")
    for i, a in enumerate(SETS):
        for b in SETS[i + 1:]:
            both = int((out[a + "_mask"] & out[b + "_mask"]).sum()) if a + "_mask" in out and b + "_mask" in out else 0
            if both:
                warn(f"{a}_mask and {b}_mask: vertices in both: {both}")
    return out


def _mask(mask: np.ndarray, n: int, key: str, split: Optional[int]) -> np.ndarray:
    if mask.ndim == 2:
        cols = mask.shape[1]
        if split is None and cols != 1:
            raise ValueError(f"{key}: it has {cols} columns: say which with split= of to_store")
        if not 0 <= (split or 0) < cols:
            raise ValueError(f"{key}: split={split}: it has columns 0 to {cols - 1}")
        mask = mask[:, split or 0]
    if mask.shape != (n,) or not (mask.dtype == bool or np.isin(mask, (0, 1)).all()):
        hint = "" if mask.dtype.kind not in "iu" else f", or 0 and 1; numbers of vertices are {key.replace('mask', 'idx')}"
        raise ValueError(f"{key}: {mask.dtype} {mask.shape}, want bool [{n}]{hint}")
    return np.ascontiguousarray(mask, dtype=bool)


def _mask_of(numbers: np.ndarray, n: int, name: str) -> np.ndarray:
    if numbers.ndim == 2 and numbers.shape[1] == 1:
        numbers = numbers[:, 0]
    if numbers.ndim != 1 or numbers.size and numbers.dtype.kind not in "iu":
        hint = f"; a mask is {name}_mask" if numbers.dtype == bool else ""
        raise ValueError(f"{name}_idx: {numbers.dtype} {numbers.shape}, want numbers of vertices{hint}")
    if numbers.size and (numbers.min() < 0 or numbers.max() >= n):
        raise ValueError(f"{name}_idx: it has vertices from {numbers.min()} to {numbers.max()}, the graph has 0 to {n - 1}")
    if n > 2 and len(numbers) == n and numbers.max() <= 1:
        raise ValueError(f"{name}_idx: {n} numbers, all 0 or 1, of {n} vertices are a mask: call it {name}_mask")
    mask = np.zeros(n, dtype=bool)
    mask[numbers.astype(np.int64)] = True
    return mask


def _ids(ids: Any, n: int) -> Union[np.ndarray, List[str]]:
    """Returns ids as int64, or as texts."""
    if isinstance(ids, (list, tuple)):
        ids = np.array(ids, dtype=object)  # in which numbers beside texts stay numbers
    if not hasattr(ids, "detach"):
        ids = np.asarray(ids)
    if tuple(ids.shape) != (n,):
        raise ValueError(f"ids: {tuple(ids.shape)}, want one for each of {n} vertices")
    if getattr(ids.dtype, "kind", "") in ("O", "U", "T"):
        items = ids.tolist()
        if n and all(isinstance(i, str) for i in items):
            return texts(items, "ids")
        kind = str if n and isinstance(items[0], str) else (int, np.integer)
        bad = [v for v, i in enumerate(items) if not isinstance(i, kind) or isinstance(i, bool)]
        if bad:
            raise ValueError(f"ids: {items[bad[0]]!r} of vertex {bad[0]}: want all integers or all texts")
        if min(items, default=0) < -1 << 63 or max(items, default=0) >= 1 << 63:
            raise ValueError(f"ids: from {min(items)} to {max(items)}, want integers of at most 63 bits, or texts")
        ids = np.array(items, dtype=np.int64)
    ids = to_numpy(ids, "ids")
    if ids.dtype.kind not in "iu" or ids.size and ids.max() > np.iinfo(np.int64).max:
        raise ValueError(f"ids: {ids.dtype}, want integers of at most 63 bits, or texts")
    repeats = n - len(np.unique(ids))
    if repeats:
        warn(f"ids: repeats of others: {repeats}")
    return ids.astype(np.int64)


def texts(names: Sequence[Any], what: str) -> List[str]:
    """Returns names as texts, with a warning of those that are there twice."""
    out = [str(n) for n in names]
    for i, text in enumerate(out):
        try:
            text.encode()
        except UnicodeEncodeError:
            raise ValueError(f"{what}: {ascii(text)}, number {i}, is no text of Unicode") from None
    if len(set(out)) != len(out):
        seen: set = set()
        twice = [t for t in out if t in seen or seen.add(t)]  # type: ignore[func-returns-value]
        warn(f"{what}: repeats of others: {len(twice)}: {some(map(repr, dict.fromkeys(twice)))}")
    return out
