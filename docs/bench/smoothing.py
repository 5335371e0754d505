"""What periods, smoothing and dropped gradients of stale halo rows cost in score and loss: a line per run in a CSV file, a Markdown table of it.

    python smoothing.py --capgnn BINARY --log smoothing.csv --dataset STORE --model gcn [--settings exact "8 0.5 always" ...] [--seeds 1 2 3 4 5] [flags of train]
    python smoothing.py --log smoothing.csv --table

A setting is --staleness, --smoothing and --halo-backward, or exact. Runs that stand in the log are not made again, so work goes on where it
stopped. Scores are of the test vertices, in points: at the best validation epoch, and in the last epoch that was evaluated. Loss: mean of the last ten
epochs; rough: the mean size of a step of it between two of these. Bytes: what halo rows moved over all epochs. Differences are paired by seed.
"""
import argparse
import csv
import json
import os
import statistics
import subprocess
import tempfile

COLUMNS = ["graph", "model", "setting", "flags", "seed", "score", "last", "best_epoch", "loss", "rough", "bytes"]


def run(o, setting, seed):
    flags = ["--staleness", "0"]
    if setting != "exact":
        staleness, gamma, backward = setting.split()
        flags = ["--staleness", staleness, "--smoothing", gamma, "--halo-backward", backward]
    with tempfile.TemporaryDirectory() as scratch:
        folder = os.path.join(scratch, "run")
        subprocess.run([o.capgnn, "train", "--dataset", o.dataset, "--model", o.model, "--seed", str(seed), "--quiet", "--run-dir", folder,
                        *flags, *o.flags], check=True, stdout=subprocess.DEVNULL)
        with open(os.path.join(folder, "metrics.jsonl")) as f:
            epochs = [json.loads(line) for line in f]
    best = max((e for e in epochs if "val" in e), key=lambda e: e["val"])
    losses = [e["loss"] for e in epochs[-10:]]
    return {"score": round(100 * best["test"], 3), "last": round(100 * [e for e in epochs if "val" in e][-1]["test"], 3), "best_epoch": best["epoch"],
            "loss": round(statistics.mean(losses), 5), "rough": round(statistics.mean(abs(a - b) for a, b in zip(losses, losses[1:])), 5),
            "bytes": sum(sum(e["halo"].values()) for e in epochs)}


def read(path):
    if not os.path.exists(path):
        return []
    with open(path, newline="") as f:
        return list(csv.DictReader(f))


def spread(pairs):
    d = [a - b for a, b in pairs]
    error = statistics.stdev(d) / len(d) ** 0.5 if len(d) > 1 else float("nan")
    return f"{statistics.mean(d):+.2f} ± {error:.2f}"


def table(rows):
    print("| graph | model | staleness, γ, gradients | seeds | score | last epoch | loss | rough | halo bytes |\n|---|---|---|---:|---:|---:|---:|---:|---:|")
    cells = {}
    for r in rows:
        cells.setdefault((r["graph"], r["model"], r["flags"]), {}).setdefault(r["setting"], {})[r["seed"]] = r
    for (graph, model, _), settings in cells.items():
        exact = settings.get("exact", {})
        for setting, runs in settings.items():
            seeds = [s for s in runs if s in exact]
            if not seeds:
                continue
            of = lambda which, name: [float(which[s][name]) for s in seeds]
            if setting == "exact":
                score, last = (f"{statistics.mean(of(runs, n)):.2f}" for n in ("score", "last"))
            else:
                score, last = (spread(zip(of(runs, n), of(exact, n))) for n in ("score", "last"))
            print(f"| {graph} | {model} | {setting.replace(' ', ', ')} | {len(seeds)} | {score} | {last} | {statistics.mean(of(runs, 'loss')):.4f} | "
                  f"{statistics.mean(of(runs, 'rough')):.4f} | {100 * sum(of(runs, 'bytes')) / sum(of(exact, 'bytes')):.1f} % |")


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--capgnn", default="capgnn")
    p.add_argument("--log", required=True)
    p.add_argument("--dataset")
    p.add_argument("--model", default="gcn")
    p.add_argument("--settings", nargs="+", default=["exact"] + [f"{s} {g} always" for s in (4, 8, 16) for g in ("0", "0.5")])
    p.add_argument("--seeds", nargs="+", default=["1", "2", "3", "4", "5"])
    p.add_argument("--table", action="store_true")
    o, o.flags = p.parse_known_args()
    if o.table:
        return table(read(o.log))
    graph, flags = os.path.basename(os.path.normpath(o.dataset)), " ".join(o.flags)
    done = {(r["graph"], r["model"], r["setting"], r["flags"], r["seed"]) for r in read(o.log)}
    for seed in o.seeds:
        for setting in o.settings:
            key = (graph, o.model, setting, flags, seed)
            if key in done:
                continue
            result = run(o, setting, seed)
            new = not os.path.exists(o.log)
            with open(o.log, "a", newline="") as f:
                w = csv.writer(f, lineterminator="\n")
                if new:
                    w.writerow(COLUMNS)
                w.writerow([*key, *(result[c] for c in COLUMNS[5:])])


if __name__ == "__main__":
    main()
