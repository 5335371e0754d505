"""capgnn's native store (docs/formats/store.md): graphs of torch_geometric, or anything like them, written and read with NumPy.

    python -m capgnn.store STORE        prints what is in a store
"""
from __future__ import annotations

import json
import os
import shutil
import sys
import tempfile
import warnings
from typing import Any, Dict, Optional, Sequence, Tuple, Union

import numpy as np

Path = Union[str, "os.PathLike[str]"]
Store = Dict[str, np.ndarray]

KEYS = ["indptr", "indices", "weights", "x", "x_indptr", "x_indices", "x_data", "x_shape", "y",
        "train_mask", "val_mask", "test_mask", "ids"]
MASKS = ("train_mask", "val_mask", "test_mask")

# SPARSE_SHARE is the share of x that may differ from 0 for `to_store` to write it sparse: bags of words have 1 %, embeddings all.
SPARSE_SHARE = 0.05


def read_store(path: Path) -> Store:
    """Returns the arrays of a store that are there, by key. Row v of (indptr, indices) lists the in-neighbours of v.

    path: a folder written by `to_store`, `capgnn data import` or `capgnn data synth`, whose arrays are memory-mapped (nothing is
        read before it is used); or one .npz with the same keys
    returns: indptr int64 [n+1], indices int32 [m]; weights float32 [m] of the edges; x float32 [n, d], or x_indptr, x_indices, x_data and x_shape (CSR); y int64 [n]
        (-1: no label) or uint8 [n, c]; train_mask, val_mask, test_mask bool [n]; ids int64 [n]
    raises: ValueError if path is no store
    """
    path = os.fspath(path)
    if not os.path.isdir(path):
        with np.load(path, allow_pickle=False) as z:
            store = {k: z[k] for k in KEYS if k in z}
    else:
        files = {k: os.path.join(path, k + ".npy") for k in KEYS}
        store = {k: np.load(f, mmap_mode="r", allow_pickle=False) for k, f in files.items() if os.path.exists(f)}
        meta = os.path.join(path, "meta.json")
        if "x_data" in store and os.path.exists(meta):
            with open(meta, encoding="utf-8") as f:
                said = json.load(f)
            store["x_shape"] = np.array([said["vertices"], said["features"]])
    if "indptr" not in store or "indices" not in store:
        raise ValueError(f"{path}: no store: it has no indptr and indices")
    return store


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


def to_data(store: Union[Path, Store]) -> Any:
    """Returns a torch_geometric Data of a store or of its path: edge_index (source, target), edge_weight, x, y and the masks that are there."""
    import torch
    from torch_geometric.data import Data
    from torch_geometric.utils import coalesce

    s = store if isinstance(store, dict) else read_store(store)
    n = len(s["indptr"]) - 1
    target = np.repeat(np.arange(n), np.diff(s["indptr"]))
    edges = torch.from_numpy(np.stack([np.asarray(s["indices"], dtype=np.int64), target]))
    # A store may hold edges twice; capgnn merges them when it loads, and adds up their weights.
    if "weights" in s:
        edges, weight = coalesce(edges, torch.from_numpy(np.array(s["weights"], dtype=np.float32)), num_nodes=n, reduce="sum")
        data = Data(edge_index=edges, edge_weight=weight, num_nodes=n)
    else:
        data = Data(edge_index=coalesce(edges, num_nodes=n), num_nodes=n)
    if "x" in s or "x_data" in s:
        data.x = torch.from_numpy(dense_features(s))
    if "y" in s:
        y = torch.from_numpy(np.array(s["y"]))
        data.y = y.float() if y.dim() == 2 else y.long()  # -1 = unlabelled
    for key in MASKS:
        if key in s:
            data[key] = torch.from_numpy(np.array(s[key], dtype=bool))
    return data


