"""Write graphs for capgnn, train with it, and load what it trained into torch_geometric.

    import capgnn

    training = capgnn.train(data, model="sage", hidden=64)  # a torch_geometric Data, or a path
    for epoch in training:                                 # a dict for each epoch, as it is done
        print(epoch["epoch"], epoch["loss"])
    run = training.result()
    logits = run.predict()                                 # by the program
    model = run.model()                                    # the same as a torch_geometric model

Only NumPy is imported at first. `from_run`, `to_data`, `trace` and `fit` import torch and torch_geometric, and `Run.frame` imports
pandas.
"""

from .normal import dense_features
from .program import ProgramError, TraceError, command, find_program
from .runs import Run, Training, predict, train
from .store import read_store, to_data, to_store
from .tensors import read_weights, write_weights

__version__ = "0.1.0"
__all__ = ["ProgramError", "Run", "TraceError", "Training", "command", "dense_features", "find_program", "fit", "from_run", "predict",
           "read_store", "read_weights", "to_data", "to_store", "trace", "train", "write_weights"]


def from_run(path, weights="best", module=None):
    """Returns the torch module of a run with its weights, in eval mode: see `capgnn.models.from_run`."""
    from . import models  # which imports torch

    return models.from_run(path, weights, module)


def trace(module, data):
    """Returns the program of a torch module's forward, proved against it: see `capgnn.tracing.trace`."""
    from . import tracing  # which imports torch

    return tracing.trace(module, data)


def fit(module, data, **flags):
    """Trains a torch module with the program and returns the run, whose `model` is the module: see `capgnn.tracing.fit`."""
    from . import tracing

    return tracing.fit(module, data, **flags)
