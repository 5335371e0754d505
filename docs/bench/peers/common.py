"""What the peers share: the graph of a capgnn store, the first weights, the clock and the line that a run prints.

The model is capgnn's default (GCN or GraphSAGE with mean): conv, LayerNorm, ReLU, dropout; the last layer is bare; Adam with
lr 0.01; loss over the training vertices. An epoch is forward, loss, backward and Adam; nothing is evaluated in it.
"""
import argparse
import json
import os
import platform
import sys
import time
import warnings

import numpy as np
import scipy.sparse as sp
import torch
import torch.nn.functional as F
from scipy.sparse.csgraph import reverse_cuthill_mckee

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "..", "python"))
from capgnn.store import read_store  # noqa: E402

warnings.filterwarnings("ignore", message=".*[Ss]parse.*")
warnings.filterwarnings("ignore", message=".*not writable.*")

RATE = 0.01
FUSED = tuple(map(int, torch.__version__.split(".")[:2])) >= (2, 4)  # Adam in one kernel, also on CPUs


def arguments(description, models=("gcn", "sage")):
    """Returns the parser with the options that every peer has."""
    p = argparse.ArgumentParser(description=description)
    p.add_argument("--dataset", required=True, help="store folder written by `capgnn data import` or `capgnn data synth`")
    p.add_argument("--model", choices=models, default="gcn")
    p.add_argument("--layers", type=int, default=3)
    p.add_argument("--hidden", type=int, default=256)
    p.add_argument("--heads", type=int, default=4, help="gat, gatv2: of each layer; the last averages them")
    p.add_argument("--dropout", type=float, default=0.5)
    p.add_argument("--epochs", type=int, default=7, help="epochs, warm-up included")
    p.add_argument("--warm-up", type=int, default=2, help="first epochs that the median leaves out")
    p.add_argument("--threads", type=int, default=2)
    p.add_argument("--device", default="cpu", help="cpu, or a GPU as torch names it: cuda:0")
    p.add_argument("--seed", type=int, default=1)
    p.add_argument("--order", help="order of the vertices in memory: rcm, or an .npy file with old ids in the new order (order.py)")
    p.add_argument("--prepared", help="folder that keeps the adjacency from run to run, of one data set and order")
    p.add_argument("--init", help="start from the weights in this .safetensors file")
    p.add_argument("--save-init", help="write the first weights to this .safetensors file and stop")
    return p


class Graph:
    """A store as the peers use it: no self-loops (one per vertex for GCN, GAT and GATv2), no edge twice.

    a: pattern of the adjacency, scipy CSR with int32 indices; row v lists the in-neighbours of v
    symmetric: whether a equals its transpose
    x: features, float32 array (memory-mapped) or scipy CSR
    y: labels (int64 classes or float32 n x classes); train: indices of the training vertices, a slice if all of them
    """

    def __init__(self, path, loops, seed, order=None, prepared=None):
        s = read_store(path)
        self.n = n = len(s["indptr"]) - 1
        p = None
        if prepared and not order:
            self.a, self.symmetric = kept(prepared, loops, lambda: with_symmetry(pattern(s, n, loops)))
        else:
            a = pattern(s, n, loops)
            p = permutation(a, order)
            if p is not None:
                a = a[p][:, p]
                a.sort_indices()
            self.a, self.symmetric = with_symmetry(a)
        if "x" in s:
            self.x = s["x"]
        else:
            self.x = sp.csr_matrix((s["x_data"], s["x_indices"], s["x_indptr"]), shape=tuple(s["x_shape"]), dtype=np.float32)
        if p is not None:
            self.x = self.x[p]
        self.width = int(self.x.shape[1])
        y = np.array(s["y"])
        if "train_mask" in s:
            mask = np.array(s["train_mask"], dtype=bool)
        else:
            mask = np.random.default_rng(seed).random(n) < 0.7
        if p is not None:
            y, mask = y[p], mask[p]
        if y.ndim == 2:
            self.y, self.classes = torch.from_numpy(y.astype(np.float32)), y.shape[1]
        else:
            mask &= y >= 0
            self.y, self.classes = torch.from_numpy(y.astype(np.int64)), int(y.max()) + 1
        self.train = torch.from_numpy(np.flatnonzero(mask))
        self.y = self.y[self.train]

    def degree(self):
        """Returns the number of in-edges of each vertex as float32, 1 where there is none."""
        return np.maximum(np.diff(self.a.indptr), 1).astype(np.float32)

    def gcn_values(self):
        """Returns the values of D_in^-1/2 A D_out^-1/2 in the order of a's indices."""
        out = np.maximum(np.bincount(self.a.indices, minlength=self.n), 1).astype(np.float32) ** -0.5
        values = out[self.a.indices]
        values *= np.repeat(self.degree() ** -0.5, np.diff(self.a.indptr))
        return values

    def loss(self, z):
        """Returns the mean loss over the training vertices of logits z."""
        z = z[self.train]
        return F.binary_cross_entropy_with_logits(z, self.y) if self.y.dim() == 2 else F.cross_entropy(z, self.y)