def to_store(data: Any, path: Path, *, name: Optional[str] = None, split: Optional[int] = None, sparse: Optional[bool] = None,
             class_names: Optional[Sequence[str]] = None) -> str:
    """Writes a graph as a store, a new folder, and returns its path.

    data: a torch_geometric Data, or any object or mapping with these, as tensors or arrays:
        edge_index int [2, m], row 0 sources and row 1 targets (repeats are written once, with the sum of their weights); edge_weight [m] or [m, 1],
        or edge_attr if it is one column of numbers (more columns are not written); x [n, d], dense, or sparse as torch and
        SciPy have it; y int [n] or [n, 1] (class from 0, negative: no label), or 0 and 1 as [n, c] for several labels per vertex;
        train_mask, val_mask, test_mask bool [n]; ids int [n]; num_nodes. Only edge_index is required.
    path: the folder; it must not exist yet, unless it is empty. It appears under its name only when it is complete
    name: of the data set (default: the folder's)
    split: the column to take of masks that have several
    sparse: whether x is written sparse (default: if at most 5 % of it differ from 0)
    class_names: one for each class
    raises: ValueError for what a store cannot hold, with the name of the array; FileExistsError
    """
    path = os.path.abspath(os.fspath(path))
    if os.path.lexists(path) and (not os.path.isdir(path) or os.listdir(path)):
        raise FileExistsError(f"{path}: exists and is not an empty folder: remove it or choose another")
    arrays, meta = _arrays(data, split, sparse)
    meta = {"capgnn_store": 1, "name": name or os.path.basename(path), **meta}
    if class_names is not None and len(class_names) < meta["classes"]:
        raise ValueError(f"class_names: {len(class_names)} names for {meta['classes']} classes")
    os.makedirs(os.path.dirname(path), exist_ok=True)
    made = tempfile.mkdtemp(prefix=os.path.basename(path) + ".", dir=os.path.dirname(path))
    try:
        os.chmod(made, 0o777 & ~_umask())
        for key, array in arrays.items():
            np.save(os.path.join(made, key + ".npy"), array, allow_pickle=False)
        if class_names is not None:
            _write_names(os.path.join(made, "classes.csv"), class_names)
        with open(os.path.join(made, "meta.json"), "w", encoding="utf-8", newline="\n") as f:
            json.dump(meta, f, indent=2, ensure_ascii=False)
            f.write("\n")
        if os.path.isdir(path):
            os.rmdir(path)
        os.rename(made, path)
    except BaseException:
        shutil.rmtree(made, ignore_errors=True)
        raise
    return path


def _arrays(data: Any, split: Optional[int], sparse: Optional[bool]) -> Tuple[Store, Dict[str, Any]]:
    """Returns the arrays of a store in normal form, and what meta.json says of them."""
    edges, x, y = _field(data, "edge_index"), _field(data, "x"), _field(data, "y")
    if edges is None:
        raise ValueError("edge_index: there is none; of an adj_t make one with adj_t.t().coo()")
    edges = _numpy(edges, "edge_index")
    if edges.ndim != 2 or edges.shape[0] != 2 or edges.dtype.kind not in "iu":
        raise ValueError(f"edge_index: {edges.dtype} {edges.shape}, want integers [2, edges]")
    n = _vertices(data, edges, x, y)
    out: Store = {}
    weights = _weights(data, edges.shape[1])
    out["indptr"], out["indices"], weights = _adjacency(edges, n, weights)
    meta: Dict[str, Any] = {"vertices": n, "edges": len(out["indices"])}
    if weights is not None and (weights != 1).any():
        out["weights"], meta["weighted"] = weights, True
    meta.update({"features": 0, "sparse": False, "classes": 0, "multi_label": False})
    if x is not None:
        features, cols = _features(x, n, sparse)
        out.update(features)
        meta.update(features=cols, sparse="x" not in features)
    if y is not None:
        out["y"], meta["classes"] = _labels(_numpy(y, "y"), n)
        meta["multi_label"] = out["y"].ndim == 2
    for key in MASKS:
        mask = _field(data, key)
        if mask is not None:
            out[key] = _mask(_numpy(mask, key), n, key, split)
            meta[key[:-len("_mask")]] = int(out[key].sum())
    ids = _field(data, "ids")
    if ids is not None:
        out["ids"] = _numpy(ids, "ids").astype(np.int64)
        if out["ids"].shape != (n,):
            raise ValueError(f"ids: {out['ids'].shape}, want one for each of {n} vertices")
    return out, meta


