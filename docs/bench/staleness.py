"""What stale halo rows cost in score and save in bytes: one line per data set, model and staleness, as a Markdown table.

    python staleness.py --capgnn BINARY --dataset STORE --model gcn --log FILE [--staleness 4 8] [--seeds 1 2 3] [flags of train]

STORE is a folder that `capgnn data import` wrote. Runs that stand in the log are not made again. Score: that of the test vertices at
the best validation epoch, in points; ROC-AUC: of the same vertices and weights, for two classes. Differences are paired by seed: mean
and standard error. Halo bytes: what halo rows moved over all epochs, exact ones included, as a share of the exact runs'.
Best epoch: the median over seeds.
"""
import argparse
import json
import os
import statistics
import subprocess
import tempfile

import numpy as np


def auc(scores, positive):
    """The probability that a positive vertex scores higher than a negative one, ties counted half (Mann-Whitney)."""
    _, place, count = np.unique(scores, return_inverse=True, return_counts=True)
    rank = (np.cumsum(count) - (count - 1) / 2)[place]
    n = positive.sum()
    return (rank[positive].sum() - n * (n + 1) / 2) / (n * (len(scores) - n))


def run(o, staleness, seed, log):
    key = f"{os.path.basename(o.dataset)} {o.model} {staleness} {seed} {' '.join(o.flags)}"
    if key not in log:
        with tempfile.TemporaryDirectory() as scratch:
            folder, logits = os.path.join(scratch, "run"), os.path.join(scratch, "logits.npy")
            command = [o.capgnn, "train", "--dataset", o.dataset, "--model", o.model, "--staleness", str(staleness), "--seed", str(seed),
                       "--json", "--quiet", "--run-dir", folder, *o.flags]
            out = subprocess.run(command, check=True, capture_output=True, text=True).stdout
            r = json.loads(out.strip().splitlines()[-1])
            subprocess.run([o.capgnn, "predict", "--run", folder, "--out", logits, "--quiet"], check=True, capture_output=True)
            z = np.load(logits)
            with open(os.path.join(folder, "metrics.jsonl")) as f:
                moved = sum(sum(json.loads(line)["halo"].values()) for line in f)
        y, mask = np.load(os.path.join(o.dataset, "y.npy")), os.path.join(o.dataset, "test_mask.npy")
        curve = None
        if z.shape[1] == 2 and os.path.exists(mask):
            test = np.load(mask) & (y >= 0)
            curve = auc((z[:, 1] - z[:, 0])[test], y[test] == 1)
        log[key] = {"score": r["test"], "auc": curve, "bytes": moved, "best": r["best_epoch"]}
        with open(o.log, "a") as f:
            f.write(json.dumps({"key": key, **log[key]}) + "\n")
    return log[key]


def spread(xs):
    error = statistics.stdev(xs) / len(xs) ** 0.5 if len(xs) > 1 else float("nan")
    return f"{statistics.mean(xs):+.2f} ± {error:.2f}"


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--capgnn", default="capgnn")
    p.add_argument("--dataset", required=True)
    p.add_argument("--model", default="gcn")
    p.add_argument("--log", required=True)
    p.add_argument("--staleness", nargs="+", type=int, default=[4, 8])
    p.add_argument("--seeds", nargs="+", type=int, default=[1, 2, 3])
    o, o.flags = p.parse_known_args()
    log = {}
    if os.path.exists(o.log):
        with open(o.log) as f:
            log = {r["key"]: r for r in map(json.loads, f)}
    exact = [run(o, 0, seed, log) for seed in o.seeds]
    two = exact[0]["auc"] is not None
    print("| data set | model | s | score | ROC-AUC | halo bytes | best epoch |\n|---|---|---:|---:|---:|---:|---:|")
    for s in [0, *o.staleness]:
        runs = [run(o, s, seed, log) for seed in o.seeds]
        best = statistics.median(r["best"] for r in runs)
        share = sum(r["bytes"] for r in runs) / sum(r["bytes"] for r in exact)

        def cell(name):
            if s == 0:
                return f"{100 * statistics.mean(r[name] for r in runs):.2f}"
            return spread([100 * (r[name] - e[name]) for r, e in zip(runs, exact)])
        print(f"| {os.path.basename(o.dataset)} | {o.model} | {s} | {cell('score')} | {cell('auc') if two else '–'} | {100 * share:.1f} % | {best:g} |",
              flush=True)


if __name__ == "__main__":
    main()
