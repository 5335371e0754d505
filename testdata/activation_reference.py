"""activation_reference.py DIR: the golden cases KIND_ACTIVATION, from PyTorch Geometric's models in float64 with act=ACTIVATION, and the examples of APPNP and GCNII with
torch.nn's activations in place of their ReLU.

Graphs, features, labels, masks and initial weights are those of a case in DIR with ReLU, whose logits the models have to give with ReLU.
"""
import sys
import warnings

import numpy as np
import torch
from torch_geometric import nn as pyg

from examples_reference import MODELS

warnings.filterwarnings("ignore")
KEPT = ("indptr", "indices", "x", "y", "train_mask", "layers", "alpha", "theta")
NUMBERS = {"relu": 0, "leaky_relu": 1, "elu": 2, "tanh": 3}
FUNCTIONS = {"relu": torch.nn.ReLU(), "leaky_relu": torch.nn.LeakyReLU(), "elu": torch.nn.ELU(), "tanh": torch.nn.Tanh()}
CASES = {"gcn": "leaky_relu", "sage": "elu", "gin": "tanh", "gat": "elu", "gatv2": "tanh", "appnp": "elu", "gcnii": "tanh"}


def model_of(kind, activation, given):
    size = given["x"].shape[1], given["logits"].shape[1]
    if kind in MODELS:
        model, act = MODELS[kind](size[1]), FUNCTIONS[activation]
        if kind == "appnp":
            model.forward = lambda x, *graph: model.prop1(model.lin2(act(model.lin1(x))), *graph)
        else:
            def forward(x, *graph):
                x = x_0 = act(model.lins[0](x))
                for conv in model.convs:
                    x = act(conv(x, x_0, *graph))
                return model.lins[1](x)
            model.forward = forward
        return model
    layers, hidden = 1 + max(int(k.split(".")[1]) for k in given if k.startswith("param/convs.")), len(given["param/norms.0.weight"])
    args = dict(in_channels=size[0], hidden_channels=hidden, num_layers=layers, out_channels=size[1], norm=torch.nn.LayerNorm(hidden), act=activation)
    if kind in ("gat", "gatv2"):
        scores = given["param/convs.0.att" if kind == "gatv2" else "param/convs.0.att_src"]
        return pyg.GAT(**args, heads=scores.shape[1], v2=kind == "gatv2")
    if kind == "gin":
        return pyg.GIN(**args, train_eps=True)
    return pyg.GCN(**args) if kind == "gcn" else pyg.GraphSAGE(**args)


def trained(kind, activation, given):
    """Returns the logits before and the results of five Adam steps."""
    model = model_of(kind, activation, given).double()
    names = [k[len("param/"):] for k in given if k.startswith("param/")]
    parameters = dict(model.named_parameters())
    shapes = {k: given["param/" + k].shape for k in names}  # GIN's eps has no axis there
    model.load_state_dict({k: torch.tensor(given["param/" + k]).double().reshape(p.shape) for k, p in parameters.items()})
    x, train, n = torch.tensor(given["x"]).double(), torch.tensor(given["train_mask"]), len(given["train_mask"])
    edges = torch.tensor(np.stack([given["indices"], np.repeat(np.arange(n), np.diff(given["indptr"]))])).long()
    several = given["y"].ndim == 2
    y = torch.tensor(given["y"]).double() if several else torch.tensor(given["y"]).long()
    out = {k: given[k] for k in KEPT if k in given}
    out.update({k: given[k] for k in given if k.startswith("param/")})
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
            out.update({"grad/" + k: parameters[k].grad.numpy().reshape(shapes[k]).copy() for k in names})
        losses.append(loss.item())
        opt.step()
    out.update(adam_losses=np.array(losses), activation=np.int64(NUMBERS[activation]))
    out.update({"adam5/" + k: parameters[k].detach().numpy().reshape(shapes[k]) for k in names})
    return out


if __name__ == "__main__":
    for kind, activation in CASES.items():
        with np.load(f"{sys.argv[1]}/{kind}_multilabel.npz") as z:
            given = dict(z)
        np.testing.assert_allclose(trained(kind, "relu", given)["logits"], given["logits"], rtol=0, atol=1e-12)
        c = trained(kind, activation, given)
        print(kind, activation, c["loss"], given["loss"])
        np.savez_compressed(f"{sys.argv[1]}/{kind}_{activation.replace('_', '-')}.npz", **c)
