"""Models of runs as those of torch_geometric. Imports torch and torch_geometric.

They are torch_geometric's `GCN`, `GraphSAGE`, `GIN` and `GAT` (gatv2: with `v2=True`), under whose names the weights
are kept, and `SGC`, `APPNP`, `GCNII`, `MixHop`, `GPRGNN` and `DirGNN`, made of its `SGConv`, `APPNP`, `GCN2Conv`,
`MixHopConv` and `DirGNNConv` as its examples have them. Called as `model(x, edge_index)`, or with `edge_weight` behind,
with the data as a PyG user has them, they first do what the run did to its input: standardise the features, read the
edges as --edges says, treat loops as --self-loops says, merge repeated edges. GraphSAGE, GIN and DirGNN take no
`edge_weight` in PyG, but a sparse adjacency with values, which is made here.

capgnn's GCN, SGC, APPNP and GCNII divide by the root of both the target's in-degree and the source's out-degree;
`GCNConv` takes the in-degree for both, which is the same only on symmetric graphs. So edge weights are computed here.

torch_geometric's models have no residuals. Those of runs with --residual are its models with another `forward`.
"""
from __future__ import annotations

import copy
import os
from typing import Any, Dict, List, Mapping, Optional, Tuple

import numpy as np
import torch
from torch import Tensor
from torch_geometric import nn as pyg
from torch_geometric.nn.models.basic_gnn import BasicGNN
from torch_geometric.nn.resolver import activation_resolver
from torch_geometric.utils import add_remaining_self_loops, coalesce, remove_self_loops, scatter

from .given import warn
from .runs import Run
from .store import Path
from .tensors import read_weights

# The tensors that show the widths of input and output, by model.
WIDTHS = {"gcn": ("convs.0.lin.weight", "convs.{}.bias"), "sage": ("convs.0.lin_l.weight", "convs.{}.lin_l.bias"),
          "gin": ("convs.0.nn.lins.0.weight", "convs.{}.nn.lins.1.bias"), "gat": ("convs.0.lin.weight", "convs.{}.bias"),
          "gatv2": ("convs.0.lin_l.weight", "convs.{}.bias"),
          "sgc": ("lin.weight", "lin.bias"), "appnp": ("lin1.weight", "lin2.bias"), "gcnii": ("lins.0.weight", "lins.1.bias"),
          "mixhop": ("convs.0.lins.0.weight", "lin.bias"), "gprgnn": ("lin1.weight", "lin2.bias"),
          "dirgnn": ("convs.0.lin.weight", "convs.{}.lin.bias")}
# Of these Â is D_in^-1/2 A D_out^-1/2.
SYMMETRIC = ("gcn", "sgc", "appnp", "gcnii")
# Of these it is PyG's, D_in^-1/2 A D_in^-1/2.
BY_TARGETS = ("mixhop", "gprgnn")
ATTENTION = ("gat", "gatv2")

# What a run did to its data where an option is one of these.
CHANGES = {"standardize": ("train", "rows"), "edges": ("symmetric", "reversed"), "self-loops": ("add", "remove")}

# What configurations that do not say it have.
TELEPORT, THETA, ACTIVATION = 0.1, 0.5, "relu"


