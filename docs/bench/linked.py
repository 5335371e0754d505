"""Epochs with exact, int8 and old rows on two parts behind emulated links: a line per run in a CSV, and a Markdown table of all of them.

    python linked.py --capgnn BINARY --datasets STORE... [--links 0.125GiB/s 1GiB/s 8GiB/s] [--levels exact encoded stale] [--rounds 9] [flags of train]
    python linked.py --table [--log FILE]

Each round runs every level once on every graph and link, and exact without links, where devices read each other's memory; the order of levels moves on by one from
round to round. Each run appends a line to --log, and runs that stand there are not made again, so that the script goes on where it stopped. --table prints the tables
of what stands there, one for each set of further flags, and runs nothing.

Time of a run: the lower quartile of its last 8 epochs, a whole period of the stale levels, which begin to age behind the first epoch; a machine that does something
else beside them makes the others longer. Ratios are medians of the rounds' ratios, with the range of their middle half: exact ÷ level says how many times as fast the level is, free ÷ level what share of the speed without links it reaches. Bytes:
what halo rows moved in the last epoch, as a share of exact.
"""
import argparse
import csv
import os
import statistics

from runs import trained

FIELDS = ["dataset", "flags", "link", "level", "round", "epochs_s", "halo_bytes"]
KEY = FIELDS[:5]
FREE = "exact, no links"
ENCODED = ["--halo-dtype", "int8"]
LEVELS = {"exact": [], "encoded": ENCODED, "stale": [*ENCODED, "--staleness", "8,layers=wide,exact=1"]}
PERIOD = 8


def run(o, store, cell):
    """Makes one run and returns its line."""
    link = "" if cell["level"] == FREE else f",link={cell['link']}"
    flags = ["--devices", ",".join([o.device + link] * 2), *LEVELS[cell["level"].split(",")[0]], "--epochs", str(PERIOD + 3), "--eval-every", "0",
             "--checkpoint-every", "0", *cell["flags"].split()]
    with trained(o.capgnn, store, *flags) as (_, epochs, _):
        last = epochs[-PERIOD:]
    return {**cell, "epochs_s": " ".join(f"{e['epoch_s']:.5f}" for e in last), "halo_bytes": sum(last[-1]["halo"].values())}


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


def cells(o, flags):
    """Yields the runs that are asked for, a round after the other: the folder of a store, and the key of a run."""
    for turn in range(o.rounds):
        for store in o.datasets:
            name, levels = os.path.basename(os.path.normpath(store)), o.levels[turn % len(o.levels):] + o.levels[:turn % len(o.levels)]
            for link in o.links:
                for level in levels:
                    yield store, dict(zip(KEY, (name, flags, link, level, str(turn))))
            yield store, dict(zip(KEY, (name, flags, "", FREE, str(turn))))


def seconds(line):
    """Returns what an epoch of a run takes."""
    return statistics.quantiles(map(float, line["epochs_s"].split()), n=4)[0]


def ratio(own, base):
    """Returns a cell: base ÷ own by rounds."""
    r = sorted(seconds(base[turn]) / seconds(line) for turn, line in own.items() if turn in base)
    if not r:
        return "–"
    return f"{statistics.median(r):.2f} ({r[len(r) // 4]:.2f}–{r[-1 - len(r) // 4]:.2f})"


def tables(log):
    """Prints every level beside exact: a table for each set of flags."""
    for flags in dict.fromkeys(key[1] for key in log):
        print(f"`{flags}`\n\n" if flags else "", "| data set | link | level | rounds | epoch, ms | exact ÷ level | free ÷ level | bytes |\n|---|---|---|---:|---:|---:|---:|---:|", sep="")
        for dataset in dict.fromkeys(key[0] for key in log if key[1] == flags):
            runs = {}
            for key, line in log.items():
                if key[:2] == (dataset, flags):
                    runs.setdefault((key[2], key[3]), {})[key[4]] = line
            free = runs.get(("", FREE), {})
            for (link, level), own in sorted(runs.items(), key=lambda item: [k for k in dict.fromkeys(key[2] for key in log)].index(item[0][0])):
                exact = runs.get((link, "exact"), {})
                ms = 1000 * statistics.median(map(seconds, own.values()))
                moved = statistics.median(100 * int(line["halo_bytes"]) / max(1, int(exact[turn]["halo_bytes"])) for turn, line in own.items() if turn in exact) if exact else 100
                print(f"| {dataset} | {link or '–'} | {level} | {len(own)} | {ms:.0f} | {ratio(own, exact)} | {ratio(own, free)} | {moved:.1f} % |")
        print()


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--capgnn", default="capgnn")
    p.add_argument("--datasets", nargs="+", default=[])
    p.add_argument("--links", nargs="+", default=["0.125GiB/s", "1GiB/s", "8GiB/s"])
    p.add_argument("--levels", nargs="+", choices=LEVELS, default=list(LEVELS))
    p.add_argument("--device", default="cpu:threads=1")
    p.add_argument("--rounds", type=int, default=9)
    p.add_argument("--log", default=os.path.join(os.path.dirname(os.path.abspath(__file__)), "linked.csv"))
    p.add_argument("--table", action="store_true")
    o, rest = p.parse_known_args()
    log = read(o.log)
    for store, cell in cells(o, " ".join(rest)) if not o.table else []:
        key = tuple(cell.values())
        if key not in log:
            log[key] = {k: str(v) for k, v in run(o, store, cell).items()}
            append(o.log, log[key])
    tables(log)


if __name__ == "__main__":
    main()
