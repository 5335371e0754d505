"""Read a capgnn store with NumPy, and make a torch_geometric Data of it.

    python read_store.py STORE

STORE is a folder written by `capgnn data import`, or one .npz with the same keys. Arrays of a folder are memory-mapped:
nothing is read before it is used.
"""
import json
import os
import sys

import numpy as np

KEYS = ["indptr", "indices", "x", "x_indptr", "x_indices", "x_data", "x_shape", "y",
        "train_mask", "val_mask", "test_mask", "ids"]


def read_store(path):
    """Returns the arrays that are there, by key. Row v of (indptr, indices) lists the in-neighbours of v."""
    if not os.path.isdir(path):
        with np.load(path, allow_pickle=False) as z:
            return {k: z[k] for k in KEYS if k in z}
    files = {k: os.path.join(path, k + ".npy") for k in KEYS}
    store = {k: np.load(f, mmap_mode="r", allow_pickle=False) for k, f in files.items() if os.path.exists(f)}
    if "x_data" in store and os.path.exists(os.path.join(path, "meta.json")):
        with open(os.path.join(path, "meta.json")) as f:
            meta = json.load(f)
        store["x_shape"] = np.array([meta["vertices"], meta["features"]])
    return store


def dense_features(s):
    """Returns x as a float32 matrix; sparse features (x_indptr, x_indices, x_data) are made dense."""
    if "x" in s:
        return np.array(s["x"], dtype=np.float32)
    n = len(s["x_indptr"]) - 1
    cols = int(s["x_shape"][1]) if "x_shape" in s else int(s["x_indices"].max()) + 1
    x = np.zeros((n, cols), dtype=np.float32)
    rows = np.repeat(np.arange(n), np.diff(s["x_indptr"]))
    np.add.at(x, (rows, s["x_indices"]), s["x_data"])
    return x


def to_data(s):
    """Returns a torch_geometric Data: edge_index (source, target), x, y and the masks that are there."""
    import torch
    from torch_geometric.data import Data

    target = np.repeat(np.arange(len(s["indptr"]) - 1), np.diff(s["indptr"]))
    data = Data(x=torch.from_numpy(dense_features(s)),
                edge_index=torch.from_numpy(np.stack([np.asarray(s["indices"], dtype=np.int64), target])))
    data = data.coalesce()  # a store may hold edges twice; capgnn merges them when it loads
    if "y" in s:
        y = torch.from_numpy(np.array(s["y"]))
        data.y = y.float() if y.dim() == 2 else y.long()  # -1 = unlabelled
    for key in ("train_mask", "val_mask", "test_mask"):
        if key in s:
            data[key] = torch.from_numpy(np.array(s[key], dtype=bool))
    return data


if __name__ == "__main__":
    store = read_store(sys.argv[1])
    for key, array in store.items():
        print(f"{key:12} {array.dtype} {array.shape}{' memory-mapped' if isinstance(array, np.memmap) else ''}")
    data = to_data(store)
    data.validate()
    print(data)
