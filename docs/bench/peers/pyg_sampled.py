"""One sampled epoch of GraphSAGE in torch_geometric, with NeighborLoader.

    python pyg_sampled.py --dataset STORE --batch-size 1024 --fanout 15,10,5 [--adj csr|pairs] [--workers N] ...

The sampler is pyg-lib's where it is installed, else torch-sparse's. Each layer computes the rows that the next one reads and no more
(what torch_geometric.utils.trim_to_layer does). How neighbours are averaged: csr: torch.sparse CSR with values 1/k; pairs: gather
and scatter. NeighborLoader samples a vertex once per batch, at the hop where it is
first seen, where DGL and capgnn sample it at every hop: its stacks have fewer edges.
"""
import warnings

warnings.filterwarnings("ignore")

import torch  # noqa: E402
import torch_geometric  # noqa: E402
from torch_geometric.data import Data  # noqa: E402
from torch_geometric.loader import NeighborLoader  # noqa: E402

import common  # noqa: E402
import sampled  # noqa: E402


def csr(ptr, source, shape):
    k = ptr.diff()
    values = torch.repeat_interleave(1 / k.clamp(min=1).float(), k)
    a = torch.sparse_csr_tensor(ptr.int(), source.int(), values, shape)
    return lambda h: a @ h


def pairs(ptr, source, shape):
    k = ptr.diff()
    target = torch.repeat_interleave(torch.arange(shape[0]), k)
    scale = (1 / k.clamp(min=1).float()).unsqueeze(1)
    return lambda h: h.new_zeros(shape[0], h.size(1)).index_add_(0, target, h[source]) * scale


ADJ = {"csr": csr, "pairs": pairs}


def batch_of(g, o, b):
    """Returns the Batch of a sampled Data: edges and vertices stand hop after hop, targets ascending."""
    nodes, edges = (torch.tensor([0, *c]).cumsum(0).tolist() for c in (b.num_sampled_nodes, b.num_sampled_edges))
    source, target = b.edge_index
    degree = torch.bincount(target, minlength=nodes[-1])
    means, rows = [], []
    for hop in reversed(range(1, len(o.hops) + 1)):  # layer 0 reads all hops
        n = nodes[hop]
        ptr = torch.zeros(n + 1, dtype=torch.int64)
        torch.cumsum(degree[:n], 0, out=ptr[1:])
        means.append(ADJ[o.adj](ptr, source[:edges[hop]], (n, nodes[hop + 1])))
        rows.append(n)
    ids = b.n_id
    return sampled.Batch(g.x[ids], g.ax[ids] if o.last_all else None, g.y[ids[:nodes[1]]], means, rows, edges[-1])


def main():
    p = sampled.arguments(__doc__)
    p.add_argument("--adj", choices=sorted(ADJ), default="csr")
    o, g = sampled.start(p)
    target = torch.repeat_interleave(torch.arange(g.n), torch.from_numpy(g.a.indptr).long().diff())
    data = Data(edge_index=torch.stack([torch.from_numpy(g.a.indices).long(), target]), num_nodes=g.n)
    loader = NeighborLoader(data, o.hops, input_nodes=g.ids["train"], batch_size=o.batch_size, shuffle=True, is_sorted=True,
                            num_workers=o.workers, persistent_workers=o.workers > 0)
    sampled.train(o, g, "pyg-" + o.adj, lambda: (batch_of(g, o, b) for b in loader), torch_geometric=torch_geometric.__version__,
                  sampler="pyg-lib" if torch_geometric.typing.WITH_PYG_LIB else "torch-sparse")


if __name__ == "__main__":
    main()
