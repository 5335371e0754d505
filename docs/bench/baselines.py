"""The settings of "Classic GNNs are Strong Baselines" (Luo, Shi and Wu, NeurIPS 2024) for medium graphs, by capgnn.fit.

    python baselines.py --data FOLDER [--splits FOLDER] [--only cora,citeseer] [--runs N] [--torch] [--log FILE]

FOLDER of --data holds the data sets as `capgnn data fetch` lays them; that of --splits AUTHORS_NAME_split.npz of the authors'
repository, which amazon-photo, amazon-computer and coauthor need. Graphs that are not there are left out, and named. Score: of the test
vertices at the best validation epoch, in percent: mean ± deviation of runs; run i has seed i, and split i where the data have
several. --torch: the same modules and seeds, trained by torch in place of capgnn. Runs that stand in the log are not made again.
"""
import argparse
import json
import os
import statistics
import tempfile
import warnings

import numpy as np
import torch
import torch.nn.functional as F
from torch import nn
from torch_geometric.data import Data
from torch_geometric.io import read_npz, read_planetoid_data
from torch_geometric.nn import GATConv, GCNConv, SAGEConv
from torch_geometric.utils import add_self_loops, remove_self_loops, to_undirected

import capgnn

# Graph, convolution, layers, hidden, learning rate, weight decay, dropout, norm, "res" (a Linear beside each layer) and "pre" (one
# before the first), epochs, runs; score and deviation that the authors publish. AUC for minesweeper and questions.
SETTINGS = [line.split() for line in """
cora gcn 3 512 1e-3 5e-4 0.7 - - 500 5 85.10 0.67
cora sage 3 256 1e-3 5e-4 0.7 - - 500 5 83.88 0.65
cora gat 3 512 1e-3 5e-4 0.2 - res 500 5 84.46 0.55
citeseer gcn 2 512 1e-3 1e-2 0.5 - - 500 5 73.14 0.67
citeseer sage 3 512 1e-3 1e-2 0.2 - - 500 5 72.26 0.55
citeseer gat 3 256 1e-3 1e-2 0.5 - res 500 5 72.22 0.84
pubmed gcn 2 256 5e-3 5e-4 0.7 - - 500 5 81.12 0.52
pubmed sage 4 512 5e-3 5e-4 0.7 - - 500 5 79.72 0.50
pubmed gat 2 512 1e-2 5e-4 0.5 - - 500 5 80.28 0.64
amazon-computer gcn 3 512 1e-3 5e-5 0.5 ln - 1000 3 93.99 0.12
amazon-computer sage 4 64 1e-3 5e-5 0.3 ln - 1000 3 93.25 0.14
amazon-computer gat 2 64 1e-3 5e-5 0.5 ln - 1000 3 94.09 0.37
amazon-photo gcn 6 256 1e-3 5e-5 0.5 ln res 1000 3 96.10 0.46
amazon-photo sage 6 64 1e-3 5e-5 0.2 ln res 1000 3 96.78 0.23
amazon-photo gat 3 64 1e-3 5e-5 0.5 ln res 1000 3 96.60 0.33
coauthor-cs gcn 2 512 1e-3 5e-4 0.3 ln res 1500 3 96.17 0.06
coauthor-cs sage 2 512 1e-3 5e-4 0.5 ln res 1500 3 96.38 0.11
coauthor-cs gat 1 256 1e-3 5e-4 0.3 ln res 1500 3 96.21 0.14
coauthor-physics gcn 2 64 1e-3 5e-4 0.3 ln res 1500 3 97.46 0.10
coauthor-physics sage 2 64 1e-3 5e-4 0.7 bn res 1500 3 97.19 0.18
coauthor-physics gat 2 256 1e-3 5e-4 0.7 bn res 1500 3 97.25 0.06
wikics gcn 3 256 1e-3 0 0.5 ln - 1000 3 80.30 0.62
wikics sage 2 256 1e-3 0 0.7 ln - 1000 3 80.69 0.31
wikics gat 2 512 1e-3 0 0.7 ln res 1000 3 81.07 0.54
squirrel gcn 4 256 1e-2 5e-4 0.7 bn res 500 10 45.01 1.63
squirrel sage 3 256 1e-2 5e-4 0.7 bn res 500 10 40.78 1.47
squirrel gat 7 512 5e-3 5e-4 0.5 bn res 500 10 41.73 2.07
chameleon gcn 5 512 5e-3 1e-3 0.2 - - 200 10 46.29 3.40
chameleon sage 4 256 1e-2 1e-3 0.7 bn res 200 10 44.81 4.74
chameleon gat 2 256 1e-2 1e-3 0.7 bn res 200 10 44.13 4.17
amazon-ratings gcn 4 512 1e-3 0 0.5 bn res 2500 3 53.80 0.60
amazon-ratings sage 9 512 1e-3 0 0.5 bn res 2500 3 55.40 0.21
amazon-ratings gat 4 512 1e-3 0 0.5 bn res 2500 3 55.54 0.51
minesweeper gcn 12 64 1e-2 0 0.2 bn res 2000 3 97.86 0.24
minesweeper sage 15 64 1e-2 0 0.2 bn res 2000 3 97.77 0.62
minesweeper gat 15 64 1e-2 0 0.2 bn res 2000 3 97.73 0.73
roman-empire gcn 9 512 1e-3 0 0.5 bn res,pre 2500 3 91.27 0.20
roman-empire sage 9 256 1e-3 0 0.3 bn pre 2500 3 91.06 0.27
roman-empire gat 10 512 1e-3 0 0.3 bn res,pre 2500 3 90.63 0.14
questions gcn 10 512 3e-5 0 0.3 - res,pre 1500 3 79.02 0.60
questions sage 6 512 3e-5 0 0.2 ln pre 1500 3 77.21 1.28
questions gat 3 512 3e-5 0 0.2 ln res,pre 1500 3 77.95 0.51
""".strip().splitlines()]


