"""Epoch time of a full-batch GNN in torch_geometric.

    python pyg_epoch.py --dataset STORE --model gcn|sage|gat|gatv2 --adj csr|sparse_tensor|edge_index|pairs ...

The model is torch_geometric.nn.models.GCN, GraphSAGE or GAT (v2=True for gatv2; edge_index and pairs; without dropout of attention). What it is called
with, as adj_t:
csr: torch.sparse CSR; sparse_tensor: torch_sparse.SparseTensor ("Memory-Efficient Aggregations"); edge_index:
torch_geometric.EdgeIndex with its caches filled; pairs: a plain edge_index (gather and scatter).
The weights of GCN are made once (as cached=True does). With csr GraphSAGE sums with weights 1/degree: the product takes MKL's
path, aggr="mean" does not.
"""
import numpy as np
import scipy.sparse as sp
import torch
import torch_geometric
from torch_geometric.nn.models import GAT, GCN, GraphSAGE

import common

ATTEND = ("gat", "gatv2")


def adjacency(g, o):
    """Returns the keyword arguments that the model takes besides x."""
    values = g.gcn_values() if o.model == "gcn" else None
    if o.adj == "csr":
        if values is None:
            values = np.ones(g.a.nnz, np.float32) if o.mean else np.repeat(1 / g.degree(), np.diff(g.a.indptr))
        return {"edge_index": common.as_csr(g.a, values, torch.int64 if o.int64 else torch.int32).to(o.device)}
    ptr, source = torch.from_numpy(g.a.indptr).long(), torch.from_numpy(g.a.indices).long()
    if o.adj == "sparse_tensor":
        from torch_sparse import SparseTensor

        a = SparseTensor(rowptr=ptr, col=source, value=None if values is None else torch.from_numpy(values),
                         sparse_sizes=(g.n, g.n), is_sorted=True, trust_data=True)
        return {"edge_index": a.to(o.device).fill_cache_()}
    target = torch.repeat_interleave(torch.arange(g.n), ptr.diff())
    e = torch.stack([source, target]).to(o.device)
    weight = {} if values is None else {"edge_weight": torch.from_numpy(values).to(o.device)}
    if o.adj == "edge_index":
        e = torch_geometric.EdgeIndex(e, sparse_size=(g.n, g.n), sort_order="col", is_undirected=g.symmetric).fill_cache_()
    return {"edge_index": e, **weight}


def main():
    p = common.arguments(__doc__, ("gcn", "sage", *ATTEND))
    p.add_argument("--adj", choices=("csr", "sparse_tensor", "edge_index", "pairs"), default="csr")
    p.add_argument("--mean", action="store_true", help="csr, sage: aggr='mean' in place of 'sum' with weights 1/degree")
    p.add_argument("--int64", action="store_true", help="int64 indices (csr)")
    p.add_argument("--dense", action="store_true", help="make sparse features dense")
    o, g, w = common.start(p)
    if o.model == "gcn":
        kind = dict(model=GCN, normalize=False, add_self_loops=False)
    elif o.model in ATTEND:
        if o.adj not in ("edge_index", "pairs"):
            p.error(f"--model {o.model} takes --adj edge_index or pairs")
        kind = dict(model=GAT, v2=o.model == "gatv2", heads=o.heads, add_self_loops=False)
    else:
        kind = dict(model=GraphSAGE, aggr="sum" if o.adj == "csr" and not o.mean else "mean")
    m = kind.pop("model")(g.width, o.hidden, o.layers, g.classes, dropout=o.dropout, norm=torch.nn.LayerNorm(o.hidden), **kind)
    m.load_state_dict(w)
    if o.model in ATTEND:
        for conv in m.convs:
            conv.dropout = 0.0
    m.to(o.device)
    if sp.issparse(g.x):
        x = torch.from_numpy(g.x.toarray()) if o.dense else common.as_csr(g.x, g.x.data)
    else:
        x = torch.from_numpy(g.x)
    x = x.to(o.device)
    args = adjacency(g, o)
    g.a = g.x = None
    parameters = list(m.parameters())
    versions = {"torch_geometric": torch_geometric.__version__}
    common.train(o, g, "pyg", lambda: m(x, **args), parameters, **versions)


if __name__ == "__main__":
    main()