def pattern(s, n, loops):
    """Returns the adjacency's pattern without self-loops, or with one per vertex."""
    a = sp.csr_matrix((np.ones(len(s["indices"]), dtype=np.int8), np.array(s["indices"], dtype=np.int32),
                       np.array(s["indptr"], dtype=np.int64 if len(s["indices"]) >= 2**31 else np.int32)), shape=(n, n))
    a.sort_indices()
    a.sum_duplicates()
    rows = np.repeat(np.arange(n, dtype=np.int32), np.diff(a.indptr))
    a.data[:] = rows != a.indices
    del rows
    a.eliminate_zeros()
    if loops:
        a = (a + sp.identity(n, dtype=np.int8, format="csr")).tocsr()
        a.sort_indices()
    return a


def with_symmetry(a):
    """Returns a, and whether it equals its transpose."""
    t = a.T.tocsr()
    return a, np.array_equal(t.indptr, a.indptr) and np.array_equal(t.indices, a.indices)


def kept(folder, loops, make):
    """Returns what make() returns, a pattern and whether it is symmetric; from the folder if an earlier run has left it there."""
    base = os.path.join(folder, "loops" if loops else "plain")
    if os.path.exists(base + ".json"):
        with open(base + ".json") as f:
            symmetric = json.load(f)["symmetric"]
        ptr, col = np.load(base + ".indptr.npy"), np.load(base + ".indices.npy")
        return sp.csr_matrix((np.ones(len(col), dtype=np.int8), col, ptr), shape=(len(ptr) - 1,) * 2), symmetric
    a, symmetric = make()
    np.save(base + ".indptr.npy", a.indptr)
    np.save(base + ".indices.npy", a.indices)
    with open(base + ".json.new", "w") as f:
        json.dump({"symmetric": symmetric}, f)
    os.replace(base + ".json.new", base + ".json")  # what is there is whole
    return a, symmetric


def permutation(a, order):
    """Returns the old ids in the new order, None to keep the store's."""
    if not order:
        return None
    if order == "rcm":
        return reverse_cuthill_mckee(a, symmetric_mode=False)
    return np.load(order)


def first_weights(o, g):
    """Returns the weights to start from as a dict with the names of a torch_geometric BasicGNN."""
    if o.init:
        from safetensors.torch import load_file

        return load_file(o.init)
    r = torch.Generator().manual_seed(o.seed)
    widths = [g.width] + [o.hidden] * (o.layers - 1) + [g.classes]
    w = {}
    for l, (k, m) in enumerate(zip(widths, widths[1:])):
        bound = k**-0.5 if o.model == "sage" else (6 / (k + m)) ** 0.5

        def uniform(*shape):
            return (torch.rand(*shape, generator=r) * 2 - 1) * bound

        if o.model == "gcn":
            w[f"convs.{l}.lin.weight"], w[f"convs.{l}.bias"] = uniform(m, k), torch.zeros(m)
        elif o.model == "gat":
            c = m // o.heads if l < o.layers - 1 else m
            w[f"convs.{l}.lin.weight"], w[f"convs.{l}.bias"] = uniform(o.heads * c, k), torch.zeros(m)
            w[f"convs.{l}.att_src"], w[f"convs.{l}.att_dst"] = uniform(1, o.heads, c), uniform(1, o.heads, c)
        elif o.model == "gatv2":
            c = m // o.heads if l < o.layers - 1 else m
            for side in ("lin_l", "lin_r"):
                w[f"convs.{l}.{side}.weight"], w[f"convs.{l}.{side}.bias"] = uniform(o.heads * c, k), torch.zeros(o.heads * c)
            w[f"convs.{l}.att"], w[f"convs.{l}.bias"] = uniform(1, o.heads, c), torch.zeros(m)
        else:
            w[f"convs.{l}.lin_l.weight"], w[f"convs.{l}.lin_l.bias"] = uniform(m, k), uniform(m)
            w[f"convs.{l}.lin_r.weight"] = uniform(m, k)
        if l < o.layers - 1:
            w[f"norms.{l}.weight"], w[f"norms.{l}.bias"] = torch.ones(m), torch.zeros(m)
    return w


