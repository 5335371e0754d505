"""What a graph of Python holds: arrays by capgnn's names, of a Data, a HeteroData, a DGL graph, or anything like them.

Neither library is imported: a graph is known by its attributes.
"""
from __future__ import annotations

import itertools
import os
import sys
import warnings
from typing import Any, Dict, Iterable, List, Optional, Sequence, Tuple

import numpy as np

SETS = ("train", "val", "test")
Names = Dict[str, Tuple[str, ...]]

# Each array may have one of these names; the first that is there counts, and others of a set must be equal to it.
SPLIT: Names = {names[0] + end: tuple(name + end for name in names) for end in ("_mask", "_idx")
                for names in (("train", "training"), ("val", "valid", "validation", "dev"), ("test", "testing"))}
PLAIN: Names = {**{k: (k,) for k in ("edge_index", "adj_t", "edge_weight", "edge_attr", "x", "y", "ids", "num_nodes")}, **SPLIT}
DGL_VERTICES: Names = {"x": ("feat", "features", "x", "attr"), "y": ("label", "labels", "y"), "ids": ("ids",), **SPLIT}
DGL_EDGES: Names = {"edge_weight": ("weight", "w", "edge_weight")}


def held_by(data: Any) -> Dict[str, Any]:
    """Returns the arrays of a graph by the names of PLAIN, as it has them. A warning names what it holds beside.

    raises: ValueError for a graph of several types of vertices or edges, and for what is no graph
    """
    if callable(getattr(data, "edges", None)) and hasattr(data, "ndata"):
        return _of_dgl(data)
    if hasattr(data, "node_types") and hasattr(data, "edge_types"):
        return _of_hetero(data)
    if callable(getattr(data, "is_directed", None)) and callable(getattr(data, "is_multigraph", None)):
        return _of_networkx(data)
    if callable(getattr(data, "indices", None)) and callable(getattr(data, "len", None)):
        if len(data) != 1:  # a Dataset, whose arrays number the vertices of each graph from 0
            raise ValueError(f"{type(data).__name__}: it has {len(data)} graphs: give one, such as dataset[0], "
                             "or all in one: Batch.from_data_list(list(dataset))")
        return held_by(data[0])
    fields = _fields(data)
    split = fields.get("split_idx")
    if isinstance(split, dict):  # as ogb's get_idx_split returns it
        fields = {**fields, "split_idx": None, **{f"{name}_idx": of for name, of in split.items()}}
    held, others = _take(fields, PLAIN)
    if "x" not in held and "y" not in held and "num_nodes" not in held:  # a Data may know it all the same
        held["num_nodes"] = getattr(data, "num_nodes", None)
    if "edge_index" not in held and "adj_t" not in held:
        if hasattr(data, "__getitem__") and hasattr(data, "__len__") and not hasattr(data, "keys"):
            raise ValueError(f"edge_index: an object of type {type(data).__name__} has none; of a data set give one of its graphs, "
                             "such as dataset[0]")
        raise ValueError("edge_index: there is none, and no adj_t: give the edges as integers [2, edges]")
    _say_unread(others)
    _say_order(held)
    return held


def _say_order(held: Dict[str, Any]) -> None:
    """Warns of arrays of pandas whose index is not 0, 1, …, as after sample, sort_values or merge, nor that of ids.

    raises: ValueError for arrays of vertices whose indexes are not the same
    """
    of = {key: value.index for key, value in held.items() if hasattr(value, "iloc")}
    odd = {key for key, index in of.items() if not _counts(index) and (_of_vertices(key) or index.dtype.kind in "iu")}
    if not odd:
        return
    rows = [key for key in of if _of_vertices(key)]
    for a, b in itertools.combinations(rows, 2):
        if len(of[a]) == len(of[b]) and not of[a].equals(of[b]) and ({a, b} <= odd or set(of[a]) == set(of[b])):
            raise ValueError(f"{b}: its index is not that of {a}: give {b}.loc[{a}.index], or, if rows belong together by place, "
                             "reset_index(drop=True) of both")
    ids = held.get("ids", ())
    ids = [str(i) for i in np.atleast_1d(np.asarray(ids.tolist() if hasattr(ids, "tolist") else ids, object))]
    for key in odd.intersection(rows):
        index = [str(i) for i in of[key]]
        if index == ids:
            odd.remove(key)
        elif len(index) == len(ids) and set(index) == set(ids):
            raise ValueError(f"{key}: its index is in another order than ids: give {key}.loc[ids]")
    if odd:
        warn(f"{', '.join(k for k in of if k in odd)}: {'its' if len(odd) == 1 else 'their'} index is not 0, 1, …: rows are taken by place; "
             "sort_index() puts them in the order of the index")


def _of_vertices(key: str) -> bool:
    return key in ("x", "y", "ids") or key.endswith("_mask")


