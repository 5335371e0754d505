"""models_reference.py DIR: programs DIR/NAME.json of the modules in python/tests/modules.py, each with DIR/NAME.npz: a small graph, weights, and
what the module makes of them in PyTorch in float64. Run it in the folder of the module, with PYTHONPATH=python.

An .npz has source, target and weight of edges (weight only where the module reads it), x, param/NAME, logits, direction (the gradient of the
logits), and grad/NAME. Dropout is off, and so is log_softmax at the end.
"""
import os
import sys
import warnings

import numpy as np
import torch
from torch_geometric.data import Data

from capgnn.tracing import prove, trace
from tests import modules

warnings.filterwarnings("ignore")
torch.set_default_dtype(torch.float64)


def write(folder, name, make):
    torch.manual_seed(1)
    module = make()
    x, edge_index, weight = prove.random_graph(modules.IN, 16, 40)
    given = {"edge_weight": weight} if name == "weighted" else {}
    program = trace(module, Data(x=x, edge_index=edge_index, **given))
    program.save(os.path.join(folder, name + ".json"))
    module = prove.spread(module, True).double()
    out = {"source": edge_index[0].numpy(), "target": edge_index[1].numpy(), "x": x.numpy(), **({"weight": weight.numpy()} if given else {})}
    with prove.Undropped():
        torch.nn.functional.log_softmax, kept = (lambda x, dim: x), torch.nn.functional.log_softmax
        logits = module(**prove.arguments_of(module, x, edge_index, weight if given else None, {}))
        torch.nn.functional.log_softmax = kept
    direction = torch.randn(logits.shape, dtype=logits.dtype)
    logits.backward(direction)
    for key, p in module.named_parameters():
        out["param/" + key], out["grad/" + key] = p.detach().numpy(), p.grad.numpy()
    np.savez(os.path.join(folder, name + ".npz"), logits=logits.detach().numpy(), direction=direction.numpy(), **out)


for name, make in modules.FILES.items():
    write(sys.argv[1], name, make)