def _vertices(data: Any, edges: np.ndarray, x: Any, y: Any) -> int:
    """Returns the number of vertices: what x or y has, else num_nodes, else what edges need."""
    for array in (x, y):
        if array is not None:
            return int(array.shape[0])
    said = _field(data, "num_nodes")
    return int(said) if said is not None else int(edges.max(initial=-1)) + 1


def _weights(data: Any, m: int) -> Optional[np.ndarray]:
    """Returns the weights of m edges as float32, None if there are none."""
    key, weights = "edge_weight", _field(data, "edge_weight")
    attributes = _field(data, "edge_attr")
    if attributes is not None:
        shape = tuple(attributes.shape)
        if weights is not None or len(shape) > 2 or len(shape) == 2 and shape[1] != 1:
            warnings.warn("edge_attr is not written: capgnn does not use features of edges", stacklevel=4)
        else:
            warnings.warn("edge_attr has one column: it is written as weights of edges", stacklevel=4)
            key, weights = "edge_attr", attributes
    if weights is None:
        return None
    weights = _numpy(weights, key)
    if weights.shape not in ((m,), (m, 1)):
        raise ValueError(f"{key}: {weights.shape}, want one for each of {m} edges")
    with np.errstate(over="ignore"):
        weights = weights.reshape(m).astype(np.float32)
    if not np.isfinite(weights).all():
        raise ValueError(f"{key}: it has values that are not finite")
    return weights


def _adjacency(edges: np.ndarray, n: int, weights: Optional[np.ndarray]) -> Tuple[np.ndarray, np.ndarray, Optional[np.ndarray]]:
    """Returns indptr, indices and weights: row v has the sources of edges to v, ascending, each once."""
    if edges.size and (edges.min() < 0 or edges.max() >= n):
        raise ValueError(f"edge_index: it has vertices from {edges.min()} to {edges.max()}, the graph has 0 to {n - 1}")
    if n > np.iinfo(np.int32).max:
        raise ValueError(f"edge_index: {n} vertices, a store holds at most {np.iinfo(np.int32).max}")
    pairs, back = np.unique(edges[1].astype(np.int64) * max(n, 1) + edges[0].astype(np.int64), return_inverse=True)
    if weights is not None:
        total = np.zeros(len(pairs), dtype=np.float32)
        np.add.at(total, back.reshape(-1), weights)
        weights = total
    target, source = np.divmod(pairs, max(n, 1))
    indptr = np.zeros(n + 1, dtype=np.int64)
    np.cumsum(np.bincount(target, minlength=n), out=indptr[1:])
    return indptr, source.astype(np.int32), weights


