"""Epoch time of a full-batch GNN in DGL.

    python dgl_epoch.py --dataset STORE --model gcn|sage [--conv modules|products] ...

modules: dgl.nn.GraphConv(norm="both") and SAGEConv("mean"), dense features; products: the plain-PyTorch model of
torch_epoch.py, with its options, whose aggregations are DGL's (gspmm with copied rows and row scales, or with edge weights).
"""
import os
import sys
import types

os.environ.setdefault("DGLBACKEND", "pytorch")
# Graphbolt (sampling) is compiled for some PyTorch versions only; full-batch training does not use it.
sys.modules.setdefault("dgl.graphbolt", types.ModuleType("dgl.graphbolt"))

import dgl  # noqa: E402
import numpy as np  # noqa: E402
import scipy.sparse as sp  # noqa: E402
import torch  # noqa: E402
import torch.nn.functional as F  # noqa: E402
from dgl.nn import GraphConv, SAGEConv  # noqa: E402

import common  # noqa: E402
import torch_epoch  # noqa: E402


def graph_of(g):
    """Returns the DGL graph, int32, with the formats that an epoch reads (in-edges forward, out-edges backward)."""
    ptr, col = torch.from_numpy(g.a.indptr), torch.from_numpy(g.a.indices)
    d = dgl.graph(("csc", (ptr, col, torch.tensor([], dtype=torch.int32))), num_nodes=g.n, idtype=torch.int32)
    return d.formats(["csr", "csc"])


class Modules(torch.nn.Module):
    def __init__(self, o, g, w):
        super().__init__()
        self.graph = graph_of(g)
        self.x = torch.from_numpy(g.x.toarray() if sp.issparse(g.x) else g.x)
        g.a = g.x = None
        widths = [g.width] + [o.hidden] * (o.layers - 1) + [g.classes]
        conv = (lambda k, m: GraphConv(k, m, norm="both")) if o.model == "gcn" else (lambda k, m: SAGEConv(k, m, "mean"))
        self.convs = torch.nn.ModuleList(conv(k, m) for k, m in zip(widths, widths[1:]))
        self.norms = torch.nn.ModuleList(torch.nn.LayerNorm(m) for m in widths[1:-1])
        self.dropout = o.dropout
        self.load(o.model, w)

    def load(self, model, w):
        """Copies weights with the names of a BasicGNN."""
        with torch.no_grad():
            for l, c in enumerate(self.convs):
                if model == "gcn":
                    c.weight.copy_(w[f"convs.{l}.lin.weight"].t())
                    c.bias.copy_(w[f"convs.{l}.bias"])
                else:
                    c.fc_neigh.weight.copy_(w[f"convs.{l}.lin_l.weight"])
                    c.fc_self.weight.copy_(w[f"convs.{l}.lin_r.weight"])
                    c.fc_self.bias.copy_(w[f"convs.{l}.lin_l.bias"])
            for l, n in enumerate(self.norms):
                n.weight.copy_(w[f"norms.{l}.weight"])
                n.bias.copy_(w[f"norms.{l}.bias"])

    def forward(self):
        h = self.x
        for conv, norm in zip(self.convs, self.norms):
            h = F.dropout(F.relu(norm(conv(self.graph, h))), self.dropout)
        return self.convs[-1](self.graph, h)


class Matrix:
    """The adjacency as torch_epoch.py's product takes it: diag(rows) A diag(columns), made by DGL's copy_u_sum."""

    def __init__(self, graph, rows, columns):
        self.graph, self.rows, self.columns = graph, rows, columns

    def __matmul__(self, h):
        if self.columns is not None:
            h = h * self.columns
        z = dgl.ops.copy_u_sum(self.graph, h)
        return z if self.rows is None else z.mul_(self.rows)

    def size(self, _):
        return self.graph.num_nodes()


def adjacency(g, model, _):
    """Stands in for torch_epoch.adjacency."""
    if not g.symmetric:
        sys.exit("--conv products: the graph is not symmetric")
    d = graph_of(g)
    scale = torch.from_numpy(g.degree()).unsqueeze(1)
    if model == "gcn":
        scale = scale.rsqrt()
        return (Matrix(d, scale, scale),) * 2
    return Matrix(d, 1 / scale, None), Matrix(d, None, 1 / scale)


def product(a, h, panel):
    """Stands in for torch_epoch.product."""
    if isinstance(a, torch.Tensor) or panel == 0 or h.size(1) <= panel:
        return a @ h.contiguous()
    return torch.cat([a @ h[:, c:c + panel].contiguous() for c in range(0, h.size(1), panel)], dim=1)


def main():
    p = common.arguments(__doc__)
    torch_epoch.options(p)
    p.add_argument("--conv", choices=("modules", "products"), default="modules")
    o, g, w = common.start(p)
    if o.conv == "products":
        torch_epoch.adjacency, torch_epoch.product = adjacency, product
        m = torch_epoch.Model(o, g, w)
        parameters = list(m.w.values())
    else:
        m = Modules(o, g, w)
        parameters = list(m.parameters())
    common.train(o, g, "dgl", m.forward, parameters, dgl=dgl.__version__)


if __name__ == "__main__":
    main()
