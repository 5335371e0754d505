"""Modules as users write them, for tests of traces, and for testdata/models_reference.py. Imports torch and torch_geometric.

IN columns become OUT. Modules whose names are in FILES have programs in testdata/models.
"""
import numpy as np
import torch
import torch.nn.functional as F
import torch.utils.checkpoint
import torch_geometric.nn as pyg
from torch import nn
from torch_geometric.nn.conv.gcn_conv import gcn_norm
from torch_geometric.utils import add_self_loops, degree, dropout_edge, softmax, to_dense_batch

IN, HIDDEN, OUT = 6, 8, 4


class Two(nn.Module):
    """Two convolutions, as in torch_geometric's examples."""

    def __init__(self, first, second):
        super().__init__()
        self.conv1, self.conv2 = first, second

    def forward(self, x, edge_index):
        x = F.dropout(x, p=0.5, training=self.training)
        x = F.elu(self.conv1(x, edge_index))
        x = F.dropout(x, p=0.5, training=self.training)
        return F.log_softmax(self.conv2(x, edge_index), dim=1)


class Behind(nn.Module):
    """A convolution that keeps the width, behind a Linear."""

    def __init__(self, conv):
        super().__init__()
        self.lin1, self.conv, self.lin2 = nn.Linear(IN, HIDDEN), conv, nn.Linear(HIDDEN, OUT)

    def forward(self, x, edge_index):
        return self.lin2(F.relu(self.conv(self.lin1(x), edge_index)))


class Residual(nn.Module):
    """GraphSAGE with LayerNorm, residuals, and all layers side by side for the last Linear."""

    def __init__(self, layers=3):
        super().__init__()
        self.enter, self.leave = nn.Linear(IN, HIDDEN), nn.Linear((layers + 1) * HIDDEN, OUT)
        self.convs = nn.ModuleList(pyg.SAGEConv(HIDDEN, HIDDEN) for _ in range(layers))
        self.norms = nn.ModuleList(nn.LayerNorm(HIDDEN) for _ in range(layers))

    def forward(self, x, edge_index):
        rows = [F.relu(self.enter(x))]
        for conv, norm in zip(self.convs, self.norms):
            made = F.dropout(F.relu(norm(conv(rows[-1], edge_index))), 0.3, self.training)
            rows.append(rows[-1] + made)
        return self.leave(torch.cat(rows, dim=-1))


class GPR(nn.Module):
    """Sums of powers of the adjacency with learned factors, behind two Linears."""

    def __init__(self, hops=4, alpha=0.1):
        super().__init__()
        self.lin1, self.lin2, self.hops = nn.Linear(IN, HIDDEN), nn.Linear(HIDDEN, OUT), hops
        self.prop = pyg.SimpleConv(aggr="sum")
        factors = alpha * (1 - alpha) ** np.arange(hops + 1)
        self.temp = nn.Parameter(torch.tensor(factors, dtype=torch.float))

    def forward(self, data):
        x, edge_index = data.x, data.edge_index
        x = F.dropout(x, p=0.5, training=self.training)
        x = F.relu(self.lin1(x))
        x = F.dropout(x, p=0.5, training=self.training)
        x = self.lin2(x)
        edge_index, norm = gcn_norm(edge_index, num_nodes=x.size(0))
        hidden = x * self.temp[0]
        for k in range(self.hops):
            x = self.prop(x, edge_index, norm)
            hidden = hidden + self.temp[k + 1] * x
        return F.log_softmax(hidden, dim=1)


class MixHop(nn.Module):
    """Powers of the adjacency side by side."""

    def __init__(self):
        super().__init__()
        self.conv, self.norm = pyg.MixHopConv(IN, HIDDEN, powers=[0, 1, 2]), nn.LayerNorm(3 * HIDDEN)
        self.lin = nn.Linear(3 * HIDDEN, OUT)

    def forward(self, x, edge_index):
        return self.lin(F.dropout(F.relu(self.norm(self.conv(x, edge_index))), 0.5, self.training))