class Stack(nn.Module):
    """Convolutions with a Linear beside them (res), norm, ReLU and dropout behind each, and a Linear at the end."""

    def __init__(self, columns, classes, kind, layers, hidden, dropout, norm, more):
        super().__init__()
        make = {"gcn": GCNConv, "sage": SAGEConv, "gat": lambda i, o: GATConv(i, o, add_self_loops=False, bias=False)}[kind]
        self.first = nn.Linear(columns, hidden) if "pre" in more else None
        widths = [hidden if "pre" in more else columns] + [hidden] * (layers - 1)
        self.convs = nn.ModuleList([make(w, hidden) for w in widths])
        self.lins = nn.ModuleList([nn.Linear(w, hidden) for w in widths if "res" in more])
        self.norms = nn.ModuleList([{"ln": nn.LayerNorm, "bn": nn.BatchNorm1d}[norm](hidden) for _ in widths if norm != "-"])
        self.last, self.dropout = nn.Linear(hidden, classes), dropout

    def forward(self, x, edge_index):
        if self.first is not None:
            x = F.dropout(self.first(x), self.dropout, self.training)
        for i, conv in enumerate(self.convs):
            y = conv(x, edge_index)
            if len(self.lins):
                y = y + self.lins[i](x)
            if len(self.norms):
                y = self.norms[i](y)
            x = F.dropout(F.relu(y), self.dropout, self.training)
        return self.last(x)


def per_class(y, each=20, val=500, test=1000):
    """Returns a split as the authors draw it with their seed of 123."""
    torch.manual_seed(123)
    train, rest = [], []
    for c in y.unique():
        own = torch.where(y == c)[0]
        own = own[torch.randperm(len(own))]
        train, rest = train + [own[:each]], rest + [own[each:]]
    rest = torch.cat(rest)
    rest = rest[torch.randperm(len(rest))]
    return torch.cat(train), rest[:val], rest[val:val + test]