def _counts(index: Any) -> bool:
    """Reports whether an index of pandas is 0, 1, …, as numbers or as texts."""
    names = np.asarray(index)
    if names.dtype.kind in "iuf":
        return np.array_equal(names, np.arange(len(names)))
    return all(str(name) == str(i) for i, name in enumerate(names))


def _of_hetero(data: Any) -> Dict[str, Any]:
    vertices, edges = list(data.node_types), list(data.edge_types)
    if len(vertices) != 1 or len(edges) != 1 or not edges[0][0] == edges[0][2] == vertices[0]:
        within = [e for e in edges if e[0] == e[2]]
        cure = "make one of each with data.to_homogeneous()"
        if within:
            pair = f"{{**data[{within[0][0]!r}], **data[{', '.join(map(repr, within[0]))}]}}"
            cure = f"give one of each, such as {pair}, or data.to_homogeneous()"
        raise ValueError(f"HeteroData: types of vertices: {some(vertices)}; of edges: {some(['-'.join(e) for e in edges])}; "
                         f"capgnn takes one of each: {cure}")
    held = {**data[vertices[0]], **data[edges[0]]}
    if "x" not in held and "y" not in held:
        held["num_nodes"] = data[vertices[0]].num_nodes
    return held_by(held)


def _of_dgl(g: Any) -> Dict[str, Any]:
    vertices, edges = list(getattr(g, "ntypes", [""])), list(getattr(g, "canonical_etypes", getattr(g, "etypes", [""])))
    if getattr(g, "is_block", False):
        raise ValueError("DGL graph: it is a block of sampled neighbours: give the whole graph")
    if len(vertices) != 1 or len(edges) != 1:
        names = [e if isinstance(e, str) else "-".join(e) for e in edges]
        raise ValueError(f"DGL graph: types of vertices: {some(vertices)}; of edges: {some(names)}; capgnn takes one of each: "
                         "give dgl.to_homogeneous(g, ndata=[...]), or a graph of one type of edges")
    held, others = _take(dict(g.ndata), DGL_VERTICES)
    weights, more = _take(dict(g.edata), DGL_EDGES)
    source, target = g.edges()
    held.update(weights, num_nodes=g.num_nodes(), edge_index=np.stack([to_numpy(source, "edges"), to_numpy(target, "edges")]))
    _say_unread([f"ndata[{k!r}]" for k in others] + [f"edata[{k!r}]" for k in more])
    return held


def _of_networkx(g: Any) -> Dict[str, Any]:
    """Vertices are numbered in the order of the graph, or by their names where these are 0, 1, …"""
    names = [str(v) for v in g]
    numbered = set(names) == {str(i) for i in range(len(names))}
    number = {v: int(name) if numbered else i for i, (v, name) in enumerate(zip(g, names))}
    edges = [(number[u], number[v], d) for u, v, d in g.edges(data=True)]
    parallel = len(edges) - len({(u, v) if g.is_directed() or u < v else (v, u) for u, v, _ in edges})
    if not g.is_directed():
        edges += [(v, u, d) for u, v, d in edges if u != v]
    weights = [d.get("weight") for _, _, d in edges]
    missing = weights.count(None)
    if 0 < missing < len(edges):
        warn("some edges have no weight: they weigh 1, as in networkx")
    if parallel:
        warn(f"parallel edges are written once, with the sum of their weights: {parallel}")
    kinds = (("nodes", [d for _, d in g.nodes(data=True)]), ("edges", [d for _, _, d in edges]))
    _say_unread(sorted({f"{of}[{k!r}]" for of, dicts in kinds for d in dicts for k in d} - {"edges['weight']"}))
    held: Dict[str, Any] = {"edge_index": np.array([e[:2] for e in edges], np.int64).reshape(-1, 2).T, "num_nodes": len(names)}
    if parallel or missing < len(edges):
        held["edge_weight"] = np.array([1 if w is None else float(str(w).strip('"')) for w in weights])
    if not numbered:
        held["ids"] = list(g) if all(type(v) is int for v in g) else names
    return held


def _fields(data: Any) -> Dict[str, Any]:
    """Returns everything that a mapping or an object has."""
    keys = getattr(data, "keys", None)
    if keys is not None:  # a mapping or a Data, which had it as a property once
        return {str(k): data[k] for k in (keys() if callable(keys) else keys)}
    known = {k for names in PLAIN.values() for k in names if k != "num_nodes"}
    out = {k: getattr(data, k, None) for k in known}
    return {**out, **getattr(data, "__dict__", {})}