class Directed(nn.Module):
    """In- and out-neighbours, each with weights of its own."""

    def __init__(self, alpha=0.25):
        super().__init__()
        self.alpha = alpha
        self.into = nn.ModuleList([pyg.SAGEConv(IN, HIDDEN, root_weight=False), pyg.SAGEConv(HIDDEN, OUT, root_weight=False)])
        self.out = nn.ModuleList([pyg.SAGEConv(IN, HIDDEN, root_weight=False), pyg.SAGEConv(HIDDEN, OUT, root_weight=False)])
        self.own = nn.ModuleList([nn.Linear(IN, HIDDEN), nn.Linear(HIDDEN, OUT)])

    def forward(self, x, edge_index):
        for i, (own, into, out) in enumerate(zip(self.own, self.into, self.out)):
            x = own(x) + (1 - self.alpha) * into(x, edge_index) + self.alpha * out(x, edge_index.flip(0))
            x = F.relu(x) if i == 0 else x
        return x


class Propagated(nn.Module):
    """APPNP as in torch_geometric's example."""

    def __init__(self):
        super().__init__()
        self.lin1, self.lin2, self.prop = nn.Linear(IN, HIDDEN), nn.Linear(HIDDEN, OUT), pyg.APPNP(K=5, alpha=0.1)

    def forward(self, x, edge_index):
        x = F.relu(self.lin1(F.dropout(x, 0.5, self.training)))
        return self.prop(self.lin2(F.dropout(x, 0.5, self.training)), edge_index)


class Initial(nn.Module):
    """GCNII: every layer reads what the first has made."""

    def __init__(self, layers=3):
        super().__init__()
        self.lin1, self.lin2 = nn.Linear(IN, HIDDEN), nn.Linear(HIDDEN, OUT)
        self.convs = nn.ModuleList(pyg.GCN2Conv(HIDDEN, 0.1, 0.5, k + 1) for k in range(layers))

    def forward(self, x, edge_index):
        x = first = F.relu(self.lin1(x))
        for conv in self.convs:
            x = F.relu(conv(F.dropout(x, 0.5, self.training), first, edge_index))
        return self.lin2(x)


class TutorialConv(pyg.MessagePassing):
    """GCN by hand, as in torch_geometric's tutorial."""

    def __init__(self, in_channels, out_channels):
        super().__init__(aggr="add")
        self.lin, self.bias = nn.Linear(in_channels, out_channels, bias=False), nn.Parameter(torch.zeros(out_channels))

    def forward(self, x, edge_index):
        edge_index, _ = add_self_loops(edge_index, num_nodes=x.size(0))
        row, col = edge_index
        deg = degree(col, x.size(0), dtype=x.dtype)
        deg_inv_sqrt = deg.pow(-0.5)
        deg_inv_sqrt[deg_inv_sqrt == float("inf")] = 0
        norm = deg_inv_sqrt[row] * deg_inv_sqrt[col]
        return self.propagate(edge_index, x=self.lin(x), norm=norm) + self.bias

    def message(self, x_j, norm):
        return norm.view(-1, 1) * x_j


class Weighted(nn.Module):
    """Both convolutions read edge weights."""

    def __init__(self):
        super().__init__()
        self.conv1, self.conv2 = pyg.GCNConv(IN, HIDDEN), pyg.GraphConv(HIDDEN, OUT)

    def forward(self, x, edge_index, edge_weight=None):
        return self.conv2(torch.tanh(self.conv1(x, edge_index, edge_weight)), edge_index, edge_weight)


