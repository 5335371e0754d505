"""Scores of several settings of `capgnn train`, paired by seed, as a Markdown table.

    python scores.py --capgnn BINARY --dataset NAME --model gcn --log FILE --settings "" "--batch-size 1024 --epochs 30" [--seeds 1 2 3] [--auc] [flags]

The first of --settings is the one that others are compared with; further flags go to all. Runs that stand in the log are not made
again. Score: that of the test vertices at the best validation epoch, in points. --auc: ROC-AUC of the test vertices with the same
weights, for a store with two classes and a test_mask. Differences are paired by seed: mean, standard error, and mean − 2 standard errors.
To a score: seconds of training and CPU-seconds of the whole run until the validation score first reached the first setting's
best of that seed less --within points; how many of the seeds reached it.
"""
import argparse
import json
import os
import resource
import statistics

from runs import test_auc, trained


def run(o, setting, seed, log):
    """Returns the scores and times of one run."""
    name = os.path.basename(os.path.normpath(o.dataset))
    key = " ".join(f"{name} {o.model} {seed} {' '.join(o.flags)} {setting}".split())
    if key in log:
        return log[key]
    before, curve, clock = resource.getrusage(resource.RUSAGE_CHILDREN), [], 0.0
    with trained(o.capgnn, o.dataset, "--model", o.model, "--seed", str(seed), *o.flags, *setting.split()) as (r, epochs, folder):
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        for line in epochs:
            clock += line["epoch_s"]
            if "val" in line:
                curve.append([line["epoch"] + 1, round(clock, 3), line["val"], line["test"]])
        area = test_auc(o.capgnn, o.dataset, folder) if o.auc else None
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    log[key] = {"score": r["test"], "val": r["val"], "auc": area, "best": r["best_epoch"] + 1, "epochs": r["epochs"], "cpu_s": cpu,
                "epoch_s": r["epoch_s"]["median"], "curve": curve}
    with open(o.log, "a") as f:
        f.write(json.dumps({"key": key, **log[key]}) + "\n")
    return log[key]


def reached(runs, base, within):
    """Returns a cell: the median seconds and epochs to the score, and how many runs reached it."""
    times = []
    for r, b in zip(runs, base):
        times += [next(((t, e) for e, t, val, _ in r["curve"] if val >= b["val"] - within / 100), None)]
    there = [t for t in times if t]
    if not there:
        return f"0 of {len(runs)}"
    return f"{statistics.median(t for t, _ in there):.1f} s, epoch {statistics.median(e for _, e in there):g} ({len(there)} of {len(runs)})"


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--capgnn", default="capgnn")
    p.add_argument("--dataset", required=True)
    p.add_argument("--model", default="gcn")
    p.add_argument("--log", required=True)
    p.add_argument("--settings", nargs="+", required=True)
    p.add_argument("--seeds", nargs="+", type=int, default=list(range(1, 11)))
    p.add_argument("--within", type=float, default=0.5)
    p.add_argument("--auc", action="store_true")
    o, o.flags = p.parse_known_args()
    log = {}
    if os.path.exists(o.log):
        with open(o.log) as f:
            log = {r["key"]: r for r in map(json.loads, f)}
    table = {s: [] for s in o.settings}
    for seed in o.seeds:
        for s in o.settings:
            table[s].append(run(o, s, seed, log))
    base, name = table[o.settings[0]], "auc" if o.auc else "score"
    print("| data set | model | setting | score | against the first | mean − 2 SE | best epoch | to the score | CPU-seconds |")
    print("|---|---|---|---:|---:|---:|---:|---:|---:|")
    for s, runs in table.items():
        own = [100 * r[name] for r in runs]
        gap = [a - 100 * b[name] for a, b in zip(own, base)]
        error = statistics.stdev(gap) / len(gap) ** 0.5 if len(gap) > 1 else float("nan")
        spread = statistics.stdev(own) if len(own) > 1 else float("nan")
        against, bound = ("–", "–") if runs is base else (f"{statistics.mean(gap):+.2f} ± {error:.2f}", f"{statistics.mean(gap) - 2 * error:+.2f}")
        print(f"| {os.path.basename(os.path.normpath(o.dataset))} | {o.model} | {s or 'full batch'} | {statistics.mean(own):.2f} ± {spread:.2f} | {against} | "
              f"{bound} | {statistics.median(r['best'] for r in runs):g} | {reached(runs, base, o.within)} | {statistics.median(r['cpu_s'] for r in runs):.0f} |", flush=True)


if __name__ == "__main__":
    main()
