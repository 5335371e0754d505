"""What levels of communication cost in score and save in bytes: a line per run in a CSV, and a Markdown table of all of them.

    python levels.py --capgnn BINARY --datasets STORE... --levels "" "--comm encoded" [--models gcn sage] [--seeds 1 2 3] [flags of train]

STORE is a folder that `capgnn data import` or `capgnn data synth` wrote. A level is a set of flags; the first one is what the others are
compared with, paired by seed. Each run appends a line to --log, and runs that stand there are not made again, so that the script goes on
where it stopped. --table prints the table of what stands in the log and runs nothing.

Score: that of the test vertices at the best validation epoch, in points; last: at the last epoch; ROC-AUC: of the best epoch's weights,
for a store with two classes and a test_mask. Differences are paired by seed: mean ± half of the 95 % confidence interval (Student).
Bytes: what halo rows moved, as a share of the first level's, in the last epoch, and over all epochs. Epochs to the score: the median of
the first evaluation whose validation score was at least the first level's best of that seed less half a point; never: all epochs.
"""
import argparse
import csv
import json
import os
import statistics
import subprocess
import tempfile

import numpy as np

from staleness import auc

FIELDS = ["dataset", "model", "flags", "level", "seed", "val", "test", "auc", "test_last", "best_epoch", "epochs", "halo_last", "halo_all", "curve"]
KEY = FIELDS[:5]
# Student's t of 95 %, two-sided, by degrees of freedom.
STUDENT = {1: 12.71, 2: 4.303, 3: 3.182, 4: 2.776, 5: 2.571, 6: 2.447, 7: 2.365, 8: 2.306, 9: 2.262, 14: 2.145, 19: 2.093}


def train(o, store, cell):
    """Makes one run and returns its line."""
    with tempfile.TemporaryDirectory() as scratch:
        folder, logits = os.path.join(scratch, "run"), os.path.join(scratch, "logits.npy")
        command = [o.capgnn, "train", "--dataset", store, "--model", cell["model"], "--seed", cell["seed"], "--json", "--quiet",
                   "--run-dir", folder, *cell["flags"].split(), *cell["level"].split()]
        out = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout
        r = json.loads(out.strip().splitlines()[-1])
        with open(os.path.join(folder, "metrics.jsonl")) as f:
            lines = [json.loads(line) for line in f]
        area = ""
        y, mask = np.load(os.path.join(store, "y.npy")), os.path.join(store, "test_mask.npy")
        if y.ndim == 1 and y.max() == 1 and os.path.exists(mask):
            subprocess.run([o.capgnn, "predict", "--run", folder, "--out", logits, "--quiet"], check=True, stdout=subprocess.DEVNULL)
            z, test = np.load(logits), np.load(mask) & (y >= 0)
            area = f"{auc((z[:, 1] - z[:, 0])[test], y[test] == 1):.6f}"
    moved = [sum(line["halo"].values()) for line in lines]
    return {**cell, "val": f"{r['val']:.6f}", "test": f"{r['test']:.6f}", "auc": area, "test_last": f"{r['test_last']:.6f}", "best_epoch": r["best_epoch"] + 1,
            "epochs": r["epochs"], "halo_last": moved[-1], "halo_all": sum(moved), "curve": " ".join(f"{x['epoch'] + 1}:{x['val']:.4f}" for x in lines if "val" in x)}


def read(path):
    """Returns the lines of a log by what a run was."""
    if not os.path.exists(path):
        return {}
    with open(path, newline="") as f:
        return {tuple(line[k] for k in KEY): line for line in csv.DictReader(f)}


def append(path, line):
    new = not os.path.exists(path)
    with open(path, "a", newline="") as f:
        w = csv.DictWriter(f, FIELDS, lineterminator="\n")
        if new:
            w.writeheader()
        w.writerow(line)


def interval(xs):
    """Returns a cell: the mean and half of its 95 % confidence interval."""
    if len(xs) < 2:
        return f"{xs[0]:+.2f}"
    t = STUDENT.get(len(xs) - 1, 1.96)
    return f"{statistics.mean(xs):+.2f} ± {t * statistics.stdev(xs) / len(xs) ** 0.5:.2f}"


def reached(line, goal):
    """Returns the first epoch whose evaluation reached the goal, or the number of epochs."""
    for point in line["curve"].split():
        epoch, val = point.split(":")
        if float(val) >= goal:
            return int(epoch)
    return int(line["epochs"])


def row(pairs):
    """Returns the cells of a level: pairs of lines, the first level's and its own."""
    def gap(name):
        return interval([100 * (float(own[name]) - float(first[name])) for first, own in pairs])

    def share(name):
        return f"{100 * sum(int(own[name]) for _, own in pairs) / max(1, sum(int(first[name]) for first, _ in pairs)):.1f} %"
    goals = [float(first["val"]) - 0.005 for first, _ in pairs]
    epochs = statistics.median(reached(own, g) for (_, own), g in zip(pairs, goals))
    against = statistics.median(reached(first, g) for (first, _), g in zip(pairs, goals))
    score = 100 * statistics.mean(float(own["test"]) for _, own in pairs)
    area = gap("auc") if pairs[0][1]["auc"] else "–"
    best = statistics.median(int(own["best_epoch"]) for _, own in pairs)
    return [str(len(pairs)), f"{score:.2f}", gap("test"), gap("test_last"), area, share("halo_last"), share("halo_all"), f"{epochs:g} ({against:g})", f"{best:g}"]


def table(log, first):
    """Prints every level beside the first one of the same runs."""
    print("| data set | model | flags | level | seeds | score | against the first | last epoch | ROC-AUC | bytes, last epoch | bytes | epochs to the score | best epoch |")
    print("|---|---|---|---|---:|---:|---:|---:|---:|---:|---:|---:|---:|")
    for dataset, model, flags, level in dict.fromkeys(key[:4] for key in log):
        keys = [key for key in log if key[:4] == (dataset, model, flags, level)]
        pairs = [(log[(*key[:3], first, key[4])], log[key]) for key in keys if (*key[:3], first, key[4]) in log]
        if pairs and level != first:
            print("|", " | ".join([dataset, model, f"`{flags}`", f"`{level}`", *row(pairs)]), "|")


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--capgnn", default="capgnn")
    p.add_argument("--datasets", nargs="+", default=[])
    p.add_argument("--models", nargs="+", default=["gcn"])
    p.add_argument("--levels", nargs="+", default=[""])
    p.add_argument("--seeds", nargs="+", default=[str(s) for s in range(1, 11)])
    p.add_argument("--log", default=os.path.join(os.path.dirname(os.path.abspath(__file__)), "levels.csv"))
    p.add_argument("--table", action="store_true")
    o, rest = p.parse_known_args()
    log = read(o.log)
    for seed in o.seeds if not o.table else []:
        for store in o.datasets:
            for model in o.models:
                for level in o.levels:
                    name = os.path.basename(os.path.normpath(store))
                    cell = dict(zip(KEY, (name, model, " ".join(rest), level, seed)))
                    key = tuple(cell.values())
                    if key not in log:
                        log[key] = {k: str(v) for k, v in train(o, store, cell).items()}
                        append(o.log, log[key])
    table(log, o.levels[0])


if __name__ == "__main__":
    main()