class RootConv(pyg.MessagePassing):
    """Weights of edges by hand, where some are infinite, and one graph of a batch that is sorted."""

    def __init__(self):
        super().__init__(aggr="add")

    def forward(self, x, edge_index):
        row, col = edge_index
        d = degree(col, len(x)).float()
        weight = torch.nan_to_num((1.0 / d[col]).sqrt() * (1.0 / d[row]).sqrt(), nan=0.0, posinf=0.0, neginf=0.0)
        order = torch.zeros(len(x), dtype=torch.long).sort(stable=True)[1]
        back = torch.empty_like(order)
        back[order] = torch.arange(len(x))
        x, mask = to_dense_batch(x[order], torch.zeros(len(x), dtype=torch.long))
        x = x.masked_fill(~mask[:, :, None], 0.0)[mask][back]
        return self.propagate(edge_index, x=x, weight=weight)

    def message(self, x_j, weight):
        return weight.view(-1, 1) * x_j


class GateConv(pyg.MessagePassing):
    def __init__(self, in_channels, out_channels):
        super().__init__(aggr="max")
        self.lin, self.gate = nn.Linear(in_channels, out_channels), nn.Linear(2 * out_channels, 1)

    def forward(self, x, edge_index):
        return self.propagate(edge_index, x=self.lin(x))

    def message(self, x_i, x_j):
        return torch.sigmoid(self.gate(torch.cat([x_i, x_j], dim=-1))) * x_j


class DotConv(pyg.MessagePassing):
    def __init__(self, in_channels, out_channels, heads=2):
        super().__init__(aggr="add", node_dim=0)
        self.heads, self.width = heads, out_channels
        self.q, self.k, self.v = (nn.Linear(in_channels, heads * out_channels) for _ in range(3))

    def forward(self, x, edge_index):
        q, k, v = (f(x).view(-1, self.heads, self.width) for f in (self.q, self.k, self.v))
        return self.propagate(edge_index, q=q, k=k, v=v).mean(dim=1)

    def message(self, q_i, k_j, v_j, index, ptr, size_i):
        alpha = softmax((q_i * k_j).sum(-1) / self.width**0.5, index, ptr, size_i)
        return alpha.unsqueeze(-1) * v_j


class ByHand(nn.Module):
    """Sums over edges without MessagePassing, a mean over all vertices, and linear attention."""

    def __init__(self):
        super().__init__()
        self.q, self.k, self.lin = nn.Linear(IN, HIDDEN), nn.Linear(IN, HIDDEN), nn.Linear(IN + 2 * HIDDEN, OUT)

    def forward(self, x, edge_index):
        row, col = edge_index
        near = torch.zeros_like(x).index_add_(0, col, x[row])
        near = near + torch.zeros_like(x).scatter_reduce(0, col.view(-1, 1).expand(-1, IN), x[row], "amax", include_self=False)
        q, k = self.q(x).sigmoid(), self.k(x).sigmoid()
        far = (q @ (k.t() @ k)) / (q @ k.sum(0).unsqueeze(-1))
        return self.lin(torch.cat([near, far, q - q.mean(dim=0, keepdim=True)], dim=-1))


class Frozen(nn.Module):
    """Some weights are not trained: a parameter, a buffer, and one of a single number."""

    def __init__(self):
        super().__init__()
        self.conv, self.lin = pyg.SAGEConv(IN, HIDDEN), nn.Linear(HIDDEN, OUT)
        self.conv.lin_r.weight.requires_grad_(False)
        self.register_buffer("scale", torch.rand(HIDDEN))
        self.register_buffer("portion", torch.tensor(0.5))

    def forward(self, x, edge_index):
        return self.lin(self.portion * self.scale * self.conv(x, edge_index).relu())


class Tuple(nn.Module):
    """Logits come first of two values, and the first convolution is computed again in the backward pass."""

    def __init__(self):
        super().__init__()
        self.conv1, self.conv2 = pyg.GCNConv(IN, HIDDEN), pyg.GCNConv(HIDDEN, OUT)

    def forward(self, x, edge_index):
        h = torch.tanh(torch.utils.checkpoint.checkpoint(self.conv1, x, edge_index, use_reentrant=False))
        return self.conv2(h, edge_index), h