def load(name, o):
    """Returns Data without masks, and the masks or index sets of the splits; None where a file is missing."""
    at = lambda *paths: next((p for p in (os.path.join(o.data, q) for q in paths) if os.path.exists(p)), None)  # noqa: E731
    short = name.replace("-", "_").replace("coauthor_physics", "coauthor_phy")
    if name in ("cora", "citeseer", "pubmed"):
        if not at(f"planetoid_{name}"):
            return None
        data = read_planetoid_data(at(f"planetoid_{name}"), name)
        splits = [per_class(data.y)]
    elif name.startswith(("amazon-p", "amazon-c", "coauthor")):
        file, sets = at(f"{name.replace('-', '_')}/{short}.npz", f"{short}s/{short}s.npz"), os.path.join(o.splits or "", f"{name}_split.npz")
        if not file or not os.path.exists(sets):
            return None
        data = read_npz(file)
        data.x = data.x / data.x.sum(1, keepdim=True).clamp(min=1)
        with np.load(sets) as z:
            splits = [tuple(torch.from_numpy(z[k]) for k in ("train", "valid", "test"))]
    else:
        file = at(f"heterophilous/{name.replace('-', '_')}.npz", f"heterophilous/{name}_filtered.npz")
        if not file:
            return None
        with np.load(file) as z:
            data = Data(x=torch.from_numpy(z["node_features"]).float(), edge_index=torch.from_numpy(z["edges"]).long().t().contiguous(),
                        y=torch.from_numpy(z["node_labels"]).long())
            splits = [tuple(torch.from_numpy(z[k][i]) for k in ("train_masks", "val_masks", "test_masks")) for i in range(len(z["train_masks"]))]
    edges = remove_self_loops(to_undirected(data.edge_index, num_nodes=len(data.x)))[0]
    return Data(x=data.x, edge_index=add_self_loops(edges, num_nodes=len(data.x))[0], y=data.y), splits


def by_torch(module, data, epochs, lr, decay):
    """Returns the accuracy of the test vertices at the best validation epoch."""
    optimizer, best = torch.optim.Adam(module.parameters(), lr=lr, weight_decay=decay), (-1.0, 0.0)
    for _ in range(epochs):
        module.train()
        optimizer.zero_grad()
        F.cross_entropy(module(data.x, data.edge_index)[data.train_mask], data.y[data.train_mask]).backward()
        optimizer.step()
        module.eval()
        with torch.no_grad():
            right = (module(data.x, data.edge_index).argmax(1) == data.y).float()
        val = right[data.val_mask].mean().item()
        if val > best[0]:
            best = val, right[data.test_mask].mean().item()
    return best[1]


def score(o, row, data, split, seed):
    name, kind, layers, hidden, lr, decay, dropout, norm, more, epochs = row[:10]
    for key, part in zip(("train_mask", "val_mask", "test_mask"), split):
        mask = torch.zeros(len(data.x), dtype=torch.bool)
        mask[part] = True
        data[key] = mask
    torch.manual_seed(seed)
    module = Stack(data.x.size(1), int(data.y.max()) + 1, kind, int(layers), int(hidden), float(dropout), norm, more.split(","))
    if o.torch:
        return by_torch(module, data, int(epochs), float(lr), float(decay))
    with tempfile.TemporaryDirectory() as folder:
        run = capgnn.fit(module, data, epochs=int(epochs), lr=float(lr), weight_decay=float(decay), eval_every=1, seed=seed, devices=o.devices,
                         metric="roc-auc" if name in ("minesweeper", "questions") else "auto", edges="directed", run_dir=os.path.join(folder, "run"))
        return run.result["test"]


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--data", required=True)
    p.add_argument("--splits")
    p.add_argument("--only", default="")
    p.add_argument("--runs", type=int, default=0)
    p.add_argument("--devices", default="auto")
    p.add_argument("--torch", action="store_true")
    p.add_argument("--log", default=os.devnull)
    o = p.parse_args()
    warnings.simplefilter("ignore")
    log = {}
    if os.path.isfile(o.log):
        with open(o.log) as f:
            log = {r["key"]: r["score"] for r in map(json.loads, f)}
    print("| graph | model | runs | torch | published |\n|---|---|---:|---:|---:|" if o.torch else "| graph | model | runs | capgnn | published |\n|---|---|---:|---:|---:|")
    missing = []
    for row in SETTINGS:
        if o.only and not any(" ".join(row).startswith(word) for word in o.only.split(",")):
            continue
        loaded = load(row[0], o)
        if loaded is None:
            missing.append(" ".join(row[:2]))
            continue
        (data, splits), scores = loaded, []
        for seed in range(o.runs or int(row[10])):
            key = f"{' '.join(row[:10])} {seed} {'torch' if o.torch else 'capgnn'}"
            if key not in log:
                log[key] = score(o, row, data, splits[seed % len(splits)], seed + 1)
                with open(o.log, "a") as f:
                    f.write(json.dumps({"key": key, "score": log[key]}) + "\n")
            scores.append(100 * log[key])
        print(f"| {row[0]} | {row[1]} | {len(scores)} | {statistics.mean(scores):.2f} ± {statistics.pstdev(scores):.2f} | {row[11]} ± {row[12]} |", flush=True)
    if missing:
        print("\nNot there:", ", ".join(missing))


if __name__ == "__main__":
    main()
