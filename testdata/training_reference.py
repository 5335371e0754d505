"""training_reference.py OUT.json: values that capgnn's tests compare themselves with, from PyTorch and scikit-learn.

Metrics of random logits with ties, learning rates by PyTorch's schedulers, weighted and smoothed losses with their gradients, and gradients clipped by norm.
"""
import json
import math
import sys
import warnings

import numpy as np
import sklearn
import torch
from sklearn.metrics import average_precision_score, f1_score, roc_auc_score
from torch.optim.lr_scheduler import ConstantLR, CosineAnnealingLR, LinearLR, ReduceLROnPlateau, SequentialLR, StepLR

warnings.filterwarnings("ignore")
rng = np.random.default_rng(26)


def logits(n, c):
    return np.round(rng.normal(size=(n, c)), 1).astype(np.float32)  # equal ones among them


def mean_over_mixed(score, truth, z):
    both = [c for c in range(truth.shape[1]) if 0 < truth[:, c].sum() < len(truth)]
    return float(np.mean([score(truth[:, c], z[:, c]) for c in both])) if both else None


def single(name, n, c, present=None):
    z = logits(n, c)
    y = rng.choice(present or c, size=n)
    case = {"name": name, "classes": c, "logits": z.ravel().tolist(), "labels": y.tolist(), "macro-f1": f1_score(y, z.argmax(1), average="macro")}
    if c == 2:
        s = z[:, 1] - z[:, 0]
        mixed = 0 < y.sum() < n
        case["roc-auc"] = roc_auc_score(y, s) if mixed else None
        case["average-precision"] = average_precision_score(y, s) if mixed else None
    return case


def several(name, n, c, share, empty=()):
    z = logits(n, c)
    t = (rng.random((n, c)) < share).astype(np.uint8)
    for label, value in empty:
        t[:, label] = value
    return {"name": name, "classes": c, "logits": z.ravel().tolist(), "targets": t.ravel().tolist(), "macro-f1": f1_score(t, z > 0, average="macro"),
            "roc-auc": mean_over_mixed(roc_auc_score, t, z), "average-precision": mean_over_mixed(average_precision_score, t, z)}


def rates(kind, epochs, lr, warmup=0, minimum=0.0, every=0, factor=0.0, patience=0, by="loss", values=None):
    """Rates by epoch; values are of evaluations, one behind each epoch."""
    opt = torch.optim.SGD([torch.nn.Parameter(torch.zeros(1))], lr=lr)
    case = {"kind": kind, "epochs": epochs, "lr": lr, "warmup": warmup, "min": minimum, "every": every, "factor": factor, "patience": patience, "by": by, "values": values}
    out = []
    if kind == "plateau":
        s = ReduceLROnPlateau(opt, mode="min" if by == "loss" else "max", factor=factor, patience=patience, min_lr=minimum)
        for v in values:
            out.append(opt.param_groups[0]["lr"])
            s.step(v)
    else:
        inner = {"cosine": lambda: CosineAnnealingLR(opt, T_max=epochs - warmup, eta_min=minimum),
                 "step": lambda: StepLR(opt, step_size=every, gamma=factor),
                 "constant": lambda: ConstantLR(opt, factor=1.0, total_iters=0)}[kind]
        if warmup:
            s = SequentialLR(opt, [LinearLR(opt, start_factor=1 / (warmup + 1), total_iters=warmup), inner()], milestones=[warmup])
        else:
            s = inner()
        for _ in range(epochs):
            out.append(opt.param_groups[0]["lr"])
            opt.step()
            s.step()
    case["rates"] = out
    return case


def loss(n, c, weights, smoothing):
    z = torch.tensor(rng.normal(size=(n, c)) * 3, dtype=torch.float32).double().requires_grad_()
    y = torch.tensor(rng.integers(0, c, size=n))
    w = None if weights is None else torch.tensor(weights, dtype=torch.float64)
    value = torch.nn.CrossEntropyLoss(weight=w, label_smoothing=smoothing)(z, y)
    value.backward()
    return {"classes": c, "logits": z.detach().flatten().tolist(), "labels": y.tolist(), "weights": weights, "smoothing": smoothing, "loss": value.item(),
            "grad": z.grad.flatten().tolist()}


def clip(n, most):
    g = torch.tensor(rng.normal(size=n), dtype=torch.float32)
    p = torch.nn.Parameter(torch.zeros(n))
    p.grad = g.clone()
    norm = torch.nn.utils.clip_grad_norm_([p], most)
    return {"gradient": g.tolist(), "most": most, "norm": norm.item(), "clipped": p.grad.tolist()}


falling = [1.0, 0.9, 0.91, 0.9, 0.89995, 0.95, 0.8, 0.8, 0.8, 0.81, 0.79999, 0.8, 0.9, 0.7, 0.7, 0.7, 0.7, 0.7, 0.7, 0.7]
out = {
    "made_by": f"testdata/training_reference.py with PyTorch {torch.__version__.split('+')[0]}, scikit-learn {sklearn.__version__}",
    "metrics": [single("two classes", 60, 2), single("one of two classes", 20, 2, [1]), single("five classes", 80, 5), single("two of six classes", 30, 6, [1, 4]),
                several("several labels", 40, 4, 0.4), several("labels of one kind", 30, 5, 0.5, [(1, 0), (3, 1)]), several("no label of two kinds", 10, 2, 0.5, [(0, 0), (1, 1)])],
    "schedules": [rates("cosine", 20, 0.01), rates("cosine", 20, 0.01, warmup=5, minimum=0.001), rates("step", 20, 0.1, every=6, factor=0.5),
                  rates("step", 20, 0.1, warmup=3, every=6, factor=0.1), rates("constant", 8, 0.01, warmup=4), rates("plateau", 20, 0.01, factor=0.5, patience=2, values=falling),
                  rates("plateau", 20, 0.01, minimum=0.003, factor=0.1, patience=1, values=falling),
                  rates("plateau", 20, 0.01, factor=0.5, patience=2, by="metric", values=[1 - v for v in falling])],
    "losses": [loss(12, 4, None, 0.1), loss(12, 4, [0.5, 2.0, 1.0, 3.5], 0.0), loss(12, 4, [0.5, 2.0, 0.0, 3.5], 0.2), loss(9, 2, [1.0, 7.0], 0.05)],
    "clips": [clip(40, 1.0), clip(40, 100.0), clip(33, 0.0)],
}
with open(sys.argv[1], "w") as f:
    json.dump(out, f, separators=(",", ":"), default=lambda x: None if isinstance(x, float) and math.isnan(x) else float(x))
    f.write("\n")