class Dense(nn.Module):
    """The adjacency is a sparse matrix."""

    def __init__(self):
        super().__init__()
        self.first, self.second = nn.Parameter(torch.randn(IN, HIDDEN)), nn.Parameter(torch.randn(HIDDEN, OUT))

    def forward(self, x, adj):
        return torch.spmm(adj, torch.mm(F.relu(torch.spmm(adj, torch.mm(x, self.first))), self.second))


class Scaled(nn.Module):
    """A vector scales columns, a number of a tensor gates rows, and rows are divided (LayerScale, ReZero)."""

    def __init__(self):
        super().__init__()
        self.convs = nn.ModuleList([pyg.SAGEConv(IN, HIDDEN), pyg.SAGEConv(HIDDEN, HIDDEN), pyg.SAGEConv(HIDDEN, OUT)])
        self.scale, self.share = nn.Parameter(torch.full((HIDDEN,), 0.5)), nn.Parameter(torch.zeros(1))
        self.norm = nn.Linear(HIDDEN, 1)

    def forward(self, x, edge_index):
        x = F.silu(self.convs[0](x, edge_index))
        x = x + self.scale * F.gelu(self.convs[1](x, edge_index)) / (1 + F.softplus(self.norm(x)))
        return self.convs[2](x * torch.sigmoid(self.share).add(0.5), edge_index)


class Highway(nn.Module):
    """A gate of each row, one of each element, and the halves of one product mix a convolution and its input."""

    def __init__(self):
        super().__init__()
        self.lin, self.conv, self.out = nn.Linear(IN, HIDDEN), pyg.GCNConv(HIDDEN, HIDDEN), pyg.GCNConv(HIDDEN, OUT)
        self.row, self.gate, self.both = nn.Linear(HIDDEN, 1), nn.Linear(HIDDEN, HIDDEN), nn.Linear(HIDDEN, 2 * HIDDEN)

    def forward(self, x, edge_index):
        x = self.lin(x).tanh()
        h = F.leaky_relu(self.conv(x, edge_index), 0.2)
        gate = torch.sigmoid(self.gate(x))
        x = gate * h + (1 - gate) * x
        a, b = self.both(x).chunk(2, -1)
        x = x * self.row(x).sigmoid() + torch.sigmoid(a) * b / x.square().add(1).sqrt()
        return self.out(x.clamp(-2, 2), edge_index)


def two(conv, *args, **kwargs):
    return lambda: Two(conv(IN, HIDDEN, *args, **kwargs), conv(HIDDEN, OUT, *args, **kwargs))


def mlp(i, o):
    return nn.Sequential(nn.Linear(i, o), nn.ReLU(), nn.Linear(o, o))


def basic(model, **kwargs):
    return lambda: model(IN, HIDDEN, 2, OUT, dropout=0.5, **kwargs)


def half_means(make):
    """GraphNorm takes half of the mean away: of all of it, the bias before it would have no gradient but roundings."""

    def made():
        module = make()
        for name, p in module.named_parameters():
            if name.endswith("mean_scale"):
                nn.init.constant_(p, 0.5)
        return module

    return made


FILES = {
    "gcn": basic(pyg.GCN, norm=nn.LayerNorm(HIDDEN)),
    "sage_residual": Residual,
    "gin": lambda: Two(pyg.GINConv(mlp(IN, HIDDEN), train_eps=True), pyg.GINConv(mlp(HIDDEN, OUT), train_eps=True)),
    "gat": lambda: Two(pyg.GATConv(IN, 4, heads=2), pyg.GATConv(8, OUT, heads=2, concat=False)),
    "gatv2": lambda: Two(pyg.GATv2Conv(IN, 4, heads=2), pyg.GATv2Conv(8, OUT, heads=2, concat=False)),
    "gpr": GPR,
    "mixhop": MixHop,
    "directed": Directed,
    "appnp": Propagated,
    "gcnii": Initial,
    "tutorial": two(TutorialConv),
    "weighted": Weighted,
}

