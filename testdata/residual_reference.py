"""residual_reference.py DIR: the golden cases KIND_residual.npz, from PyTorch Geometric's GCN, GraphSAGE, GIN and GAT with four layers in float64, whose second and third layers add what they read.

Graphs, features, labels and masks are those of gcn_undirected.npz, sage_undirected.npz, gin_undirected.npz and gat_undirected.npz in DIR.
"""
import sys
import warnings

import numpy as np
import torch
from torch_geometric import nn as pyg

warnings.filterwarnings("ignore")
KEPT = ("indptr", "indices", "x", "y", "train_mask")
HIDDEN, LAYERS, HEADS = 8, 4, 2
KINDS = {"gcn": (pyg.GCN, {}), "sage": (pyg.GraphSAGE, {}), "gin": (pyg.GIN, {"train_eps": True}), "gat": (pyg.GAT, {"heads": HEADS}), "gatv2": (pyg.GAT, {"heads": HEADS, "v2": True})}


def logits_of(model, x, edges):
    """Kipf and Welling, ICLR 2017, eq. 14: H(l+1) = act(norm(conv(H(l)))) + H(l), from the second layer to the last but one."""
    for layer, conv in enumerate(model.convs):
        made = conv(x, edges)
        if layer == LAYERS - 1:
            return made
        made = model.norms[layer](made).relu()
        x = made if layer == 0 else made + x


def case(kind, given, order):
    torch.manual_seed(29)  # by which no gradient of attention cancels to rounding alone
    n = len(given["train_mask"])
    x, train = torch.tensor(given["x"]).double(), torch.tensor(given["train_mask"])
    y = torch.tensor(given["y"]).long()
    of, more = KINDS[kind]
    model = of(x.size(1), HIDDEN, LAYERS, given["logits"].shape[1], norm=torch.nn.LayerNorm(HIDDEN), **more).double()
    edges = torch.tensor(np.stack([given["indices"], np.repeat(np.arange(n), np.diff(given["indptr"]))])).long()
    with torch.no_grad():
        for p in model.parameters():
            p += 0.1 * torch.randn_like(p)
            p.copy_(p.float())  # as capgnn reads it
    out = {k: given[k] for k in KEPT}
    names = dict(sorted(model.named_parameters(), key=lambda t: (int(t[0].split(".")[1]), "norms" in t[0], "norms" not in t[0] and order.index(t[0].split(".", 2)[2]))))  # forward order
    out.update({"param/" + k: p.detach().numpy().copy() for k, p in names.items()})
    opt = torch.optim.Adam(model.parameters(), lr=0.01)
    losses = []
    for step in range(5):
        opt.zero_grad()
        logits = logits_of(model, x, edges)
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
    for kind in KINDS:
        with np.load(f"{sys.argv[1]}/{kind}_multilabel.npz") as other:  # has the tensors of a layer in forward order
            order = [k.split(".", 2)[2] for k in other if k.startswith("param/convs.0.")]
        with np.load(f"{sys.argv[1]}/{'gat' if kind == 'gatv2' else kind}_undirected.npz") as given:
            c = case(kind, dict(given), order)
        print(kind, c["loss"])
        np.savez_compressed(f"{sys.argv[1]}/{kind}_residual.npz", **c)