class _AsTrained(torch.nn.Module):
    """Input as a run reads it, before a model of torch_geometric sees it."""

    mean: Tensor  # float64 [features], with deviation only where the run standardised
    deviation: Tensor

    def use(self, cfg: Dict[str, str]) -> None:
        self.kind, self.edges, self.loops = cfg["model"], cfg["edges"], cfg["self-loops"]
        self.unweighted = cfg.get("ignore-weights") == "true"
        self.by_rows = cfg["standardize"] == "rows"
        self.residual = cfg.get("residual") == "true"
        if self.loops == "auto":
            self.loops = "add" if self.kind in (*SYMMETRIC, *BY_TARGETS, *ATTENTION) else "remove"

    def standardise(self, mean: np.ndarray, deviation: np.ndarray) -> None:
        # Not persistent: the state_dict has weights alone.
        self.register_buffer("mean", torch.from_numpy(np.array(mean, dtype=np.float64)), persistent=False)
        divisor = np.where(deviation > 0, deviation, 1)  # a column without deviation is only centred
        self.register_buffer("deviation", torch.from_numpy(np.array(divisor, dtype=np.float64)), persistent=False)

    def graph(self, edge_index: Tensor, n: int, weight: Optional[Tensor] = None) -> Tuple[Tensor, Dict[str, Tensor]]:
        """Returns the edges that the run has trained on, and what its model is called with besides."""
        weighted = weight is not None and not self.unweighted
        if self.edges == "reversed":
            edge_index = edge_index.flip(0)
        if weighted:
            edge_index, weight = coalesce(edge_index, weight.reshape(-1).float(), num_nodes=n, reduce="sum")
        else:
            edge_index = coalesce(edge_index, num_nodes=n)
            weight = torch.ones(edge_index.size(1), device=edge_index.device)
        if self.edges == "symmetric":  # an edge that has no reverse gets one of its weight
            missing = ~torch.isin(edge_index[1] * n + edge_index[0], edge_index[0] * n + edge_index[1])
            edge_index, weight = torch.cat([edge_index, edge_index.flip(0)[:, missing]], 1), torch.cat([weight, weight[missing]])
        if self.loops == "remove":
            edge_index, weight = remove_self_loops(edge_index, weight)
        if self.loops == "add":
            edge_index, weight = add_remaining_self_loops(edge_index, weight, fill_value=1.0, num_nodes=n)
        source, target = edge_index
        if self.kind in (*SYMMETRIC, *BY_TARGETS):
            into = scatter(weight, target, dim_size=n)
            out = into if self.kind in BY_TARGETS else scatter(weight, source, dim_size=n)
            degrees = into[target] * out[source]
            return edge_index, {"edge_weight": torch.where(degrees > 0, weight * degrees.rsqrt(), torch.zeros_like(weight))}
        if not weighted:
            return edge_index, {}
        if self.kind in ATTENTION:
            raise ValueError(f"edge_weight: {self.kind} does not take edge weights")
        return torch.sparse_coo_tensor(torch.stack([target, source]), weight, (n, n)).to_sparse_csr(), {}

    def forward(self, x: Tensor, edge_index: Tensor, edge_weight: Optional[Tensor] = None) -> Tensor:
        """Returns logits [n, classes] of x [n, features], edge_index [2, m] (source, target) and, if the run had weights, edge_weight [m]."""
        if hasattr(self, "mean"):
            x = ((x.double() - self.mean) / self.deviation).float()
        elif self.by_rows:
            sums = x.double().abs().sum(1, keepdim=True)
            x = (x.double() / torch.where(sums > 0, sums, 1.0)).float()
        edges, more = self.graph(edge_index, x.size(0), edge_weight)
        return super().forward(x, edges, **more)  # type: ignore[misc]


class _Residuals(torch.nn.Module):
    """A BasicGNN. If residual says so, its layers that read and make hidden rows add what they read to what they make."""

    residual = False

    def forward(self, x: Tensor, edge_index: Tensor, **more: Tensor) -> Tensor:
        if not self.residual:
            return super().forward(x, edge_index, **more)  # type: ignore[misc]
        rows = []
        for layer, conv in enumerate(self.convs):
            made = conv(x, edge_index, **more)
            if self.jk_mode is None and layer == len(self.convs) - 1:
                return made
            if self.norms is not None:  # None: of torch_geometric before 2.4 without norms
                made = self.norms[layer](made)
            made = torch.nn.functional.dropout(self.act(made), getattr(self.dropout, "p", self.dropout), self.training)
            x = made if layer == 0 else made + x
            rows.append(x)
        return self.lin(self.jk(rows) if self.jk_mode != "last" else x)


class GCN(_AsTrained, _Residuals, pyg.GCN):
    pass


class GraphSAGE(_AsTrained, _Residuals, pyg.GraphSAGE):
    pass


class GIN(_AsTrained, _Residuals, pyg.GIN):
    pass


class GAT(_AsTrained, _Residuals, pyg.GAT):
    pass


class _Powers(pyg.MixHopConv):
    """MixHopConv over edges that are weighted already."""

    def forward(self, x: Tensor, edge_index: Tensor, edge_weight: Tensor) -> Tensor:
        rows = []
        for power, lin in zip(self.powers, self.lins):
            y = lin(x)
            for _ in range(power):
                y = self.propagate(edge_index, x=y, edge_weight=edge_weight)
            rows.append(y)
        return torch.cat(rows, -1) + self.bias