def start(parser):
    """Reads the command line and the store; returns both and the first weights."""
    o = parser.parse_args()
    torch.set_num_threads(o.threads)
    torch.manual_seed(o.seed)
    g = Graph(o.dataset, o.model != "sage", o.seed, o.order, o.prepared)
    g.train, g.y = g.train.to(o.device), g.y.to(o.device)
    w = first_weights(o, g)
    if o.save_init:
        from safetensors.torch import save_file

        save_file(w, o.save_init)
        sys.exit()
    return o, g, w


def as_csr(a, values, index=torch.int32):
    """Returns scipy CSR a with other values as a torch CSR tensor; memory is shared where the types are the same."""
    ptr, col = torch.from_numpy(a.indptr).to(index), torch.from_numpy(a.indices).to(index)
    return torch.sparse_csr_tensor(ptr, col, torch.from_numpy(values), a.shape)


def memory():
    """Returns the peak resident bytes of this process since the last mark, and the same without file-backed pages."""
    with open("/proc/self/status") as f:
        kb = {line.split(":")[0]: int(line.split()[1]) for line in f if line.startswith(("VmHWM", "RssFile"))}
    return kb["VmHWM"] * 1024, (kb["VmHWM"] - kb["RssFile"]) * 1024


def forget_peak():
    """Starts a new measurement of the peak."""
    try:
        with open("/proc/self/clear_refs", "w") as f:
            f.write("5")
    except OSError:
        pass  # then the peak is that of the whole run


def train(o, g, peer, forward, parameters, **versions):
    """Trains o.epochs epochs of forward() -> logits, timing each, and prints the line of JSON that compare.py reads. loss.item()
    waits for a GPU. device_peak_bytes: the most that torch has taken of the GPU for tensors since the program started."""
    optimizer = torch.optim.Adam(parameters, lr=RATE, fused=FUSED)
    on_gpu = o.device.startswith("cuda")
    if on_gpu:
        torch.cuda.synchronize()
        versions |= {"device": torch.cuda.get_device_name(o.device), "cuda": torch.version.cuda}
    load_peak = memory()
    forget_peak()
    seconds, cpu, losses = [], [], []
    for _ in range(o.epochs):
        begin, used = time.perf_counter(), time.process_time()
        optimizer.zero_grad()
        loss = g.loss(forward())
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
        if on_gpu:
            torch.cuda.synchronize()  # the step too
        seconds.append(time.perf_counter() - begin)
        cpu.append(time.process_time() - used)
    peak = memory()
    print(json.dumps({
        "peer": peer, "versions": {"python": platform.python_version(), "torch": torch.__version__, **versions},
        "threads": torch.get_num_threads(), "dataset": os.path.basename(os.path.normpath(o.dataset)), "model": o.model,
        "epoch_s": seconds, "cpu_s": cpu, "median_s": float(np.median(seconds[o.warm_up:])) if len(seconds) > o.warm_up else None,
        "losses": losses, "device_peak_bytes": torch.cuda.max_memory_allocated(o.device) if on_gpu else None, "peak_bytes": {"run": max(peak[0], load_peak[0]), "epochs": peak[0], "epochs_anonymous": peak[1]},
    }))
