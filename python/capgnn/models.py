"""Models of runs as those of torch_geometric. Imports torch and torch_geometric.

They are torch_geometric's `GCN`, `GraphSAGE`, `GIN` and `GAT`, under whose names the weights are kept. Called as `model(x, edge_index)` with
the data as a PyG user has them, they first do what the run did to its input: standardise the features, read the edges as --edges says, treat
loops as --self-loops says, merge repeated edges.

capgnn's GCN divides by the root of both the target's in-degree and the source's out-degree; `GCNConv` takes the in-degree for both, which is the
same only on symmetric graphs. So edge weights are computed here.
"""
from __future__ import annotations

import os
from typing import Any, Dict, Tuple

import numpy as np
import torch
from torch import Tensor
from torch_geometric import nn as pyg
from torch_geometric.utils import add_self_loops, coalesce, degree, remove_self_loops, to_undirected

from .runs import Run
from .store import Path
from .tensors import read_weights

# The tensors that show the widths of input and output, by model.
WIDTHS = {"gcn": ("convs.0.lin.weight", "convs.{}.bias"), "sage": ("convs.0.lin_l.weight", "convs.{}.lin_l.bias"),
          "gin": ("convs.0.nn.lins.0.weight", "convs.{}.nn.lins.1.bias"), "gat": ("convs.0.lin.weight", "convs.{}.bias")}


class _AsTrained(torch.nn.Module):
    """Input as a run reads it, before a model of torch_geometric sees it."""

    mean: Tensor  # float64 [features], with deviation only where the run standardised
    deviation: Tensor

    def use(self, cfg: Dict[str, str]) -> None:
        self.kind, self.edges, self.loops = cfg["model"], cfg["edges"], cfg["self-loops"]
        if self.loops == "auto":
            self.loops = "add" if self.kind in ("gcn", "gat") else "remove"

    def standardise(self, mean: np.ndarray, deviation: np.ndarray) -> None:
        # Not persistent: the state_dict has weights alone.
        self.register_buffer("mean", torch.from_numpy(np.array(mean, dtype=np.float64)), persistent=False)
        divisor = np.where(deviation > 0, deviation, 1)  # a column without deviation is only centred
        self.register_buffer("deviation", torch.from_numpy(np.array(divisor, dtype=np.float64)), persistent=False)

    def graph(self, edge_index: Tensor, n: int) -> Tuple[Tensor, Dict[str, Tensor]]:
        """Returns the edges that the run has trained on, and what its model is called with besides."""
        if self.edges == "reversed":
            edge_index = edge_index.flip(0)
        edge_index = to_undirected(edge_index, num_nodes=n) if self.edges == "symmetric" else coalesce(edge_index, num_nodes=n)
        if self.loops != "keep":
            edge_index, _ = remove_self_loops(edge_index)
        if self.loops == "add":
            edge_index, _ = add_self_loops(edge_index, num_nodes=n)
        if self.kind != "gcn":
            return edge_index, {}
        source, target = edge_index
        return edge_index, {"edge_weight": (degree(target, n)[target] * degree(source, n)[source]).rsqrt()}

    def forward(self, x: Tensor, edge_index: Tensor) -> Tensor:
        """Returns logits [n, classes] of x [n, features] and edge_index [2, m] (source, target)."""
        if hasattr(self, "mean"):
            x = ((x.double() - self.mean) / self.deviation).float()
        edges, more = self.graph(edge_index, x.size(0))
        return super().forward(x, edges, **more)  # type: ignore[misc]


class GCN(_AsTrained, pyg.GCN):
    pass


class GraphSAGE(_AsTrained, pyg.GraphSAGE):
    pass


class GIN(_AsTrained, pyg.GIN):
    pass


class GAT(_AsTrained, pyg.GAT):
    pass


def from_run(path: Path, weights: str = "best") -> Any:
    """Returns the torch_geometric model of a run with its weights, in eval mode.

    path: the run folder
    weights: "best" (in validation), "last", or a file (.safetensors, .npz)
    returns: GCN, GraphSAGE, GIN or GAT, as the run has it; model(x, edge_index) gives logits [n, classes]. It has the dropout, norms and state_dict
        of the run, so its training can be continued. For a run with --features, pass the features that capgnn made as x
    raises: ValueError for a model that torch_geometric does not have, FileNotFoundError; RuntimeError if names or shapes of weights do not fit
    """
    run = Run(path)
    cfg, file = run.config, run.weights_file(weights)
    if cfg["model"] not in WIDTHS:
        raise ValueError(f"{run.path}: no torch_geometric model for --model {cfg['model']}: there are {', '.join(WIDTHS)}")
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


def _make(cfg: Dict[str, str], state: Dict[str, Tensor]) -> Any:
    hidden, layers = int(cfg["hidden"]), int(cfg["layers"])
    first, last = WIDTHS[cfg["model"]]
    last = last.format(layers - 1)
    if first not in state or last not in state:
        raise RuntimeError(f"no tensors {first} and {last}: these are not weights of a {cfg['model']} with {layers} layers")
    args = dict(in_channels=state[first].size(1), hidden_channels=hidden, num_layers=layers, out_channels=state[last].size(0),
                dropout=float(cfg["dropout"]), norm=torch.nn.LayerNorm(hidden))
    if cfg["model"] == "gcn":  # loops and weights of edges are made by graph
        return GCN(**args, normalize=False, add_self_loops=False)
    if cfg["model"] == "gat":
        return GAT(**args, heads=int(cfg["heads"]), add_self_loops=False)
    if cfg["model"] == "gin":
        return GIN(**args, train_eps=True)
    return GraphSAGE(**args)
