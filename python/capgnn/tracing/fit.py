"""A module is trained by the program capgnn, and gets its weights back."""

from __future__ import annotations

import copy
from typing import Any

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
    with program.file() as path:
        run = train(data, model=path, init=program.weights, **flags).result()
    run.module = copy.deepcopy(module)
    return run
