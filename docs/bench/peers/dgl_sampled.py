"""One sampled epoch of GraphSAGE in DGL.

    python dgl_sampled.py --dataset STORE --batch-size 1024 --fanout 15,10,5 [--loader dataloading|graphbolt] [--workers N] ...

dataloading: dgl.dataloading's NeighborSampler and DataLoader on an int32 graph; graphbolt: FusedCSCSamplingGraph and its pipeline.
Neighbours are averaged by DGL's product (copy_u_mean) on the blocks. Options and model are sampled.py's.
"""
import os

os.environ.setdefault("DGLBACKEND", "pytorch")

import dgl  # noqa: E402
import torch  # noqa: E402

import common  # noqa: E402
import sampled  # noqa: E402


def batch_of(g, o, inputs, roots, blocks):
    """Returns the Batch of DGL's blocks, the widest first."""
    means = [lambda h, b=b: dgl.ops.copy_u_mean(b, h) for b in blocks]
    rows = [b.num_dst_nodes() for b in blocks]
    ax = g.ax[inputs] if o.last_all else None
    return sampled.Batch(g.x[inputs], ax, g.y[roots], means, rows, sum(b.num_edges() for b in blocks))


def dataloading(o, g):
    """Returns a function that gives an epoch's batches, with dgl.dataloading."""
    ptr, col = torch.from_numpy(g.a.indptr), torch.from_numpy(g.a.indices)
    graph = dgl.graph(("csc", (ptr, col, torch.tensor([], dtype=torch.int32))), num_nodes=g.n, idtype=torch.int32).formats("csc")
    sampler = dgl.dataloading.NeighborSampler(o.hops[::-1])  # the far end first
    loader = dgl.dataloading.DataLoader(graph, g.ids["train"].int(), sampler, batch_size=o.batch_size, shuffle=True, drop_last=False,
                                        num_workers=o.workers, persistent_workers=o.workers > 0)

    def batches():
        for inputs, roots, blocks in loader:
            yield batch_of(g, o, inputs.long(), roots.long(), blocks)
    return batches


def graphbolt(o, g):
    """Returns a function that gives an epoch's batches, with dgl.graphbolt."""
    from dgl import graphbolt as gb

    graph = gb.fused_csc_sampling_graph(torch.from_numpy(g.a.indptr), torch.from_numpy(g.a.indices))
    items = gb.ItemSet(g.ids["train"].int(), names="seed_nodes")
    pipe = gb.ItemSampler(items, batch_size=o.batch_size, shuffle=True, drop_last=False)
    pipe = pipe.sample_neighbor(graph, o.hops[::-1])
    loader = gb.DataLoader(pipe, num_workers=o.workers)

    def batches():
        for b in loader:
            yield batch_of(g, o, b.input_nodes.long(), b.seed_nodes.long(), b.blocks)
    return batches


def main():
    p = sampled.arguments(__doc__)
    p.add_argument("--loader", choices=("dataloading", "graphbolt"), default="dataloading")
    o, g = sampled.start(p)
    batches = dataloading(o, g) if o.loader == "dataloading" else graphbolt(o, g)
    sampled.train(o, g, "dgl-" + o.loader, batches, dgl=dgl.__version__)


if __name__ == "__main__":
    main()
