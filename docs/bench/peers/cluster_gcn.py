"""Cluster-GCN (Chiang et al., 2019) with torch_geometric's GCN: scores, and processor time of clustering and of an epoch.

    python cluster_gcn.py --dataset STORE --split RUN/split.npz --clusters 64 --per-batch 8 --epochs 60 [--eval-every 3] ...

METIS (pymetis) cuts the graph into clusters, as torch_geometric's ClusterData does. A step takes the next --per-batch clusters of a
new order, with the edges between them, as ClusterLoader does, and normalises what it took. Every vertex is in one step of an epoch.
--split is that of a run of `capgnn train`, so that scores are paired. Scores are exact, on the whole graph, outside the epoch's time:
accuracy, or micro-F1 where vertices have several labels. Prints a line of JSON with the test score at the best validation epoch.
"""
import json
import os
import time
import warnings

warnings.filterwarnings("ignore")

import numpy as np  # noqa: E402
import pymetis  # noqa: E402
import scipy.sparse as sp  # noqa: E402
import torch  # noqa: E402
import torch.nn.functional as F  # noqa: E402
import torch_geometric  # noqa: E402
from torch_geometric.nn.models import GCN  # noqa: E402

import common  # noqa: E402


def normalised(a):
    """Returns D_in^-1/2 A D_out^-1/2 of a pattern with self-loops as a torch CSR tensor."""
    into, out = (np.maximum(a.getnnz(axis), 1).astype(np.float32) ** -0.5 for axis in (1, 0))
    return common.as_csr(a, (np.repeat(into, np.diff(a.indptr)) * out[a.indices]).astype(np.float32), torch.int64)


def rows(x, ids=None):
    """Returns features, or those of ids, as a torch tensor: CSR where they are sparse."""
    x = x if ids is None else x[ids]
    return common.as_csr(x, x.data, torch.int64) if sp.issparse(x) else torch.from_numpy(np.array(x, dtype=np.float32))


def loss(z, y):
    return F.binary_cross_entropy_with_logits(z, y) if y.dim() == 2 else F.cross_entropy(z, y)


def score(z, y):
    """Returns micro-F1 of logits above 0, or accuracy."""
    if y.dim() == 1:
        return (z.argmax(1) == y).double().mean().item()
    p = z > 0
    return (2 * (p & (y > 0)).sum() / (p.sum() + (y > 0).sum()).clamp(min=1)).item()


def main():
    p = common.arguments(__doc__, models=("gcn",))
    p.add_argument("--split", required=True, help="split.npz of the run to compare with")
    p.add_argument("--clusters", type=int, default=64)
    p.add_argument("--per-batch", type=int, default=8, help="clusters of a step")
    p.add_argument("--eval-every", type=int, default=1, help="score every N epochs, and the last one")
    o, g, w = common.start(p)
    split = np.load(o.split)
    y = np.array(common.read_store(o.dataset)["y"])
    y = torch.from_numpy(y.astype(np.float32 if y.ndim == 2 else np.int64))

    begin = time.process_time()
    both = g.a + g.a.T  # METIS takes undirected graphs without loops
    both.setdiag(0)
    both.eliminate_zeros()
    cluster = np.array(pymetis.part_graph(o.clusters, xadj=both.indptr, adjncy=both.indices, options=pymetis.Options(seed=o.seed))[1])
    members = [np.flatnonzero(cluster == c) for c in range(o.clusters)]
    cut_s = time.process_time() - begin

    model = GCN(g.width, o.hidden, o.layers, g.classes, dropout=o.dropout, norm=torch.nn.LayerNorm(o.hidden), normalize=False, add_self_loops=False)
    model.load_state_dict(w)
    optimizer = torch.optim.Adam(model.parameters(), lr=common.RATE, fused=common.FUSED)
    trained = np.zeros(g.n, bool)
    trained[split["train_mask"]] = True
    order, whole, x = np.random.default_rng(o.seed), normalised(g.a), rows(g.x)
    cpu, best = [], {"val": -1.0}
    for epoch in range(1, o.epochs + 1):
        begin = time.process_time()
        model.train()
        for batch in np.split(order.permutation(o.clusters), range(o.per_batch, o.clusters, o.per_batch)):
            ids = np.sort(np.concatenate([members[c] for c in batch]))
            roots = np.flatnonzero(trained[ids])
            if len(roots) == 0:
                continue
            optimizer.zero_grad()
            z = model(rows(g.x, ids), normalised(g.a[ids][:, ids]))
            loss(z[roots], y[ids[roots]]).backward()
            optimizer.step()
        cpu.append(time.process_time() - begin)
        if epoch % o.eval_every and epoch != o.epochs:
            continue
        model.eval()
        with torch.no_grad():
            z = model(x, whole)
        val, test = (score(z[split[s + "_mask"]], y[split[s + "_mask"]]) for s in ("val", "test"))
        if val > best["val"]:
            best = {"val": val, "test": test, "best_epoch": epoch}
    print(json.dumps({
        "peer": "cluster-gcn", "versions": {"torch": torch.__version__, "torch_geometric": torch_geometric.__version__},
        "dataset": os.path.basename(os.path.normpath(o.dataset)), "seed": o.seed, **best,
        "cluster_cpu_s": cut_s, "epoch_cpu_s": float(np.median(cpu)),
    }))


if __name__ == "__main__":
    main()