COUNTS = torch.tensor([0, 4, 5, 3, 1])  # vertices by their number of in-edges, for PNA

TRACED = {
    **FILES,
    "GCN BatchNorm": basic(pyg.GCN, norm="batch_norm"),
    "GCN GraphNorm": half_means(basic(pyg.GCN, norm="graph_norm")),
    "GCN LayerNorm of graph": basic(pyg.GCN, norm="layer_norm"),
    "GCN InstanceNorm": basic(pyg.GCN, norm="instance_norm", bias=False),
    "GCN gelu": basic(pyg.GCN, act="gelu", norm="batch_norm"),
    "GCN silu": basic(pyg.GCN, act="silu", norm=nn.LayerNorm(HIDDEN)),
    "GIN elu": basic(pyg.GIN, act="elu", act_kwargs={"alpha": 0.5}),
    "scaled": Scaled,
    "highway": Highway,
    "GCN prelu": basic(pyg.GCN, act="prelu"),
    "GraphSAGE max": basic(pyg.GraphSAGE, aggr="max"),
    "GraphSAGE cat": basic(pyg.GraphSAGE, jk="cat"),
    "GraphSAGE jk max": basic(pyg.GraphSAGE, jk="max"),
    "PNA": basic(pyg.PNA, aggregators=["mean", "min", "max", "std"], scalers=["identity", "amplification"], deg=COUNTS),
    "MLP": lambda: pyg.MLP([IN, HIDDEN, HIDDEN, OUT], dropout=0.5),
    "GraphConv": two(pyg.GraphConv),
    "LGConv": lambda: Behind(pyg.LGConv()),
    "tuple": Tuple,
    "Sequential": lambda: pyg.Sequential("x, edge_index", [
        (nn.Dropout(0.5), "x -> x"), (pyg.GCNConv(IN, HIDDEN), "x, edge_index -> a"), nn.ReLU(inplace=True),
        (pyg.GCNConv(HIDDEN, HIDDEN), "a, edge_index -> b"), (lambda a, b: [a, b], "a, b -> all"), (pyg.JumpingKnowledge("cat"), "all -> x"),
        nn.Linear(2 * HIDDEN, OUT)]),
    "SGConv": two(pyg.SGConv, K=2),
    "TAGConv": two(pyg.TAGConv),
    "ChebConv": two(pyg.ChebConv, K=3),
    "ClusterGCNConv": two(pyg.ClusterGCNConv, diag_lambda=0.3),
    "ARMAConv": two(pyg.ARMAConv, num_stacks=2, num_layers=2),
    "TransformerConv plain": lambda: Two(pyg.TransformerConv(IN, 4, heads=2), pyg.TransformerConv(8, OUT, heads=1, root_weight=False)),
    "TransformerConv dropout": two(pyg.TransformerConv, heads=2, concat=False, dropout=0.3),
    "GCNConv and TransformerConv": lambda: Two(pyg.GCNConv(IN, HIDDEN), pyg.TransformerConv(HIDDEN, OUT, heads=2, concat=False)),
    "TransformerConv": two(pyg.TransformerConv, heads=2, concat=False, beta=True),
    "GENConv": two(pyg.GENConv, learn_t=True),
    "ResGatedGraphConv": two(pyg.ResGatedGraphConv),
    "FiLMConv": two(pyg.FiLMConv),
    "FeaStConv": two(pyg.FeaStConv, heads=2),
    "EGConv": lambda: Two(pyg.EGConv(IN, HIDDEN, num_heads=2), pyg.EGConv(HIDDEN, OUT, num_heads=2)),
    "EdgeConv": lambda: Two(pyg.EdgeConv(mlp(2 * IN, HIDDEN)), pyg.EdgeConv(mlp(2 * HIDDEN, OUT))),
    "DirGNNConv": lambda: Two(pyg.DirGNNConv(pyg.GCNConv(IN, HIDDEN)), pyg.DirGNNConv(pyg.GCNConv(HIDDEN, OUT))),
    "SAGEConv softmax": two(pyg.SAGEConv, aggr="softmax"),
    "SAGEConv several": two(pyg.SAGEConv, aggr=["mean", "max", "std"]),
    "GATConv dropout": two(pyg.GATConv, heads=2, concat=False, dropout=0.3),
    "GATv2Conv dropout": two(pyg.GATv2Conv, heads=1, concat=False, dropout=0.3),
    "GAT of its paper": lambda: Two(pyg.GATConv(IN, 4, heads=2, dropout=0.6), pyg.GATConv(8, OUT, heads=1, concat=False, dropout=0.6)),
    "GATConv without bias": lambda: Two(pyg.GATConv(IN, 4, heads=2, bias=False), pyg.GATConv(8, OUT, heads=1, bias=False)),
    "WLConvContinuous": lambda: Behind(pyg.WLConvContinuous()),
    "SimpleConv": lambda: Behind(pyg.SimpleConv("mean", "self_loop")),
    "GPSConv": lambda: Behind(pyg.GPSConv(HIDDEN, pyg.GCNConv(HIDDEN, HIDDEN), heads=2, attn_type="performer")),
    "rooted": lambda: Behind(RootConv()),
    "AGNNConv": lambda: Behind(pyg.AGNNConv()),
    "GatedGraphConv": lambda: Behind(pyg.GatedGraphConv(HIDDEN, 2)),
    "AntiSymmetricConv": lambda: Behind(pyg.AntiSymmetricConv(HIDDEN)),
    "gate on edges": two(GateConv),
    "dot attention": two(DotConv),
    "by hand": ByHand,
    "frozen": Frozen,
    "matrix": Dense,
}