class _StackedPowers(BasicGNN):
    supports_edge_weight, supports_edge_attr, supports_norm_batch = True, False, False

    def init_conv(self, in_channels: int, out_channels: int, **more: Any) -> torch.nn.Module:
        return _Powers(in_channels, out_channels // 3)


class _BothWays(pyg.DirGNNConv):
    """DirGNNConv that also takes a sparse adjacency."""

    def forward(self, x: Tensor, edge_index: Tensor) -> Tensor:
        back = edge_index.flip(0) if edge_index.layout == torch.strided else edge_index.t().to_sparse_csr()
        return self.lin(x) + self.alpha * self.conv_out(x, back) + (1 - self.alpha) * self.conv_in(x, edge_index)


class _StackedBothWays(BasicGNN):
    supports_edge_weight, supports_edge_attr, supports_norm_batch = False, False, False

    def init_conv(self, in_channels: int, out_channels: int, **more: Any) -> torch.nn.Module:
        return _BothWays(pyg.SAGEConv(in_channels, out_channels, root_weight=False))


class MixHop(_AsTrained, _Residuals, _StackedPowers):
    pass


class DirGNN(_AsTrained, _Residuals, _StackedBothWays):
    pass


class _Propagations(pyg.SGConv):
    """SGConv over edges that are weighted already."""

    def forward(self, x: Tensor, edge_index: Tensor, edge_weight: Tensor) -> Tensor:
        for _ in range(self.K):
            x = self.propagate(edge_index, x=x, edge_weight=edge_weight)
        return self.lin(x)


class _MLPThenAPPNP(torch.nn.Module):
    """Two Linears, then propagations towards what they made."""

    def __init__(self, in_channels: int, hidden_channels: int, out_channels: int, K: int, alpha: float, dropout: float, act: str = ACTIVATION) -> None:
        super().__init__()
        self.lin1, self.lin2 = torch.nn.Linear(in_channels, hidden_channels), torch.nn.Linear(hidden_channels, out_channels)
        self.dropout, self.prop1 = torch.nn.Dropout(dropout), pyg.APPNP(K, alpha, add_self_loops=False, normalize=False)
        self.act = activation_resolver(act)

    def forward(self, x: Tensor, edge_index: Tensor, edge_weight: Tensor) -> Tensor:
        return self.prop1(self.lin2(self.dropout(self.act(self.lin1(self.dropout(x))))), edge_index, edge_weight)


class _MLPThenPowers(_MLPThenAPPNP):
    """Two Linears, then a sum of powers of propagation with trained weights `temp`."""

    def __init__(self, K: int, **more: Any) -> None:
        super().__init__(K=K, **more)
        self.temp, self.prop1 = torch.nn.Parameter(torch.ones(K + 1)), pyg.APPNP(1, 0.0, add_self_loops=False, normalize=False)

    def forward(self, x: Tensor, edge_index: Tensor, edge_weight: Tensor) -> Tensor:
        x = self.lin2(self.dropout(self.act(self.lin1(self.dropout(x)))))
        y = self.temp[0] * x
        for gamma in self.temp[1:]:
            x = self.prop1(x, edge_index, edge_weight)
            y = y + gamma * x
        return y


class _StackedGCN2(torch.nn.Module):
    """A Linear, GCN2Convs that all read what it made, and a Linear."""

    def __init__(self, in_channels: int, hidden_channels: int, out_channels: int, num_layers: int, alpha: float, theta: float, dropout: float, act: str = ACTIVATION) -> None:
        super().__init__()
        self.lins = torch.nn.ModuleList([torch.nn.Linear(in_channels, hidden_channels), torch.nn.Linear(hidden_channels, out_channels)])
        self.convs = torch.nn.ModuleList([pyg.GCN2Conv(hidden_channels, alpha, theta, layer + 1, add_self_loops=False, normalize=False) for layer in range(num_layers)])
        self.dropout, self.act = torch.nn.Dropout(dropout), activation_resolver(act)

    def forward(self, x: Tensor, edge_index: Tensor, edge_weight: Tensor) -> Tensor:
        x = x_0 = self.act(self.lins[0](self.dropout(x)))
        for conv in self.convs:
            x = self.act(conv(self.dropout(x), x_0, edge_index, edge_weight))
        return self.lins[1](self.dropout(x))


class SGC(_AsTrained, _Propagations):
    pass


class APPNP(_AsTrained, _MLPThenAPPNP):
    pass


class GPRGNN(_AsTrained, _MLPThenPowers):
    pass


class GCNII(_AsTrained, _StackedGCN2):
    pass


def from_run(path: Path, weights: str = "best", module: Any = None) -> Any:
    """Returns the torch_geometric model of a run with its weights, in eval mode.

    path: the run folder
    weights: "best" (in validation), "last", or a file (.safetensors, .npz)
    module: of a run that was trained from a file: one of the class that it was traced from, of which a copy is returned; it reads x and
        edge_index as they are, and a warning says what the run did to them
    returns: GCN, GraphSAGE, GIN, GAT, SGC, APPNP, GCNII, MixHop, GPRGNN or DirGNN, as the run has it; model(x, edge_index),
        or model(x, edge_index, edge_weight), gives logits [n, classes]. It has the dropout, norms, activations and
        state_dict of the run, so its training can be continued. For a run with --features, pass the features that capgnn
        made as x
    raises: ValueError for a run of a file without module=, FileNotFoundError; RuntimeError if names or shapes of weights do not fit
    """
    run = Run(path)
    cfg, file = run.config, run.weights_file(weights)
    if module is not None:
        did = [f"--{key} {cfg[key]}" for key, values in CHANGES.items() if cfg.get(key) in values]
        if did:
            warn(f"the run read its data with {', '.join(did)}, and the module does not: give it x and edge_index that are made so")
        return with_weights(module, read_weights(file))
    if cfg["model"] not in WIDTHS:
        raise ValueError(f"{run.path}: it trained {os.path.basename(cfg['model'])}: make that module and give it: run.model(module=Net(...))")
    state = {k: torch.from_numpy(v) for k, v in read_weights(file).items()}
    model = _make(cfg, state)
    model.load_state_dict(state)  # strict: every name and shape fits, none is left over
    model.use(cfg)
    scaling = os.path.join(run.path, "standardize.npz")
    if os.path.exists(scaling):
        with np.load(scaling, allow_pickle=False) as z:
            model.standardise(z["mean"], z["deviation"])
    elif cfg["standardize"] == "train":
        raise ValueError(f"{run.path}: it standardised its features, but holds no standardize.npz: train it again")
    return model.eval()


def with_weights(module: torch.nn.Module, weights: Mapping[str, np.ndarray]) -> torch.nn.Module:
    """Returns a copy of a module with other weights, in eval mode. Those that its program does not read stay."""
    module = copy.deepcopy(module)
    tensors = {**dict(module.named_parameters()), **dict(module.named_buffers())}
    with torch.no_grad():
        for name, weight in weights.items():
            if name in tensors and tensors[name].ndim == 0 and weight.shape == (1,):
                weight = weight.reshape(())  # programs have tensors of one axis or two
            if name not in tensors or tuple(tensors[name].shape) != weight.shape:
                there = f"is {list(tensors[name].shape)} in the module" if name in tensors else "is not in the module"
                raise RuntimeError(f"{name} {list(weight.shape)} {there}: give the module that was trained")
            tensors[name].copy_(torch.from_numpy(weight))
    return module.eval()


class _Sum(torch.nn.Module):
    """Of the rows of all layers, in place of torch_geometric's JumpingKnowledge."""

    def forward(self, rows: List[Tensor]) -> Tensor:
        return torch.stack(rows).sum(0)


def _make(cfg: Dict[str, str], state: Dict[str, Tensor]) -> Any:
    made = _of_kind(cfg, state)
    if cfg.get("jk") == "sum":
        made.jk = _Sum()
    return made


def _of_kind(cfg: Dict[str, str], state: Dict[str, Tensor]) -> Any:
    hidden, layers = int(cfg["hidden"]), int(cfg["layers"])
    first, last = WIDTHS[cfg["model"]]
    jk = {"none": None, "sum": "max"}.get(cfg.get("jk", "none"), cfg.get("jk"))  # sum has the shapes of max
    last = "lin.bias" if jk else last.format(layers - 1)
    if first not in state or last not in state:
        raise RuntimeError(f"no tensors {first} and {last}: these are not weights of a {cfg['model']} with {layers} layers")
    sizes = dict(in_channels=state[first].size(1), out_channels=state[last].size(0))
    if cfg["model"] == "sgc":
        return SGC(**sizes, K=layers)
    args = dict(**sizes, hidden_channels=hidden, dropout=float(cfg["dropout"]), act=cfg.get("activation") or ACTIVATION)
    alpha, theta = float(cfg.get("teleport", TELEPORT)), float(cfg.get("theta", THETA))
    if cfg["model"] == "appnp":
        return APPNP(**args, K=layers, alpha=alpha)
    if cfg["model"] == "gprgnn":
        return GPRGNN(**args, K=layers, alpha=alpha)
    if cfg["model"] == "gcnii":
        return GCNII(**args, num_layers=layers, alpha=alpha, theta=theta)
    if cfg["model"] == "mixhop":
        hidden, jk = 3 * hidden, "last"
    norm = {"none": None, "batch": "batch_norm", "graph": "graph_norm"}.get(cfg.get("norm", ""), torch.nn.LayerNorm(hidden))
    args.update(num_layers=layers, hidden_channels=hidden, norm=norm, jk=jk)
    if cfg["model"] == "mixhop":
        return MixHop(**args)
    if cfg["model"] == "dirgnn":
        return DirGNN(**args)
    if cfg["model"] == "gcn":  # loops and weights of edges are made by graph
        return GCN(**args, normalize=False, add_self_loops=False)
    if cfg["model"] in ATTENTION:
        model = GAT(**args, v2=cfg["model"] == "gatv2", heads=int(cfg["heads"]), add_self_loops=False)
        for conv in model.convs:
            conv.dropout = float(cfg.get("attention-dropout", 0))
        return model
    if cfg["model"] == "gin":
        return GIN(**args, train_eps=True)
    return GraphSAGE(**args)
