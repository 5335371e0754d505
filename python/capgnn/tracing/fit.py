"""A module is trained by the program capgnn, and gets its weights back."""

from __future__ import annotations

import copy
import os
import tempfile
from typing import Any, Mapping

import numpy as np
import torch

from ..runs import Run, train
from .trace import trace


def fit(module: torch.nn.Module, data: Any, **flags: Any) -> Run:
    """Traces a module, trains its program from its weights, and returns the run when it has ended.

    module: see `trace`; it is not changed: `run.model()` returns it with the best weights
    data, flags: as `train` takes them, but for model and init: epochs=200, devices=["cpu:0", "cpu:1"]
    raises: TraceError; ProgramError; ValueError as `train` does
    """
    for flag in ("model", "init", "seeds"):
        if flag in flags:
            raise ValueError(
                f"{flag}: fit trains the module, once and from its weights: drop {flag}=, or use capgnn.train"
            )
    program = trace(module, data)
    if not program.weighted:
        flags.setdefault("ignore_weights", True)
    if program.frozen and flags.get("weight_decay") is not None:
        given = flags["weight_decay"]
        rules = [f"{k}={v}" for k, v in given.items()] if isinstance(given, dict) else str(given).split(",")
        flags["weight_decay"] = rules + [f"{name}=0" for name in program.frozen]
    with tempfile.TemporaryDirectory(prefix="capgnn-model-") as folder:
        path = os.path.join(folder, f"{program.name}.json")
        program.save(path)
        run = train(data, model=path, init=program.weights, **flags).result()
    run.module = copy.deepcopy(module)
    return run


def with_weights(module: torch.nn.Module, weights: Mapping[str, np.ndarray]) -> torch.nn.Module:
    """Returns a copy of a module with other weights, in eval mode. Those that its program does not read stay."""
    module = copy.deepcopy(module)
    tensors = {**dict(module.named_parameters()), **dict(module.named_buffers())}
    with torch.no_grad():
        for name, weight in weights.items():
            if name not in tensors or tuple(tensors[name].shape) != weight.shape:
                there = f"is {list(tensors[name].shape)} in the module" if name in tensors else "is not in the module"
                raise RuntimeError(f"{name} {list(weight.shape)} {there}: give the module that was trained")
            tensors[name].copy_(torch.from_numpy(weight))
    return module.eval()
