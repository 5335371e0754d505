"""gatv2_reference.py DIR: the golden cases gatv2_directed.npz and gatv2_multilabel.npz, from PyTorch Geometric's GAT(v2=True) in float64, with two heads.

Graphs, features, labels and masks are those of gat_directed.npz and gat_multilabel.npz in DIR.
"""
import sys
import warnings

import numpy as np
import torch
from torch_geometric import nn as pyg

warnings.filterwarnings("ignore")
KEPT = ("indptr", "indices", "x", "y", "train_mask")
HEADS = 2


def case(given):
    torch.manual_seed(12)
    layers = 1 + max(int(k.split(".")[1]) for k in given if k.startswith("param/convs."))
    hidden, n = len(given["param/norms.0.weight"]), len(given["train_mask"])
    x, train = torch.tensor(given["x"]).double(), torch.tensor(given["train_mask"])
    several = given["y"].ndim == 2
    y = torch.tensor(given["y"]).double() if several else torch.tensor(given["y"]).long()
    model = pyg.GAT(x.size(1), hidden, layers, given["logits"].shape[1], norm=torch.nn.LayerNorm(hidden), heads=HEADS, v2=True).double()
    edges = torch.tensor(np.stack([given["indices"], np.repeat(np.arange(n), np.diff(given["indptr"]))])).long()
    with torch.no_grad():
        for p in model.parameters():
            p += 0.1 * torch.randn_like(p)
            p.copy_(p.float())  # as capgnn reads it
    out = {k: given[k] for k in KEPT}
    names = dict(sorted(model.named_parameters(), key=lambda t: (int(t[0].split(".")[1]), "norms" in t[0])))  # forward order
    out.update({"param/" + k: p.detach().numpy().copy() for k, p in names.items()})
    opt = torch.optim.Adam(model.parameters(), lr=0.01)
    losses = []
    for step in range(5):
        opt.zero_grad()
        logits = model(x, edges)
        f = torch.nn.functional.binary_cross_entropy_with_logits if several else torch.nn.functional.cross_entropy
        loss = f(logits[train], y[train])
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
    for name in ("directed", "multilabel"):
        with np.load(f"{sys.argv[1]}/gat_{name}.npz") as given:
            c = case(dict(given))
        print(name, c["loss"])
        np.savez_compressed(f"{sys.argv[1]}/gatv2_{name}.npz", **c)
