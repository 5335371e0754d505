"""Epochs of the presets of `capgnn train --sampling` on two parts behind emulated links, as a Markdown table: times as fast as the first preset.

    python presets.py --capgnn BINARY --datasets STORE ... --log FILE [--device cpu:threads=1] [--links 1.16GiB/s 0.116GiB/s] [--latency 50us] [--rounds 5] [flags]

Each round runs every preset once, the order of presets moving on by one from round to round. A run appends a line to the log; runs that stand there are not made
again. Time of a run: the mean of all its epochs, as the first one fills caches and samples what is looked ahead to. A ratio is the median of the rounds' ratios, with
their range; simulated devices (--device sim:CARD) need one round. Further flags go to all runs. `distdgl,roots=global` is what HopGNN is
compared with. `default+` is the default with the default fan-outs in place of --fanout, `distdgl+` likewise.
"""
import argparse
import json
import os
import statistics

from runs import trained

PRESETS = ["distdgl", "rapidgnn", "massivegnn", "hopgnn", "default", "distdgl,roots=global", "distdgl+", "default+"]


def run(o, dataset, link, preset, turn, log):
    """Returns what the epochs of one run took and fetched."""
    name = os.path.basename(os.path.normpath(dataset))
    key = " ".join([name, o.device, link, o.latency, str(o.epochs), preset, o.fanout, *o.flags, str(turn)])
    if key in log:
        return log[key]
    device = f"{o.device},link={link},latency={o.latency}"
    fanout = [] if preset.endswith("+") else ["--fanout", o.fanout]
    with trained(o.capgnn, dataset, "--model", "sage", "--layers", "2", "--hidden", "64", "--batch-size", "2000", *fanout, "--devices", f"{device},{device}",
                 "--sampling", preset.rstrip("+"), "--epochs", str(o.epochs), "--eval-every", "0", *o.flags) as (_, epochs, _):
        rows = [e["rows"]["fetched"] + e["rows"]["prefilled"] for e in epochs]
    log[key] = {"epoch_s": [e["epoch_s"] for e in epochs], "cpu_s": [e["cpu_s"] for e in epochs], "rows": rows}
    with open(o.log, "a") as f:
        f.write(json.dumps({"key": key, **log[key]}) + "\n")
    return log[key]


def ratios(base, runs, what):
    """Returns a cell: times as fast as base, by rounds."""
    r = [sum(b[what]) / sum(a[what]) for a, b in zip(runs, base)]
    return f"{statistics.median(r):.2f}×" + (f" ({min(r):.2f}–{max(r):.2f})" if len(r) > 1 else "")


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--capgnn", default="capgnn")
    p.add_argument("--datasets", nargs="+", required=True)
    p.add_argument("--log", required=True)
    p.add_argument("--device", default="cpu:threads=1")
    p.add_argument("--links", nargs="+", default=["1.16GiB/s", "0.116GiB/s"])
    p.add_argument("--latency", default="50us")
    p.add_argument("--fanout", default="10,25")
    p.add_argument("--epochs", type=int, default=6)
    p.add_argument("--rounds", type=int, default=5)
    o, o.flags = p.parse_known_args()
    log = {}
    if os.path.exists(o.log):
        with open(o.log) as f:
            log = {r["key"]: r for r in map(json.loads, f)}
    cells = {(d, k): {s: [] for s in PRESETS} for d in o.datasets for k in o.links}
    for turn in range(o.rounds):
        order = PRESETS[turn % len(PRESETS):] + PRESETS[:turn % len(PRESETS)]
        for (dataset, link), runs in cells.items():
            for s in order:
                runs[s].append(run(o, dataset, link, s, turn, log))
    print("| data set | link | preset | epoch, s | ratio | CPU-seconds | ratio | rows an epoch |\n|---|---|---|---:|---:|---:|---:|---:|")
    for (dataset, link), runs in cells.items():
        for s, own in runs.items():
            base = runs["distdgl+" if s.endswith("+") else "distdgl"]
            print(f"| {os.path.basename(os.path.normpath(dataset))} | {link} | {s} | {statistics.median(statistics.mean(r['epoch_s']) for r in own):.3g} | {ratios(base, own, 'epoch_s')} | "
                  f"{statistics.median(statistics.mean(r['cpu_s']) for r in own):.3g} | {ratios(base, own, 'cpu_s')} | {statistics.mean(own[0]['rows']):,.0f} |")


if __name__ == "__main__":
    main()