def _take(fields: Dict[str, Any], names: Names) -> Tuple[Dict[str, Any], List[str]]:
    """Returns what is there by our names, and the names of the other arrays."""
    held, taken = {}, set()
    for ours, theirs in names.items():
        there = [key for key in theirs if fields.get(key) is not None]
        if not there:
            continue
        held[ours] = fields[there[0]]
        taken.add(there[0])
        for key in there[1:] if ours in SPLIT else []:
            if not _same_set(to_numpy(held[ours], there[0]), to_numpy(fields[key], key), ours.endswith("_idx")):
                raise ValueError(f"{key}: there is also {there[0]}, with other vertices: keep one")
            taken.add(key)
    others = sorted(set(fields) - taken)
    return held, [k for k in others if not k.startswith("_") and (hasattr(fields[k], "shape") or isinstance(fields[k], (list, tuple, dict)))]


def _same_set(a: np.ndarray, b: np.ndarray, numbers: bool) -> bool:
    """Reports whether two masks, or two lists of numbers of vertices, are of the same ones."""
    return np.array_equal(np.unique(a), np.unique(b)) if numbers else np.array_equal(a.ravel(), b.ravel())


def _say_unread(names: Sequence[str]) -> None:
    if names:
        warn(f"not written: {some(names)}: a store has no arrays of these names")


def some(names: Iterable[Any], most: int = 6) -> str:
    """Returns the first of the names, and how many more there are."""
    texts = [str(n) for n in names]
    return ", ".join(texts[:most]) + (f" and {len(texts) - most} more" if len(texts) > most else "") or "none"


def warn(text: str) -> None:
    """Warns at the line that called into this package."""
    here, level, frame = os.path.dirname(os.path.abspath(__file__)), 2, sys._getframe(1)
    while frame.f_back is not None and os.path.dirname(os.path.abspath(frame.f_code.co_filename)) == here:
        level, frame = level + 1, frame.f_back
    warnings.warn(text, stacklevel=level)


def to_numpy(array: Any, key: str) -> np.ndarray:
    """Returns a tensor or array as a NumPy array of plain numbers in this machine's byte order. Raises ValueError for other types."""
    if hasattr(array, "detach"):
        array = array.detach().cpu()
        if str(array.dtype) == "torch.bfloat16" or str(array.dtype).startswith("torch.float8"):
            array = array.float()
        try:
            array = array.numpy()
        except (TypeError, RuntimeError) as e:
            raise ValueError(f"{key}: {str(e).splitlines()[0]}") from e
    if np.ma.is_masked(array):
        raise ValueError(f"{key}: it has masked values: fill them")
    named = list(zip(array.columns, array.dtypes)) if hasattr(array, "columns") else []  # of a DataFrame
    other = next(((f"column {name!r}: ", kind) for name, kind in named if getattr(kind, "kind", "f") not in "biuf"), None)
    array = np.asarray(array)
    if array.dtype.kind == "O" and named and all(isinstance(kind, np.dtype) and kind.kind in "biuf" for _, kind in named):
        array = array.astype(float)  # bool beside numbers, as of pandas.get_dummies
    if array.dtype.kind not in "biuf":
        of, kind = other or ("", array.dtype)
        cure = {"O": ": give numbers, such as with astype(float)", "M": ": give numbers, such as days since one of them",
                "m": f": give numbers, such as {key} / numpy.timedelta64(1, 'D')"}.get(kind.kind, "")
        if other and kind.kind == "O":
            cure = ": give numbers, such as of pandas.get_dummies, or drop it"
        if key == "ids":
            cure = ": give integers or texts, such as with astype(str)"
        if key == "y" and array.dtype.kind != "c":
            cure = ": give numbers: names, y = numpy.unique(y, return_inverse=True), and class_names=names"
        raise ValueError(f"{key}: {of}{kind} is not a type of numbers that capgnn takes{cure}")
    return array.astype(array.dtype.newbyteorder("="), copy=False)


def sparse_rows(matrix: Any, key: str) -> Optional[Tuple[np.ndarray, np.ndarray, Optional[np.ndarray], Tuple[int, int]]]:
    """Returns rows, columns, values and shape of a sparse matrix of SciPy, torch or torch_sparse, None for a dense one.

    Values are None if all are 1.
    """
    if hasattr(matrix, "sparse_sizes"):  # a SparseTensor of torch_sparse
        row, column, value = matrix.coo()
        shape = matrix.sparse_sizes()
    elif "sparse" in str(getattr(matrix, "layout", "")):
        c = matrix.detach().cpu().to_sparse_coo()
        if str(c.dtype) in ("torch.bool", "torch.float16", "torch.bfloat16"):  # which torch may not add up
            c = c.float()
        c = c.coalesce()
        row, column = c.indices()
        value, shape = c.values(), c.shape
    elif hasattr(matrix, "tocoo") and not hasattr(matrix, "numpy"):
        c = matrix.tocoo()
        row, column, value, shape = c.row, c.col, c.data, c.shape
    else:
        return None
    if len(shape) != 2:
        raise ValueError(f"{key}: {tuple(shape)}, want a matrix")
    return (to_numpy(row, key).astype(np.int64), to_numpy(column, key).astype(np.int64),
            None if value is None else to_numpy(value, key), (int(shape[0]), int(shape[1])))
