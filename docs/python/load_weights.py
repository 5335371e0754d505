"""Load the weights of a capgnn run into the matching torch_geometric model and compare the logits.

    capgnn predict --run RUN
    python load_weights.py RUN STORE [LOGITS.npy]

RUN is the run folder, STORE the data set of the run as a store (`capgnn data import`) with the same edges; LOGITS is what
`capgnn predict` wrote (default: RUN/logits.npy). Ends with 1 if a logit differs by more than 1e-4.
"""
import sys

import numpy as np
import torch
from safetensors.torch import load_file
from torch_geometric.nn.models import GAT, GCN, GIN, GraphSAGE
from torch_geometric.utils import add_self_loops, degree, remove_self_loops

from read_store import read_store, to_data


def read_config(run):
    """Returns config.yaml, which has one plain `key: value` per line, as a dict of strings."""
    with open(f"{run}/config.yaml") as f:
        pairs = [line.split(":", 1) for line in f if ":" in line and not line.startswith("#")]
    return {key: value.strip().strip('"') for key, value in pairs}


def make_model(cfg, width, classes):
    """Returns the BasicGNN that the run trained."""
    hidden, layers = int(cfg["hidden"]), int(cfg["layers"])
    args = dict(in_channels=width, hidden_channels=hidden, num_layers=layers, out_channels=classes,
                dropout=float(cfg["dropout"]), norm=torch.nn.LayerNorm(hidden))
    if cfg["model"] == "gcn":  # edge weights and loops: see graph_of
        return GCN(**args, normalize=False, add_self_loops=False)
    if cfg["model"] == "gat":
        return GAT(**args, heads=int(cfg["heads"]), add_self_loops=False)
    if cfg["model"] == "gin":
        return GIN(**args, train_eps=True)
    return GraphSAGE(**args)


def graph_of(cfg, edge_index, n):
    """Returns what the model is called with besides x.

    capgnn settles the self-loops once, for the whole run. Its GCN divides by the root of both the target's in-degree and
    the source's out-degree; GCNConv takes the in-degree for both, which is the same for symmetric graphs alone. So the
    weights are made here.
    """
    choice = cfg["self-loops"]
    if choice == "auto":
        choice = "add" if cfg["model"] in ("gcn", "gat") else "remove"
    if choice != "keep":
        edge_index, _ = remove_self_loops(edge_index)
    if choice == "add":
        edge_index, _ = add_self_loops(edge_index, num_nodes=n)
    if cfg["model"] != "gcn":
        return {"edge_index": edge_index}
    source, target = edge_index
    weight = (degree(target, n)[target] * degree(source, n)[source]).rsqrt()
    return {"edge_index": edge_index, "edge_weight": weight}


def standardised(cfg, data):
    """Returns the features as the run read them from the store."""
    if cfg["standardize"] != "train":
        return data.x
    rows = data.x[data.train_mask].double()
    deviation = rows.std(0, unbiased=False)
    return ((data.x.double() - rows.mean(0)) / torch.where(deviation > 0, deviation, 1)).float()


def main(run, store, logits=None):
    cfg, weights = read_config(run), load_file(f"{run}/model.safetensors")
    data = to_data(read_store(store))
    want = torch.from_numpy(np.load(logits or f"{run}/logits.npy"))
    model = make_model(cfg, data.x.size(1), want.size(1))
    model.load_state_dict(weights)  # strict: every name and shape fits, none is left over
    model.eval()
    with torch.no_grad():
        got = model(standardised(cfg, data), **graph_of(cfg, data.edge_index, data.num_nodes))
    difference = (got - want).abs().max().item()
    print(f"{cfg['model']}: {len(weights)} tensors, {tuple(want.shape)} logits up to {want.abs().max():.3g}, "
          f"largest difference {difference:.2e}")
    return difference <= 1e-4


if __name__ == "__main__":
    sys.exit(0 if main(*sys.argv[1:]) else 1)
