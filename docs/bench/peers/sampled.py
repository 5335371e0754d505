"""What the peers of sampled training share: fan-outs, the model on a stack of blocks, epochs, exact scores.

The model is capgnn's GraphSAGE with mean: conv, LayerNorm, ReLU, dropout; the last layer is bare; Adam; the loss is the mean over a
batch's roots. Every training vertex is a root once per epoch, in a new order, the last batch is the rest. An epoch is sampling,
reading features, forward, loss, backward and Adam. Scores are exact: all neighbours, layer by layer, outside the epoch's time.

--fanout lists the hop nearest the roots first. `all` at the last hop: layer 0 reads rows of ÂX, made once before the first epoch, and
the last hop is not sampled.
"""
import json
import os
import platform
import time

import numpy as np
import scipy.sparse as sp
import torch
import torch.nn.functional as F

import common
from torch_epoch import ReluDropout, product

FUSED = common.FUSED


def arguments(description):
    """Returns the parser with the options that both peers have."""
    p = common.arguments(description)
    p.set_defaults(model="sage")
    p.add_argument("--batch-size", type=int, default=1024)
    p.add_argument("--fanout", help="fan-outs, nearest the roots first (default: 15, 10, 5, 5 … for as many layers)")
    p.add_argument("--lr", type=float, default=0.01)
    p.add_argument("--transform-first", type=int, metavar="L",
                   help="the first L layers multiply by the weights before they aggregate (default: 1 where the features are 4 times as wide as the hidden layer, else 0)")
    p.add_argument("--workers", type=int, default=0, help="processes that sample")
    p.add_argument("--eval-every", type=int, default=0, help="score every N epochs; 0 = not at all")
    return p


class Batch:
    """One block stack. x: features of the widest ids; ax: their rows of ÂX, or None; roots: places in g.train's labels;
    means: by sampled layer the function h -> mean over the sampled neighbours, for the layer's rows; rows: their numbers;
    edges: sampled edges."""

    def __init__(self, x, ax, y, means, rows, edges):
        self.x, self.ax, self.y, self.means, self.rows, self.edges = x, ax, y, means, rows, edges


class Data:
    """The store: structure as common.Graph has it, features in memory, labels of all vertices, masks."""

    def __init__(self, o):
        g = common.Graph(o.dataset, False, o.seed, o.order)
        s = common.read_store(o.dataset)
        self.n, self.a, self.width, self.classes = g.n, g.a, g.width, g.classes
        x = g.x.toarray() if sp.issparse(g.x) else np.array(g.x, dtype=np.float32)
        self.x = torch.from_numpy(x)
        y = np.array(s["y"])
        self.y = torch.from_numpy(y.astype(np.float32 if y.ndim == 2 else np.int64))
        labelled = np.ones(self.n, bool) if y.ndim == 2 else y >= 0
        self.ids = {k: torch.from_numpy(np.flatnonzero(np.array(s[k + "_mask"], bool) & labelled)) for k in ("train", "val", "test")}
        # Values 1/degree: the mean over all neighbours.
        self.mean = common.as_csr(self.a, np.repeat(1 / g.degree(), np.diff(self.a.indptr)))
        self.ax = None

    def loss(self, z, y):
        return F.binary_cross_entropy_with_logits(z, y) if y.dim() == 2 else F.cross_entropy(z, y)

    def score(self, z, which):
        """Returns accuracy, or micro-F1 of several labels, of logits z of all vertices."""
        ids = self.ids[which]
        z, y = z[ids], self.y[ids]
        if y.dim() == 1:
            return (z.argmax(1) == y).float().mean().item()
        hit = ((z > 0) & (y > 0)).sum().item()
        return 2 * hit / ((z > 0).sum().item() + (y > 0).sum().item())


