"""Epoch time of a full-batch GNN in plain PyTorch, beside capgnn's.

    python torch_epoch.py FILE.npz gcn|sage EPOCHS THREADS

FILE.npz is a gnn-benchmark archive (coauthor_physics, coauthor_cs). Model and settings are capgnn's defaults: 3 layers, hidden
256, LayerNorm, ReLU, dropout 0.5, Adam 0.01, 70 % of the vertices train. What helps PyTorch is done: sparse features as CSR
with a transposed copy, adjacency as CSR with its adjoint at hand (no transpose in an epoch), transform before aggregating.
"""
import sys
import time
import warnings

import numpy as np
import torch
import torch.nn.functional as F

HIDDEN, LAYERS, WARM_UP = 256, 3, 2


class Product(torch.autograd.Function):
    """A @ h with the adjoint product by a stored transpose."""

    @staticmethod
    def forward(ctx, a, at, h):
        ctx.at = at
        return a @ h

    @staticmethod
    def backward(ctx, g):
        return None, None, ctx.at @ g


def csr(rows, cols, values, shape):
    index = torch.from_numpy(np.stack([rows, cols]).astype(np.int64))
    return torch.sparse_coo_tensor(index, torch.as_tensor(values), shape).coalesce().to_sparse_csr()


def load(path, kind):
    z = np.load(path, allow_pickle=True)
    n, width = int(z["adj_shape"][0]), int(z["attr_shape"][1])
    rows = np.repeat(np.arange(n), np.diff(z["adj_indptr"]))
    edges = np.stack([rows, z["adj_indices"]])
    edges = np.concatenate([edges, edges[::-1]], axis=1)
    edges = edges[:, edges[0] != edges[1]]
    if kind == "gcn":
        edges = np.concatenate([edges, np.stack([np.arange(n)] * 2)], axis=1)
    u, v = np.unique(edges, axis=1)
    degree = np.bincount(u, minlength=n).astype(np.float32)
    weight = (degree[u] * degree[v]) ** -0.5 if kind == "gcn" else 1 / degree[u]
    a, at = csr(u, v, weight.astype(np.float32), (n, n)), csr(v, u, weight.astype(np.float32), (n, n))
    owner = np.repeat(np.arange(n), np.diff(z["attr_indptr"]))
    value = z["attr_data"].astype(np.float32)
    x, xt = csr(owner, z["attr_indices"], value, (n, width)), csr(z["attr_indices"], owner, value, (width, n))
    return a, at, x, xt, torch.from_numpy(z["labels"].astype(np.int64))


def main():
    path, kind, epochs, threads = sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4])
    warnings.filterwarnings("ignore")
    torch.set_num_threads(threads)
    torch.manual_seed(0)
    a, at, x, xt, y = load(path, kind)
    train = torch.rand(len(y)) < 0.7
    widths = [x.shape[1]] + [HIDDEN] * (LAYERS - 1) + [int(y.max()) + 1]

    def matrix(layer):
        return torch.nn.Parameter(torch.nn.init.xavier_uniform_(torch.empty(widths[layer + 1], widths[layer])))

    weights = [matrix(l) for l in range(LAYERS)]
    roots = [matrix(l) for l in range(LAYERS)] if kind == "sage" else []
    biases = [torch.nn.Parameter(torch.zeros(w)) for w in widths[1:]]
    norms = [torch.nn.LayerNorm(HIDDEN) for _ in range(LAYERS - 1)]
    parameters = weights + roots + biases + [p for norm in norms for p in norm.parameters()]
    optimizer = torch.optim.Adam(parameters, lr=0.01)

    def times(h, w):
        return Product.apply(x, xt, w.t().contiguous()) if h is None else h @ w.t()

    seconds = []
    for _ in range(epochs):
        start = time.perf_counter()
        optimizer.zero_grad()
        h = None
        for l in range(LAYERS):
            z = Product.apply(a, at, times(h, weights[l])) + biases[l]
            if roots:
                z = z + times(h, roots[l])
            h = F.dropout(F.relu(norms[l](z)), 0.5) if l < LAYERS - 1 else z
        loss = F.cross_entropy(h[train], y[train])
        loss.backward()
        optimizer.step()
        seconds.append(time.perf_counter() - start)
    seconds = sorted(seconds[WARM_UP:])
    print(f"torch {torch.__version__} {kind}: median {seconds[len(seconds) // 2]:.4f} s, min {seconds[0]:.4f} s, loss {loss.item():.4f}")


main()