def _features(x: Any, n: int, sparse: Optional[bool]) -> Tuple[Store, int]:
    """Returns x, or x_indptr, x_indices and x_data, and the number of columns."""
    rows = _sparse_rows(x)
    if rows is None:
        dense = _numpy(x, "x")
        if dense.ndim != 2 or dense.shape[0] != n:
            raise ValueError(f"x: {dense.shape}, want [{n}, features]")
        dense = np.ascontiguousarray(dense, dtype=np.float32)
        if not np.isfinite(dense).all():
            raise ValueError("x: it has values that are not finite")
        if sparse is None:
            sparse = bool(np.count_nonzero(dense) <= SPARSE_SHARE * dense.size)
        if not sparse:
            return {"x": dense}, dense.shape[1]
        at, column = np.nonzero(dense)
        rows = at, column, dense[at, column], dense.shape
    at, column, value, shape = rows
    if shape[0] != n:
        raise ValueError(f"x: {tuple(shape)}, want [{n}, features]")
    if not np.isfinite(value).all():
        raise ValueError("x: it has values that are not finite")
    cols = int(shape[1])
    pairs, back = np.unique(at.astype(np.int64) * max(cols, 1) + column, return_inverse=True)
    total = np.zeros(len(pairs), dtype=np.float32)
    np.add.at(total, back.reshape(-1), value.astype(np.float32))  # repeats are added up
    indptr = np.zeros(n + 1, dtype=np.int64)
    np.cumsum(np.bincount(pairs // max(cols, 1), minlength=n), out=indptr[1:])
    csr = {"x_indptr": indptr, "x_indices": (pairs % max(cols, 1)).astype(np.int32), "x_data": total}
    if sparse is False:
        return {"x": dense_features({**csr, "x_shape": np.array([n, cols])})}, cols
    return csr, cols


def _sparse_rows(x: Any) -> Optional[Tuple[np.ndarray, np.ndarray, np.ndarray, Sequence[int]]]:
    """Returns rows, columns, values and shape of a sparse matrix of SciPy or torch, None for a dense one."""
    if hasattr(x, "tocoo") and not hasattr(x, "numpy"):
        c = x.tocoo()
        return np.asarray(c.row), np.asarray(c.col), np.asarray(c.data), c.shape
    if hasattr(x, "layout") and "sparse" in str(x.layout):
        c = x.detach().cpu().to_sparse_coo().coalesce()
        at, column = c.indices().numpy()
        return at, column, c.values().numpy(), tuple(c.shape)
    return None


def _labels(y: np.ndarray, n: int) -> Tuple[np.ndarray, int]:
    """Returns y as a store has it, and the number of classes."""
    if y.ndim == 2 and y.shape[1] == 1:
        y = y[:, 0]
    if y.ndim not in (1, 2) or y.shape[0] != n:
        raise ValueError(f"y: {y.shape}, want [{n}] or [{n}, classes]")
    if y.ndim == 2:
        if not np.isin(y, (0, 1)).all():
            raise ValueError(f"y: {y.shape} with values other than 0 and 1")
        return np.ascontiguousarray(y, dtype=np.uint8), y.shape[1]
    if y.dtype.kind == "f":
        y = np.where(np.isnan(y), -1, y)  # as data sets of OGB mark vertices without a label
    whole = y.astype(np.int64)
    if not (whole == y).all():
        raise ValueError("y: classes are whole numbers; capgnn does not train on regression targets")
    return np.maximum(whole, -1), int(whole.max(initial=-1)) + 1


def _mask(mask: np.ndarray, n: int, key: str, split: Optional[int]) -> np.ndarray:
    if mask.ndim == 2:
        if split is None:
            raise ValueError(f"{key}: it has {mask.shape[1]} columns: say which with split=")
        if not 0 <= split < mask.shape[1]:
            raise ValueError(f"{key}: split={split}: it has columns 0 to {mask.shape[1] - 1}")
        mask = mask[:, split]
    if mask.shape != (n,) or not (mask.dtype == bool or np.isin(mask, (0, 1)).all()):
        raise ValueError(f"{key}: {mask.dtype} {mask.shape}, want bool [{n}]")
    return np.ascontiguousarray(mask, dtype=bool)


def _field(data: Any, key: str) -> Any:
    """Returns data.key or data[key], None if there is neither."""
    try:
        if hasattr(data, key):
            return getattr(data, key)
        return data[key]
    except (KeyError, TypeError, AttributeError):
        return None


def _numpy(array: Any, key: str) -> np.ndarray:
    """Returns a tensor or array as a NumPy array of plain numbers in this machine's byte order."""
    if hasattr(array, "detach"):
        array = array.detach().cpu()
        if str(array.dtype) == "torch.bfloat16":
            array = array.float()
        array = array.numpy()
    array = np.asarray(array)
    if array.dtype.kind not in "biuf":
        raise ValueError(f"{key}: {array.dtype} is not a type of numbers")
    return array.astype(array.dtype.newbyteorder("="), copy=False)


def _write_names(path: str, names: Sequence[str]) -> None:
    import csv

    with open(path, "w", encoding="utf-8", newline="") as f:
        out = csv.writer(f, lineterminator="\n")
        out.writerow(["class"])
        out.writerows([str(n)] for n in names)


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask


if __name__ == "__main__":
    for key, array in read_store(sys.argv[1]).items():
        print(f"{key:12} {array.dtype} {array.shape}{' memory-mapped' if isinstance(array, np.memmap) else ''}")
