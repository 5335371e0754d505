"""Write a vertex order for the peers' --order: the parts of DGL's METIS one after the other, as dgl.reorder_graph makes it.

    python order.py STORE OUT.npy [VERTICES_PER_PART]
"""
import sys

import numpy as np
import torch

import dgl_epoch
from common import pattern, read_store


def main(path, out, per_part=2000):
    s = read_store(path)
    n = len(s["indptr"]) - 1
    a = pattern(s, n, False)
    none = torch.tensor([], dtype=torch.int64)
    g = dgl_epoch.dgl.graph(("csc", (torch.from_numpy(a.indptr).long(), torch.from_numpy(a.indices).long(), none)), num_nodes=n)
    parts = dgl_epoch.dgl.metis_partition_assignment(g, max(2, n // int(per_part)))
    np.save(out, np.argsort(parts.numpy(), kind="stable"))


if __name__ == "__main__":
    main(*sys.argv[1:])