if hasattr(pyg, "Polynormer"):  # torch_geometric 2.7 or newer
    TRACED["Polynormer"] = lambda: pyg.Polynormer(IN, HIDDEN, OUT, heads=2, local_layers=2, global_layers=1)
    TRACED["SGFormer"] = lambda: pyg.SGFormer(IN, HIDDEN, OUT)
    TRACED["GATConv residual"] = two(pyg.GATConv, heads=2, concat=False, residual=True)
    TRACED["GeneralConv"] = two(pyg.GeneralConv)

# Those that the program has operations for, at least.
TRAINED = ("AntiSymmetricConv", "ChebConv", "ClusterGCNConv", "DirGNNConv", "GATConv dropout", "GCN BatchNorm", "GCN GraphNorm", "GCN gelu", "GCN prelu", "GCN silu", "GIN elu",
           "GPSConv", "GatedGraphConv", "GraphConv", "GraphSAGE cat", "LGConv", "MLP", "SGConv", "Sequential", "SimpleConv", "TAGConv", "appnp", "directed",
           "frozen", "gat", "gatv2", "gcn", "gcnii", "gin", "gpr", "highway", "matrix", "mixhop", "rooted", "sage_residual", "scaled", "tuple",
           "tutorial", "weighted")
TRAINED += ("GENConv", "GraphSAGE max", "ResGatedGraphConv", "SAGEConv several", "SAGEConv softmax")
TRAINED += ("AGNNConv", "GCNConv and TransformerConv", "TransformerConv", "TransformerConv dropout", "TransformerConv plain", "dot attention")
TRAINED += ("GAT of its paper", "GATConv without bias", "GATv2Conv dropout",
            *(("GATConv residual", "Polynormer", "SGFormer") if "Polynormer" in TRACED else ()))


