"""What pruning costs in accuracy: every score, share and seed, as a Markdown table.

    python prune.py --capgnn BINARY --dataset NAME... --log FILE [--shares 0.1 0.3 0.5] [--seeds 1 2 3 4 5] [flags of train]

Runs that stand in the log are not made again. Each cell: test score (at the best validation epoch, on the whole graph) less that of
the unpruned run of the same seed, in points, mean and standard error.
"""
import argparse
import json
import os
import statistics
import subprocess
import tempfile

SCORES = ["influence", "weight"]


def score(o, dataset, share, kind, seed, log):
    key = f"{dataset} {share} {kind} {seed}"
    if key not in log:
        with tempfile.TemporaryDirectory() as scratch:
            command = [o.capgnn, "train", "--dataset", dataset, "--prune", str(share), "--prune", "score=" + kind, "--seed", str(seed),
                       "--json", "--quiet", "--run-dir", os.path.join(scratch, "run"), *o.flags]
            out = subprocess.run(command, check=True, capture_output=True, text=True).stdout
        log[key] = json.loads(out.strip().splitlines()[-1])["test"]
        with open(o.log, "a") as f:
            f.write(json.dumps({"key": key, "test": log[key]}) + "\n")
    return 100 * log[key]


def spread(xs):
    return f"{statistics.mean(xs):+.2f} ± {statistics.stdev(xs) / len(xs) ** 0.5:.2f}"


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--capgnn", default="capgnn")
    p.add_argument("--dataset", nargs="+", required=True)
    p.add_argument("--log", required=True)
    p.add_argument("--shares", nargs="+", type=float, default=[0.1, 0.3, 0.5])
    p.add_argument("--seeds", nargs="+", type=int, default=[1, 2, 3, 4, 5])
    o, o.flags = p.parse_known_args()
    log = {}
    if os.path.exists(o.log):
        with open(o.log) as f:
            log = {r["key"]: r["test"] for r in map(json.loads, f)}
    print("| data set | share | " + " | ".join(SCORES) + " |\n|---|---:|" + "---|" * len(SCORES))
    for dataset in o.dataset:
        whole = [score(o, dataset, 0, SCORES[0], seed, log) for seed in o.seeds]
        print(f"| {os.path.basename(dataset)} | 0 | {spread(whole)[1:]} |" + " |" * (len(SCORES) - 1))
        for share in o.shares:
            cells = [spread([score(o, dataset, share, kind, seed, log) - w for seed, w in zip(o.seeds, whole)]) for kind in SCORES]
            print(f"| | {share:g} | " + " | ".join(cells) + " |", flush=True)


main()
