"""capgnn's native store (docs/formats/store.md): graphs of torch_geometric, or anything like them, written and read with NumPy.

    python -m capgnn.store STORE        prints what is in a store
"""
from __future__ import annotations

import csv
import json
import os
import re
import shutil
import sys
import tempfile
from typing import Any, Optional, Sequence, Union

import numpy as np

from .given import some, warn
from .normal import Store, dense_features, normal_form, texts

Path = Union[str, "os.PathLike[str]"]

KEYS = ["indptr", "indices", "weights", "x", "x_indptr", "x_indices", "x_data", "x_shape", "y",
        "train_mask", "val_mask", "test_mask", "ids"]
MASKS = ("train_mask", "val_mask", "test_mask")
# NAMES are files of names by the line that heads them.
NAMES = {"class": "classes.csv", "column": "columns.csv", "id": "ids.csv"}
# FILES may be in a store.
FILES = {key + ".npy" for key in KEYS + ["edge_weight"]} | {"meta.json", *NAMES.values()}


def read_store(path: Path) -> Store:
    """Returns the arrays of a store that are there, by key. Row v of (indptr, indices) lists the in-neighbours of v.

    path: a folder written by `to_store`, `capgnn data import` or `capgnn data synth`, whose arrays are memory-mapped (no array is
        read before it is used); or one .npz with the same keys
    returns: indptr int64 [n+1], indices int32 [m]; weights float32 [m] of the edges; x float32 [n, d], or x_indptr, x_indices, x_data
        and x_shape (CSR); y int64 [n] (-1: no label) or uint8 [n, c]; train_mask, val_mask, test_mask bool [n]; ids int64 [n], or
        texts [n] of ids.csv; columns, texts [d] of columns.csv
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
    if os.path.isdir(path):
        shape = store["x"].shape if "x" in store else store.get("x_shape", (0, 0))
        for key, head, want in (("ids", "id", len(store["indptr"]) - 1), ("columns", "column", int(shape[1]))):
            names = _read_names(os.path.join(path, NAMES[head]), want) if key not in store else None
            if names is not None:
                store[key] = names
    return store


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
             class_names: Optional[Sequence[str]] = None, columns: Optional[Sequence[str]] = None, overwrite: bool = False) -> str:
    """Writes a graph as a store, a new folder, and returns its path.

    data: a torch_geometric Data, a HeteroData of one type of vertices and one of edges, or any object or mapping with these, as
        tensors or arrays: edge_index int [2, m], row 0 sources and row 1 targets (repeats are written once, with the sum of their
        weights; loops stay), or adj_t, sparse, with targets as rows and weights as values (both: the same edges); edge_weight [m] or [m, 1], or edge_attr
        if it is one column of numbers (more columns are not written); x [n, d], dense, or sparse as torch and SciPy have it; y int
        [n] or [n, 1] (class from 0, -1 or NaN: no label), or 0 and 1 as [n, c] for several labels per vertex; train_mask,
        val_mask, test_mask bool [n], or train_idx, val_idx, test_idx, numbers of vertices; ids, integers or texts [n]; num_nodes.
        Only edge_index or adj_t is required. Or a DGL graph of one type of vertices and one of edges: x is ndata "feat",
        "features", "x" or "attr", y is "label", "labels" or "y", masks are called as above, and edge_weight is edata "weight", "w"
        or "edge_weight". Or a graph of networkx: edges, their "weight", vertices and their names, without other attributes
    path: the folder; it must not exist yet, unless it is empty. It appears under its name only when it is complete
    name: of the data set (default: the folder's), any text: what is no letter, digit, "." , "_" or "-" becomes "_"
    split: the column to take of masks that have several
    sparse: whether x is written sparse (default: if at most 5 % of it differ from 0)
    class_names: one for each class, in their order or as {number: name}; with more of them than y has, the rest are classes without vertices
    columns: names of the columns of x (default: those of a pandas DataFrame, of a MultiIndex joined by "_")
    overwrite: replace the store that path is. Other folders and files are never replaced
    raises: ValueError for what a store cannot hold, with the name of the array; FileExistsError. What is not written, or written with fewer
        digits, is said in a UserWarning
    """
    asked = os.path.abspath(os.fspath(path))
    path = os.path.realpath(asked)  # where a link leads
    _check_free(path, overwrite)
    arrays, said, names = normal_form(data, split, sparse)
    meta = {"capgnn_store": 1, "name": _plain_name(name or os.path.basename(asked)), **said}
    if class_names is not None:
        class_names = _in_order(class_names)
        names["class"] = texts(class_names, "class_names")
        most = meta["classes"] if meta["multi_label"] or not meta["classes"] else len(class_names)
        if not meta["classes"] <= len(class_names) <= most:
            raise ValueError(f"class_names: {len(class_names)} names for {meta['classes']} classes")
        if meta["classes"] < most:
            rest = names["class"][meta["classes"]:]
            warn(f"class_names: classes without a vertex: {len(rest)} of {most}: {some(rest)}")
        meta["classes"] = most
    if columns is not None:
        names["column"] = texts(columns, "columns")
        if len(columns) != meta["features"]:
            raise ValueError(f"columns: {len(columns)} names for {meta['features']} columns of x")
    os.makedirs(os.path.dirname(path), exist_ok=True)
    made = tempfile.mkdtemp(prefix=os.path.basename(path)[:40] + ".", dir=os.path.dirname(path))
    try:
        os.chmod(made, 0o777 & ~_umask())
        for key, array in arrays.items():
            np.save(os.path.join(made, key + ".npy"), array, allow_pickle=False)
        for head, lines in names.items():
            _write_names(os.path.join(made, NAMES[head]), head, lines)
        with open(os.path.join(made, "meta.json"), "w", encoding="utf-8", newline="\n") as f:
            json.dump(meta, f, indent=2, ensure_ascii=False)
            f.write("\n")
        _put(made, path)
    except BaseException:
        shutil.rmtree(made, ignore_errors=True)
        raise
    return asked


def _in_order(names: Any) -> Any:
    """Returns names of classes by number; a dict has names by number, or numbers by name. Raises ValueError of what has no order."""
    if isinstance(names, (set, frozenset)):
        raise ValueError("class_names: a set has no order: give a list, the name of class 0 first")
    if not isinstance(names, dict):
        return names
    by_number = names if all(isinstance(k, (int, np.integer)) for k in names) else {n: name for name, n in names.items()}
    if sorted(by_number) != list(range(len(names))):
        raise ValueError(f"class_names: a dict of {len(names)} names wants the numbers 0 to {len(names) - 1}")
    return [by_number[n] for n in range(len(names))]


def _check_free(path: str, overwrite: bool) -> None:
    """Raises FileExistsError unless path may be written: nothing, an empty folder, or, to be overwritten, a store and nothing beside it."""
    if not os.path.lexists(path):
        return
    there = sorted(os.listdir(path)) if os.path.isdir(path) else None
    if there == []:
        return
    store = there is not None and {"indptr.npy", "indices.npy"} <= set(there)
    if not overwrite or not store:
        raise FileExistsError(f"{path}: exists and is not an empty folder{'' if store else ' nor a store' if overwrite else ''}: "
                              f"remove it or choose another{', or give overwrite=True' if store else ''}")
    for file in there:
        if file not in FILES or not os.path.isfile(os.path.join(path, file)):
            raise FileExistsError(f"{path}: holds {file}, which is no part of a store: move it away, or choose another folder")


def _put(made: str, path: str) -> None:
    """Gives a complete store its name. An empty folder, or a store, that had it goes, but stays if the new one cannot take its place."""
    if not os.path.isdir(path) or not os.listdir(path):
        if os.path.isdir(path):
            os.rmdir(path)
        os.rename(made, path)
        return
    old = tempfile.mkdtemp(prefix=os.path.basename(path)[:40] + ".", dir=os.path.dirname(path))
    try:
        os.rename(path, os.path.join(old, "old"))
        try:
            os.rename(made, path)
        except BaseException:
            os.rename(os.path.join(old, "old"), path)
            raise
    finally:
        shutil.rmtree(old, ignore_errors=True)


def _plain_name(name: str) -> str:
    """Returns a name that capgnn reads: it may become part of a path."""
    return re.sub(r"[^A-Za-z0-9._-]", "_", str(name)).lstrip(".-")[:100]


def _write_names(path: str, head: str, names: Sequence[str]) -> None:
    with open(path, "w", encoding="utf-8", newline="") as f:
        out = csv.writer(f, lineterminator="\n")
        out.writerow([head])
        out.writerows([n] for n in names)


def _read_names(path: str, want: int) -> Optional[np.ndarray]:
    """Returns the lines of a file of names behind the first, None if it is not there or is not of so many."""
    if not os.path.exists(path):
        return None
    with open(path, encoding="utf-8", errors="replace", newline="") as f:
        names = [line[0] for line in csv.reader(f) if line][1:]
    if len(names) != want:
        warn(f"{path} has {len(names)} names, want {want}: they are not read")
        return None
    return np.array(names, dtype=str)


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask


if __name__ == "__main__":
    for key, array in read_store(sys.argv[1]).items():
        print(f"{key:12} {array.dtype} {array.shape}{' memory-mapped' if isinstance(array, np.memmap) else ''}")
