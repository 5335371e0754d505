"""examples_reference.py DIR: the golden cases of SGC, APPNP and GCNII, from PyTorch Geometric's SGConv, APPNP and GCN2Conv in float64, as PyG's examples put
them together, without dropout.

KIND_weighted has one label per vertex and a symmetric graph with symmetric weights, and a loop at some vertices. KIND_multilabel has several, and no weights.
The convolutions add the other loops.
"""
import sys
import warnings

import numpy as np
import torch
from torch_geometric import nn as pyg

from weighted_reference import HIDDEN, IN, N, graph

warnings.filterwarnings("ignore")
ALPHA, THETA = 0.25, 0.75
LAYERS = {"sgc": 3, "appnp": 4, "gcnii": 4}
OUT = {"weighted": 4, "multilabel": 6}


class SGC(pyg.SGConv):
    def __init__(self, out):
        super().__init__(IN, out, K=LAYERS["sgc"])


class APPNP(torch.nn.Module):
    def __init__(self, out):
        super().__init__()
        self.lin1, self.lin2 = torch.nn.Linear(IN, HIDDEN), torch.nn.Linear(HIDDEN, out)
        self.prop1 = pyg.APPNP(LAYERS["appnp"], ALPHA)

    def forward(self, x, *graph):
        return self.prop1(self.lin2(self.lin1(x).relu()), *graph)


class GCNII(torch.nn.Module):
    def __init__(self, out):
        super().__init__()
        self.lins = torch.nn.ModuleList([torch.nn.Linear(IN, HIDDEN), torch.nn.Linear(HIDDEN, out)])
        self.convs = torch.nn.ModuleList([pyg.GCN2Conv(HIDDEN, ALPHA, THETA, layer + 1) for layer in range(LAYERS["gcnii"])])

    def forward(self, x, *graph):
        x = x_0 = self.lins[0](x).relu()
        for conv in self.convs:
            x = conv(x, x_0, *graph).relu()
        return self.lins[1](x)


MODELS = {"sgc": SGC, "appnp": APPNP, "gcnii": GCNII}


def case(kind, variant):
    rng = np.random.default_rng(2027)
    torch.manual_seed(12)
    target, source, weight = graph(rng, "gcn")
    if variant == "multilabel":
        target, source = target[target != source], source[target != source]
    indptr = np.concatenate([[0], np.cumsum(np.bincount(target, minlength=N))])
    out_width = OUT[variant]
    x = rng.normal(size=(N, IN)).astype(np.float32).astype(np.float64)
    train = torch.tensor(rng.random(N) < 0.5)
    y = torch.tensor(rng.integers(0, out_width, N)) if variant == "weighted" else torch.tensor(rng.integers(0, 2, (N, out_width)))
    model = MODELS[kind](out_width).double()
    with torch.no_grad():
        for p in model.parameters():
            p += 0.1 * torch.randn_like(p)
            p.copy_(p.float())  # as capgnn reads it
    given = [torch.tensor(np.stack([source, target]))]
    out = dict(indptr=indptr, indices=source, x=x, train_mask=train.numpy(), y=y.numpy(), layers=np.int64(LAYERS[kind]), alpha=np.float64(ALPHA), theta=np.float64(THETA))
    if variant == "weighted":
        given.append(torch.tensor(weight))
        out["weights"] = weight
    names = dict(sorted(model.named_parameters(), key=lambda t: t[0].startswith("lins.1")))  # forward order
    out.update({"param/" + k: p.detach().numpy().copy() for k, p in names.items()})
    opt = torch.optim.Adam(model.parameters(), lr=0.01)
    losses = []
    for step in range(5):
        opt.zero_grad()
        logits = model(torch.tensor(x), *given)
        if variant == "weighted":
            loss = torch.nn.functional.cross_entropy(logits[train], y[train])
        else:
            loss = torch.nn.functional.binary_cross_entropy_with_logits(logits[train], y[train].double())
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
    for kind in MODELS:
        for variant in OUT:
            c = case(kind, variant)
            print(kind, variant, c["loss"], [k for k in c if k.startswith("param/")][:4])
            np.savez_compressed(f"{sys.argv[1]}/{kind}_{variant}.npz", **c)