class Model:
    """GraphSAGE with mean on a Batch. Layers aggregate first, since a block has more sources than rows; --transform-first turns this
    round where the layer's output is much narrower than its input."""

    def __init__(self, o, g):
        self.o = o
        self.w = {name: torch.nn.Parameter(t) for name, t in common.first_weights(o, g).items()}

    def layer(self, l, mean, h, rows):
        if l >= self.o.transform_first:
            return self.combine(l, mean(h), h[:rows])
        w = self.w
        z = mean(F.linear(h, w[f"convs.{l}.lin_l.weight"])) + w[f"convs.{l}.lin_l.bias"]
        return torch.addmm(z, h[:rows], w[f"convs.{l}.lin_r.weight"].t())

    def combine(self, l, mean, h):
        w = self.w
        z = F.linear(mean, w[f"convs.{l}.lin_l.weight"], w[f"convs.{l}.lin_l.bias"])
        return torch.addmm(z, h, w[f"convs.{l}.lin_r.weight"].t())

    def between(self, l, z, p):
        if l == self.o.layers - 1:
            return z
        z = F.layer_norm(z, (self.o.hidden,), self.w[f"norms.{l}.weight"], self.w[f"norms.{l}.bias"])
        return ReluDropout.apply(z, p)

    def forward(self, b):
        h, first = b.x, 0
        if b.ax is not None:
            h, first = self.between(0, self.combine(0, b.ax, h), self.o.dropout), 1
        for l in range(first, self.o.layers):
            h = self.between(l, self.layer(l, b.means[l - first], h, b.rows[l - first]), self.o.dropout)
        return h

    def exact(self, g):
        """Returns the logits of all vertices, from all neighbours."""
        with torch.no_grad():
            h = g.x
            for l in range(self.o.layers):
                h = self.between(l, self.combine(l, product(g.mean, h, 32), h), 0)
        return h


def start(parser):
    """Reads the command line and the store."""
    o = parser.parse_args()
    torch.set_num_threads(o.threads)
    torch.manual_seed(o.seed)
    fanout = o.fanout.split(",") if o.fanout else ["15", "10", *["5"] * o.layers][:o.layers]
    if len(fanout) != o.layers:
        parser.error("--fanout: as many as layers")
    g = Data(o)
    if o.transform_first is None:
        o.transform_first = int(g.width > 4 * o.hidden)
    o.last_all = fanout[-1] == "all"
    o.hops = [int(k) for k in (fanout[:-1] if o.last_all else fanout)]
    if o.last_all:
        g.ax = product(g.mean, g.x, 32)
    return o, g


def train(o, g, peer, batches, **versions):
    """Trains o.epochs epochs of batches() and prints the line of JSON that compare.py reads."""
    model = Model(o, g)
    optimizer = torch.optim.Adam(model.w.values(), lr=o.lr, **({"fused": True} if FUSED else {}))
    load_peak = common.memory()
    common.forget_peak()
    runs, best = {k: [] for k in ("seconds", "cpu", "losses", "edges", "val", "test")}, None
    for epoch in range(o.epochs):
        begin, used, loss_sum, edges = time.perf_counter(), cpu_seconds(), 0.0, 0
        for b in batches():
            optimizer.zero_grad()
            loss = g.loss(model.forward(b), b.y)
            loss.backward()
            optimizer.step()
            loss_sum += loss.item() * len(b.y)
            edges += b.edges
        runs["seconds"].append(time.perf_counter() - begin)
        runs["cpu"].append(cpu_seconds() - used)
        runs["losses"].append(loss_sum / len(g.ids["train"]))
        runs["edges"].append(edges)
        if o.eval_every and ((epoch + 1) % o.eval_every == 0 or epoch + 1 == o.epochs):
            z = model.exact(g)
            runs["val"].append(g.score(z, "val"))
            runs["test"].append(g.score(z, "test"))
            best = int(np.argmax(runs["val"]))
    peak = common.memory()
    print(json.dumps({
        "peer": peer, "versions": {"python": platform.python_version(), "torch": torch.__version__, **versions},
        "threads": o.threads, "workers": o.workers, "dataset": os.path.basename(os.path.normpath(o.dataset)), "model": o.model,
        "batch_size": o.batch_size, "fanout": o.fanout, "epoch_s": runs["seconds"], "cpu_s": runs["cpu"],
        "median_s": float(np.median(runs["seconds"][o.warm_up:])) if o.epochs > o.warm_up else None,
        "median_cpu_s": float(np.median(runs["cpu"][o.warm_up:])) if o.epochs > o.warm_up else None,
        "losses": runs["losses"], "edges": runs["edges"], "val": runs["val"], "test_by_epoch": runs["test"],
        "test": None if best is None else runs["test"][best],
        "peak_bytes": {"run": max(peak[0], load_peak[0]), "epochs": peak[0], "epochs_anonymous": peak[1]},
    }), flush=True)


def cpu_seconds():
    """Returns the CPU-seconds of this process and of the processes that it started, running ones too."""
    total, tick = time.process_time(), os.sysconf("SC_CLK_TCK")
    ended = os.times()
    total += ended.children_user + ended.children_system
    for path in (f"/proc/self/task/{t}/children" for t in os.listdir("/proc/self/task")):
        with open(path) as f:
            for child in f.read().split():
                try:
                    with open(f"/proc/{child}/stat") as stat:
                        fields = stat.read().rsplit(")", 1)[1].split()
                except OSError:
                    continue
                total += (int(fields[11]) + int(fields[12])) / tick
    return total
