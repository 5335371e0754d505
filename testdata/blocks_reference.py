"""blocks_reference.py DIR: the golden cases KIND_jumping.npz, KIND_max.npz, KIND_sum.npz, KIND_plain.npz, batch/KIND_batch.npz and batch/KIND_graph.npz, from PyTorch
Geometric's GCN, GraphSAGE, GIN and GAT in float64 with jk="cat", with jk="max", with sums in its place, with norm=None, with norm="batch_norm" and with
norm="graph_norm". The logits of batch/KIND_batch are in eval mode, with the running statistics that they begin with; all else is of training.

Graphs, features, labels and masks are those of other cases in DIR.
"""
import os
import sys
import warnings

import numpy as np
import torch
from torch_geometric import nn as pyg

warnings.filterwarnings("ignore")
KEPT = ("indptr", "indices", "x", "y", "train_mask")
HIDDEN = 8
MODELS = {"gcn": (pyg.GCN, {}), "sage": (pyg.GraphSAGE, {}), "gin": (pyg.GIN, dict(train_eps=True)), "gat": (pyg.GAT, dict(heads=2)), "gatv2": (pyg.GAT, dict(heads=2, v2=True))}
JUMPING, PLAIN, BATCH = dict(norm=torch.nn.LayerNorm(HIDDEN), jk="cat"), dict(norm=None), dict(norm="batch_norm")
MAX, GRAPH = {**JUMPING, "jk": "max"}, dict(norm="graph_norm")
# The case that the data is of, the layers, and what the model has.
CASES = {"gcn_jumping": ("gcn_undirected", 3, JUMPING), "sage_jumping": ("sage_directed", 2, JUMPING), "gin_jumping": ("gin_multilabel", 3, JUMPING), "gat_jumping": ("gat_multilabel", 3, JUMPING),
         "gatv2_jumping": ("gat_directed", 1, JUMPING), "gcn_plain": ("gcn_multilabel", 3, PLAIN), "sage_plain": ("sage_multilabel", 3, PLAIN), "gin_plain": ("gin_undirected", 2, PLAIN),
         "gat_plain": ("gat_multilabel", 3, PLAIN), "gatv2_plain": ("gat_undirected", 2, PLAIN),
         "batch/gcn_batch": ("gcn_undirected", 3, BATCH), "batch/sage_batch": ("sage_directed", 3, {**BATCH, "jk": "cat"}), "batch/gin_batch": ("gin_multilabel", 2, BATCH), "batch/gat_batch": ("gat_multilabel", 3, BATCH),
         "batch/gatv2_batch": ("gat_directed", 2, BATCH),
         "gcn_max": ("gcn_undirected", 3, MAX), "gatv2_max": ("gat_multilabel", 2, MAX), "sage_sum": ("sage_directed", 3, MAX), "gin_sum": ("gin_undirected", 1, MAX),
         "batch/gcn_graph": ("gcn_undirected", 3, GRAPH), "batch/sage_graph": ("sage_directed", 3, {**GRAPH, "jk": "max"}), "batch/gin_graph": ("gin_multilabel", 2, GRAPH),
         "batch/gat_graph": ("gat_directed", 2, GRAPH)}


class Sum(torch.nn.Module):
    def forward(self, rows):
        return sum(rows)


def forward_order(name):
    first, number, *_ = name.split(".")
    return (0, 2) if first == "lin" else (int(number), first == "norms", ".lin." not in name)


def case(given, model, variant, layers, more):
    torch.manual_seed(17)  # of seeds from 15 on, the first with which no gradient of GAT's att_dst is rounding alone, as where all scores of a head have one sign
    n = len(given["train_mask"])
    x, train = torch.tensor(given["x"]).double(), torch.tensor(given["train_mask"])
    several = given["y"].ndim == 2
    y = torch.tensor(given["y"]).double() if several else torch.tensor(given["y"]).long()
    of, options = MODELS[model]
    model = of(x.size(1), HIDDEN, layers, given["logits"].shape[1], **options, **more).double()
    if variant == "sum":
        model.jk = Sum()
    edges = torch.tensor(np.stack([given["indices"], np.repeat(np.arange(n), np.diff(given["indptr"]))])).long()
    with torch.no_grad():
        for p in model.parameters():
            p += 0.1 * torch.randn_like(p)
            p.copy_(p.float())  # as capgnn reads it
        running = {k: b for k, b in model.named_buffers() if "running" in k}
        for b in running.values():
            b += 0.1 * torch.rand_like(b)
            b.copy_(b.float())
    out = {k: given[k] for k in KEPT}
    names = dict(sorted([*model.named_parameters(), *running.items()], key=lambda t: forward_order(t[0])))
    out.update({"param/" + k: p.detach().numpy().copy() for k, p in names.items()})
    with torch.no_grad():
        evaluated = model.eval()(x, edges)
    model.train()
    opt = torch.optim.Adam(model.parameters(), lr=0.01)
    losses = []
    for step in range(5):
        opt.zero_grad()
        logits = model(x, edges)
        f = torch.nn.functional.binary_cross_entropy_with_logits if several else torch.nn.functional.cross_entropy
        loss = f(logits[train], y[train])
        loss.backward()
        if step == 0:
            out["logits"], out["loss"] = evaluated.numpy(), loss.item()
            out.update({"grad/" + k: torch.zeros_like(p).numpy() if k in running else p.grad.numpy().copy() for k, p in names.items()})
        losses.append(loss.item())
        opt.step()
    out["adam_losses"] = np.array(losses)
    out.update({"adam5/" + k: p.detach().numpy() for k, p in names.items()})
    return out


if __name__ == "__main__":
    os.makedirs(f"{sys.argv[1]}/batch", exist_ok=True)
    for name, (of, *how) in CASES.items():
        with np.load(f"{sys.argv[1]}/{of}.npz") as given:
            c = case(dict(given), *name.split("/")[-1].split("_"), *how)
        print(name, c["loss"])
        np.savez_compressed(f"{sys.argv[1]}/{name}.npz", **c)
