"""weighted_reference.py DIR: the golden cases KIND_weighted.npz, from PyTorch Geometric's GCN, GraphSAGE and GIN in float64.

GCN is given edge_weight, of a symmetric graph with symmetric weights, with a loop at some vertices; it adds the others. GraphSAGE and GIN are given the
adjacency as a sparse tensor whose values are the weights, of which some are negative and both directions of an edge differ.
"""
import sys
import warnings

import numpy as np
import torch
from torch_geometric import nn as pyg

warnings.filterwarnings("ignore")
N, IN, HIDDEN, OUT = 40, 7, 8, 4


def graph(rng, kind):
    """Returns the edges, by target and then source, and their weights, which float32 holds exactly."""
    w = np.zeros((N, N))  # of the edge from column to row
    for _ in range(90):
        u, v = rng.integers(0, N, 2)
        if u != v:
            w[u, v], w[v, u] = rng.integers(1, 160, 2) / 64
    if kind == "gcn":
        w = np.maximum(w, w.T)
        for v in range(0, N, 5):
            w[v, v] = rng.integers(1, 160) / 64
    else:
        w *= np.where(rng.random((N, N)) < 0.2, -1, 1)
    w[:, N - 1] = w[N - 1, :] = 0  # a vertex without edges
    target, source = np.nonzero(w)
    return target, source, w[target, source]


def case(kind):
    rng = np.random.default_rng(2026)
    torch.manual_seed(11)
    target, source, weight = graph(rng, kind)
    indptr = np.concatenate([[0], np.cumsum(np.bincount(target, minlength=N))])
    x = torch.tensor(rng.normal(size=(N, IN)))
    y = torch.tensor(rng.integers(0, OUT, N))
    train = torch.tensor(rng.random(N) < 0.5)
    args = dict(in_channels=IN, hidden_channels=HIDDEN, num_layers=3, out_channels=OUT, norm=torch.nn.LayerNorm(HIDDEN))
    if kind == "gcn":
        model = pyg.GCN(**args)
        given = dict(edge_index=torch.tensor(np.stack([source, target])), edge_weight=torch.tensor(weight))
    else:
        model = pyg.GraphSAGE(**args) if kind == "sage" else pyg.GIN(**args, train_eps=True)
        given = dict(edge_index=torch.sparse_csr_tensor(torch.tensor(indptr), torch.tensor(source), torch.tensor(weight), size=(N, N)))
    model = model.double()
    with torch.no_grad():
        for p in model.parameters():
            p += 0.1 * torch.randn_like(p)
            p.copy_(p.float())  # as capgnn reads it
    out = dict(indptr=indptr, indices=source, weights=weight, x=x.float().numpy().astype(np.float64), train_mask=train.numpy(), y=y.numpy())
    x = torch.tensor(out["x"])
    names = dict(sorted(model.named_parameters(), key=lambda t: (t[0].split(".")[1], "norms" in t[0], t[0].count(".") == 2 and "bias" in t[0])))  # forward order
    out.update({"param/" + k: p.detach().numpy().copy() for k, p in names.items()})
    opt = torch.optim.Adam(model.parameters(), lr=0.01)
    losses = []
    for step in range(5):
        opt.zero_grad()
        logits = model(x, **given)
        loss = torch.nn.functional.cross_entropy(logits[train], y[train])
        loss.backward()
        if step == 0:
            out["logits"], out["loss"] = logits.detach().numpy().copy(), loss.item()
            out.update({"grad/" + k: p.grad.numpy().copy() for k, p in names.items()})
        losses.append(loss.item())
        opt.step()
    out["adam_losses"] = np.array(losses)
    out.update({"adam5/" + k: p.detach().numpy() for k, p in names.items()})
    return out


if __name__ == "__main__":
    for kind in ("gcn", "sage", "gin"):
        c = case(kind)
        print(kind, c["loss"], [k for k in c if k.startswith("param/")][:4])
        np.savez_compressed(f"{sys.argv[1]}/{kind}_weighted.npz", **c)