class Looped(nn.Module):
    """A convolution on edges and loops that forward adds."""

    def __init__(self, conv):
        super().__init__()
        self.conv = conv

    def forward(self, x, edge_index):
        return self.conv(x, add_self_loops(edge_index, num_nodes=len(x))[0])


class Refused(nn.Module):
    """A convolution, and then what forward= does."""

    def __init__(self, then):
        super().__init__()
        self.conv, self.then = pyg.GCNConv(IN, OUT), then

    def forward(self, data):
        return self.then(self, self.conv(data.x, data.edge_index), data)


def looks(m, h, data):
    return h / 10 if h.abs().max() > 10 else h


def chooses(m, h, data):
    return h[data.train_mask]


def sizes(m, h, data):
    return h * (1 / h.size(0))


def drops(m, h, data):
    return m.conv(data.x, dropout_edge(data.edge_index, p=0.2, training=m.training)[0])


def leaves(m, h, data):
    return h * torch.from_numpy(np.bincount(data.edge_index[1].cpu().numpy())).view(-1, 1)


def mixes(m, h, data):
    return h.view(-1, 2).sum(1)


def pairs(m, h, data):
    return h.mm(h.t()).softmax(-1).mm(h)


def draws(m, h, data):
    return h + torch.randn_like(h)


def differs(m, h, data):
    return h.relu() if m.training else h


def peeks(m, h, data):
    return h + data.y.view(-1, 1)


def sorts(m, h, data):
    return h.sort(0)[0]


def pools(m, h, data):
    return h.mean(0)


def picks(m, h, data):
    return torch.where(h > 0, h, 2 * h)


def joins(m, h, data):
    return m.conv(data.x, torch.cat([data.edge_index, data.edge_index.flip(0)], 1))


def answers(m, h, data):
    return h.softmax(-1)


def drops_always(m, h, data):
    return F.dropout(h, 0.5)


def bends(m, h, data):
    return F.softplus(h, threshold=5)


def clamps(m, h, data):
    return h + m.conv.bias.data.clamp_(min=0)


def clamps_untracked(m, h, data):
    with torch.no_grad():
        return h + m.conv.bias.clamp_(0, 1)


def shares(m, h, data):
    return h - h.amax(-1, keepdim=True)


def halves(m, h, data):
    m.conv.bias.data = m.conv.bias.data / 2


# What is refused, and the line that says so.
REFUSED = {
    clamps: "forward changes the parameter conv.bias: use a new tensor (bias.clamp(min=0), not clamp_)",
    clamps_untracked: "forward changes the parameter conv.bias: ",
    shares: "amax or amin, whose gradient is shared by equal entries, is no operation of capgnn: use max(dim)[0]",
    halves: "forward changes the parameter conv.bias: ",
    drops_always: "dropout is on in eval mode, too: give it training=self.training",
    bends: "softplus with the threshold 5",
    looks: "forward looks at values: an if or a loop depends on data",
    chooses: "rows are chosen inside the model: return all rows; the store's train_mask chooses",
    sizes: "a number is made of how many vertices there are: use mean() over them",
    drops: "edges are dropped at random: drop features or hidden rows instead (F.dropout)",
    leaves: "torch's cpu of the rows of an edge_index is no operation of capgnn",
    mixes: "rows of vertices are mixed by a reshape: keep their axis apart from columns",
    pairs: "a number for each pair of vertices or edges is no operation of capgnn: aggregate over edges",
    draws: "random numbers are drawn inside the model: dropout is the only random operation of capgnn",
    differs: "forward differs between train and eval mode by more than dropout and BatchNorm",
    peeks: "forward reads the labels: capgnn has the loss",
    sorts: "torch's sort is no operation of capgnn",
    pools: "forward does not return a row of logits for every vertex",
    picks: "torch's where is no operation of capgnn",
    joins: "an edge_index is put together by hand",
    answers: "forward returns probabilities: return what softmax reads, the loss has it",
}
