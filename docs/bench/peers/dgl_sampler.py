"""Sampled block stacks of DGL: sample_neighbors and to_block, hop by hop, on one thread.

    python dgl_sampler.py --dataset STORE --batch-size 1024 --fanout 15,10,5 [--steps N]

--fanout lists the hop nearest the roots first. Roots are all vertices in a random order, as many steps as are asked for; as many
steps before them are not timed. The line of JSON has the steps' CPU-seconds, sampled edges and rows (ids of the widest hop).
"""
import os

os.environ["OMP_NUM_THREADS"] = "1"  # read when the libraries are loaded
os.environ.setdefault("DGLBACKEND", "pytorch")

import argparse  # noqa: E402
import json  # noqa: E402
import platform  # noqa: E402
import sys  # noqa: E402
import time  # noqa: E402
import types  # noqa: E402

# Graphbolt is compiled for some PyTorch versions only; these two calls do not use it.
sys.modules.setdefault("dgl.graphbolt", types.ModuleType("dgl.graphbolt"))

import dgl  # noqa: E402
import numpy as np  # noqa: E402
import torch  # noqa: E402

import common  # noqa: E402


def structure(path):
    """Returns row pointers and indices of a store without loops, and its number of vertices. A store's rows ascend, without repeats."""
    s = common.read_store(path)
    ptr, col = np.array(s["indptr"]), np.array(s["indices"], dtype=np.int32)
    n = len(ptr) - 1
    loop = np.repeat(np.arange(n, dtype=np.int32), np.diff(ptr)) == col
    if loop.any():
        before = np.concatenate([[0], np.cumsum(loop)])
        ptr, col = ptr - before[ptr], col[~loop]
    index = np.int64 if len(col) >= 2**31 else np.int32
    return torch.from_numpy(ptr.astype(index)), torch.from_numpy(col), n


def stack(g, roots, fanout):
    """Returns the edges and the ids of the widest hop of the blocks of these roots."""
    edges = 0
    for k in fanout:
        block = dgl.to_block(dgl.sampling.sample_neighbors(g, roots, k), roots)
        roots = block.srcdata[dgl.NID]
        edges += block.num_edges()
    return edges, len(roots)


def main():
    p = argparse.ArgumentParser(description=__doc__)
    p.add_argument("--dataset", required=True, help="store folder written by `capgnn data import` or `capgnn data synth`")
    p.add_argument("--batch-size", type=int, default=1024)
    p.add_argument("--fanout", default="15,10,5", help="nearest the roots first")
    p.add_argument("--steps", type=int, default=15)
    p.add_argument("--seed", type=int, default=1)
    o = p.parse_args()
    torch.set_num_threads(1)
    torch.manual_seed(o.seed)
    dgl.seed(o.seed)
    ptr, col, n = structure(o.dataset)
    g = dgl.graph(("csc", (ptr, col, torch.tensor([], dtype=torch.int32))), num_nodes=n, idtype=torch.int32).formats("csc")
    order, fanout = torch.randperm(n).int(), [int(k) for k in o.fanout.split(",")]
    size = min(o.batch_size, n)
    per_epoch = n // size
    edges = rows = 0
    for step in range(2 * o.steps):
        if step == o.steps:
            edges, rows, used = 0, 0, time.process_time()
        at = step % per_epoch * size
        e, r = stack(g, order[at:at + size], fanout)
        edges, rows = edges + e, rows + r
    print(json.dumps({"peer": "dgl", "versions": {"python": platform.python_version(), "torch": torch.__version__, "dgl": dgl.__version__},
                      "cpu_s": time.process_time() - used, "edges": edges, "rows": rows, "steps": o.steps}))


if __name__ == "__main__":
    main()
