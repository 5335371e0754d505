"""Epoch time of a full-batch GNN in plain PyTorch, with what helps PyTorch on a CPU; --device runs the same on a GPU.

    python torch_epoch.py --dataset STORE --model gcn|sage [--cache-ax] [--panel COLUMNS] ...

- adjacency as CSR with int32 indices (what MKL takes; int64 is converted in every product);
- the adjoint product has its matrix at hand: for a symmetric pattern the same indices with other values, no transpose in an epoch;
- transform before aggregating where that is cheaper; --cache-ax aggregates dense features once, before the first
  epoch (of sparse features the product is dense, and then four times slower);
- sparse features stay CSR, with their transpose at hand;
- --panel: A @ h in panels of that many columns, so that a panel's rows stay in the cache; 0 = in one product;
- ReLU and dropout as one function with a mask of random bytes (torch.compile of the same was slower).
"""
import numpy as np
import scipy.sparse as sp
import torch
import torch.nn.functional as F

import common


class Product(torch.autograd.Function):
    """a @ h; the gradient of h is at @ g."""

    @staticmethod
    def forward(ctx, a, at, panel, h):
        ctx.at, ctx.panel = at, panel
        return product(a, h, panel)

    @staticmethod
    def backward(ctx, g):
        return None, None, None, product(ctx.at, g, ctx.panel)


def product(a, h, panel):
    """Returns a @ h, made from contiguous copies of panels of h."""
    if panel == 0 or h.size(1) <= panel:
        return a @ h.contiguous()
    z = h.new_empty(a.size(0), h.size(1))
    for c in range(0, h.size(1), panel):
        out = z[:, c:c + panel]
        torch.addmm(out, a, h[:, c:c + panel].contiguous(), beta=0, out=out)
    return z


def adjacency(g, model, index):
    """Returns the matrix of an aggregation and its transpose."""
    if model == "gcn":
        a = common.as_csr(g.a, g.gcn_values(), index)
        if g.symmetric:
            return a, a
    else:
        a = common.as_csr(g.a, np.repeat(1 / g.degree(), np.diff(g.a.indptr)), index)
        if g.symmetric:
            values = torch.from_numpy(1 / g.degree())[a.col_indices()]
            return a, torch.sparse_csr_tensor(a.crow_indices(), a.col_indices(), values, a.shape)
    t = sp.csr_matrix((a.values().numpy(), g.a.indices, g.a.indptr), shape=g.a.shape).T.tocsr()
    return a, common.as_csr(t, t.data, index)


class ReluDropout(torch.autograd.Function):
    """ReLU and inverted dropout. An element stays where a random byte is at least 256 p: bytes are drawn eight at a time, which
    takes a thirtieth of bernoulli_'s time."""

    @staticmethod
    def forward(ctx, z, p):
        keep = z > 0
        if p > 0:
            words = torch.randint(-2**63, 2**63 - 1, ((z.numel() + 7) // 8,), device=z.device)
            keep &= (words.view(torch.uint8)[:z.numel()] >= round(256 * p)).view(z.shape)
        ctx.save_for_backward(keep)
        ctx.scale = 1 / (1 - p)
        return (z * keep).mul_(ctx.scale)

    @staticmethod
    def backward(ctx, g):
        return (g * ctx.saved_tensors[0]).mul_(ctx.scale), None


class Model:
    def __init__(self, o, g, w):
        self.o = o
        self.w = {name: torch.nn.Parameter(t.to(o.device)) for name, t in w.items()}
        index = torch.int64 if o.int64 else torch.int32
        self.a, self.at = adjacency(g, o.model, index)
        if o.device != "cpu":
            one = self.a is self.at
            self.a = self.a.to(o.device)
            self.at = self.a if one else self.at.to(o.device)
        g.a = None
        if sp.issparse(g.x):
            xt = g.x.T.tocsr()
            self.x, self.xt = common.as_csr(g.x, g.x.data, index).to(o.device), common.as_csr(xt, xt.data, index).to(o.device)
        else:
            self.x, self.xt = torch.from_numpy(g.x).to(o.device), None
        self.ax = None
        if o.cache_ax and self.xt is None:
            self.ax = product(self.a, self.x, o.panel)
            if o.model == "gcn":
                self.x = None

    def times(self, h, w):
        """Returns h wT; h None = the features."""
        if h is not None:
            return F.linear(h, w)
        if self.xt is None:
            return F.linear(self.x, w)
        return Product.apply(self.x, self.xt, 0, w.t())

    def aggregated(self, h, w):
        """Returns A h wT in the cheaper order."""
        if h is None and self.ax is not None:
            return F.linear(self.ax, w)
        m, k = w.shape
        sparse = h is None and self.xt is not None
        # Aggregating k columns costs as many backward if h has a gradient; m columns always do.
        if not sparse and k * (1 if h is None else 2) <= 2 * m:
            return F.linear(Product.apply(self.a, self.at, self.o.panel, self.x if h is None else h), w)
        return Product.apply(self.a, self.at, self.o.panel, self.times(h, w))

    def layer(self, l, h):
        if self.o.model == "gcn":
            return self.aggregated(h, self.w[f"convs.{l}.lin.weight"]) + self.w[f"convs.{l}.bias"]
        z = self.aggregated(h, self.w[f"convs.{l}.lin_l.weight"]) + self.w[f"convs.{l}.lin_l.bias"]
        return z + self.times(h, self.w[f"convs.{l}.lin_r.weight"])

    def forward(self):
        h = None
        for l in range(self.o.layers - 1):
            z = F.layer_norm(self.layer(l, h), (self.o.hidden,), self.w[f"norms.{l}.weight"], self.w[f"norms.{l}.bias"])
            h = ReluDropout.apply(z, self.o.dropout)
        return self.layer(self.o.layers - 1, h)


def options(p):
    p.add_argument("--cache-ax", action="store_true", help="aggregate dense features once, before the first epoch")
    p.add_argument("--panel", type=int, default=0, metavar="COLUMNS")
    p.add_argument("--int64", action="store_true", help="int64 indices")


def main():
    p = common.arguments(__doc__)
    options(p)
    o, g, w = common.start(p)
    m = Model(o, g, w)
    common.train(o, g, "torch", m.forward, list(m.w.values()))


if __name__ == "__main__":
    main()
