"""A run of `capgnn train` in a folder that is gone afterwards: what levels.py, presets.py and scores.py repeat."""
import contextlib
import json
import os
import subprocess
import tempfile

import numpy as np


@contextlib.contextmanager
def trained(capgnn, dataset, *flags, ranks=1):
    """Trains, on ranks of this machine where there are several, and yields the result, the lines of metrics.jsonl and the run's folder."""
    start = [capgnn] if ranks == 1 else [capgnn, "launch", "-n", str(ranks), "--quiet", "--json", "--"]
    with tempfile.TemporaryDirectory() as scratch:
        folder = os.path.join(scratch, "run")
        out = subprocess.run([*start, "train", "--dataset", dataset, "--json", "--quiet", "--run-dir", folder, *flags],
                             check=True, stdout=subprocess.PIPE, text=True).stdout
        with open(os.path.join(folder, "metrics.jsonl")) as f:
            yield json.loads(out.strip().splitlines()[-1]), [json.loads(line) for line in f], folder


def test_auc(capgnn, store, folder):
    """Returns the ROC-AUC of the test vertices of a run's best weights; None where the store has not two classes, or no test_mask."""
    y, mask = np.load(os.path.join(store, "y.npy")), os.path.join(store, "test_mask.npy")
    if y.ndim != 1 or y.max() != 1 or not os.path.exists(mask):
        return None
    logits = os.path.join(folder, "logits.npy")
    subprocess.run([capgnn, "predict", "--run", folder, "--out", logits, "--quiet"], check=True, stdout=subprocess.DEVNULL)
    z, test = np.load(logits), np.load(mask) & (y >= 0)
    return auc((z[:, 1] - z[:, 0])[test], y[test] == 1)


def auc(scores, positive):
    """The probability that a positive vertex scores higher than a negative one, ties counted half (Mann-Whitney)."""
    _, place, count = np.unique(scores, return_inverse=True, return_counts=True)
    rank = (np.cumsum(count) - (count - 1) / 2)[place]
    n = positive.sum()
    return (rank[positive].sum() - n * (n + 1) / 2) / (n * (len(scores) - n))
