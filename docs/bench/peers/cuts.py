"""Edge cuts over seeds: gpmetis and Mt-KaHyPar on METIS files, and ours beside them, as tables.

    go test -c -o multilevel.test ./rapa/multilevel
    ./multilevel.test -test.run xxx -test.bench Seeds -test.benchtime 1x -sets GRAPH,... -dump DIR     # METIS files
    python cuts.py run metis DIR >metis.tsv         # also: volume (gpmetis -objtype=vol), mtkahypar (pip install mtkahypar)
    ./multilevel.test -test.run xxx -test.bench Seeds -test.benchtime 1x -test.timeout 5h -sets GRAPH,... >ours.tsv   # or -volume
    python cuts.py compare ours.tsv --metis metis.tsv --mtkahypar mtkahypar.tsv

A line of a .tsv is graph, parts, seed, cut or volume, wall seconds, processor seconds. Every run has two threads, gpmetis one; parts hold
at most 1.03 times their share. Reading the graph does not count.
"""
import argparse
import glob
import math
import os
import re
import statistics
import subprocess
import sys
import time


def gpmetis(objective):
    def run(file, parts, seed):
        start = time.perf_counter()
        out = subprocess.run(["gpmetis", "-objtype=" + objective, f"-seed={seed}", "-nooutput", file, str(parts)],
                             capture_output=True, text=True, check=True).stdout
        wall = time.perf_counter() - start
        cut, volume = re.search(r"Edgecut: (\d+), communication volume: (\d+)", out).groups()
        return int(cut if objective == "cut" else volume), wall, float(re.search(r"Partitioning:\s+([0-9.]+)", out)[1])
    return run


def mtkahypar():
    import mtkahypar as mt
    machine = mt.initialize(2, False)
    graphs = {}

    def run(file, parts, seed):
        context = machine.context_from_preset(mt.PresetType.DEFAULT)
        context.set_partitioning_parameters(parts, 0.03, mt.Objective.CUT)
        context.logging = False
        if file not in graphs:
            graphs.clear()
            graphs[file] = machine.graph_from_file(file, context)
        mt.set_seed(seed)
        start, used = time.perf_counter(), time.process_time()
        cut = graphs[file].partition(context).cut()
        return cut, time.perf_counter() - start, time.process_time() - used
    return run


def measure(args):
    run = {"metis": lambda: gpmetis("cut"), "volume": lambda: gpmetis("vol"), "mtkahypar": mtkahypar}[args.what]()
    for file in sorted(glob.glob(os.path.join(args.dir, "*.metis")), key=os.path.getsize):
        for parts in args.parts:
            for seed in range(1, args.seeds + 1):
                value, wall, used = run(file, parts, seed)
                name = os.path.basename(file).removesuffix(".metis")
                print(f"{name}\t{parts}\t{seed}\t{value}\t{wall:.4f}\t{used:.4f}", flush=True)


def load(file):
    """Returns the rows (value, wall, processor seconds) of each (graph, parts)."""
    rows = {}
    for line in open(file):
        fields = line.rstrip("\n").split("\t")
        if len(fields) == 6 and fields[1].isdigit():  # go test prints lines of its own
            rows.setdefault((fields[0], int(fields[1])), []).append(tuple(map(float, fields[3:])))
    return rows


def median(rows, field=0):
    return statistics.median(r[field] for r in rows)


def compare(args):
    ours = load(args.ours)
    peers = [(name, load(file)) for name, file in (("gpmetis", args.metis), ("Mt-KaHyPar", args.mtkahypar)) if file]
    head = "| graph | parts | ours, median (seeds) | worst/median |"
    for name, _ in peers:
        head += f" {name} | median | worst |"
    print(head + " s |\n|---|" + "---:|" * (head.count("|") - 1))
    worst, logs, ours_s, theirs_s = {}, {}, {}, {}
    for key, rows in ours.items():
        middle, high = median(rows), max(r[0] for r in rows)
        line = f"| {key[0]} | {key[1]} | {middle:,.0f} ({len(rows)}) | {high / middle:.3f} |"
        for name, peer in peers:
            if key not in peer:
                line += " | | |"
                continue
            other = median(peer[key])
            line += f" {other:,.0f} | {middle / other:.3f} | {high / other:.3f} |"
            worst[name] = max(worst.get(name, (0,)), (high / other, *key))
            logs.setdefault(name, []).extend(math.log(r[0] / other) for r in rows)
            ours_s[name] = ours_s.get(name, 0) + median(rows, 2)
            theirs_s[name] = theirs_s.get(name, 0) + median(peer[key], 2)
        print(line + f" {median(rows, 2):.2f} |")
    for name in worst:
        print(f"\n{name}: worst {worst[name][0]:.3f} ({worst[name][1]}, {worst[name][2]} parts), geometric mean "
              f"{math.exp(statistics.mean(logs[name])):.3f}, processor time {ours_s[name]:.1f} s against {theirs_s[name]:.1f} s")


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    sub = p.add_subparsers(required=True)
    r = sub.add_parser("run")
    r.add_argument("what", choices=("metis", "volume", "mtkahypar"))
    r.add_argument("dir")
    r.add_argument("--parts", type=int, nargs="+", default=[2, 4, 8, 16])
    r.add_argument("--seeds", type=int, default=10)
    r.set_defaults(do=measure)
    c = sub.add_parser("compare")
    c.add_argument("ours")
    c.add_argument("--metis")
    c.add_argument("--mtkahypar")
    c.set_defaults(do=compare)
    args = p.parse_args()
    args.do(args)


if __name__ == "__main__":
    sys.exit(main())
