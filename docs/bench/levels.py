"""What int8 and old rows cost in score and save in bytes: a line per run in a CSV, and Markdown tables of all of them.

    python levels.py --capgnn BINARY --datasets STORE... --levels "" "--halo-dtype int8" [--models gcn sage] [--seeds 1 2 3] [--ranks N] [flags of train]
    python levels.py --table [--log FILE]

STORE is a folder that `capgnn data import` or `capgnn data synth` wrote. A level is a set of flags; the first one is what the others are
compared with, paired by seed. Each run appends a line to --log, and runs that stand there are not made again, so that the script goes on
where it stopped. --table prints the tables of what stands in the log, one for each set of further flags, and runs nothing; there the first
level is that without flags, else the one that came first. --ranks trains on so many ranks of this machine.

Score: that of the test vertices at the best validation epoch, in points; last: at the last epoch; ROC-AUC: of the best epoch's weights,
for a store with two classes and a test_mask. Differences are paired by seed: mean ± half of the 95 % confidence interval (Student).
Loss: the mean training loss of the last ten epochs; rough: the mean size of a step of it between two of these.
Bytes: what halo rows moved, as a share of the first level's, in the last epoch, and over all epochs. Epochs to the score: the median of
the first evaluation whose validation score was at least the first level's best of that seed less half a point (in brackets the first level's); never: all
epochs. Lines of before a column was written have nothing there: the table says –.
"""
import argparse
import csv
import os
import statistics

from runs import test_auc, trained

FIELDS = ["dataset", "model", "flags", "level", "seed", "val", "test", "auc", "test_last", "best_epoch", "epochs", "halo_last", "halo_all", "curve", "loss", "rough"]
KEY = FIELDS[:5]
HEADINGS = ["data set", "model", "level", "seeds", "score", "against the first", "last epoch", "ROC-AUC", "loss", "rough", "bytes, last epoch", "bytes",
            "epochs to the score", "best epoch"]
# Student's t of 95 %, two-sided, by degrees of freedom.
STUDENT = {1: 12.71, 2: 4.303, 3: 3.182, 4: 2.776, 5: 2.571, 6: 2.447, 7: 2.365, 8: 2.306, 9: 2.262, 14: 2.145, 19: 2.093}


def train(o, store, cell):
    """Makes one run and returns its line."""
    flags = ["--model", cell["model"], "--seed", cell["seed"], *cell["flags"].split(), *cell["level"].split()]
    with trained(o.capgnn, store, *flags, ranks=o.ranks) as (r, epochs, folder):
        area = test_auc(o.capgnn, store, folder)
    moved, losses = [sum(e["halo"].values()) for e in epochs], [e["loss"] for e in epochs[-10:]]
    steps = [abs(a - b) for a, b in zip(losses, losses[1:])]
    return {**cell, "val": f"{r['val']:.6f}", "test": f"{r['test']:.6f}", "auc": "" if area is None else f"{area:.6f}", "test_last": f"{r['test_last']:.6f}",
            "best_epoch": r["best_epoch"] + 1, "epochs": r["epochs"], "halo_last": moved[-1], "halo_all": sum(moved),
            "curve": " ".join(f"{x['epoch'] + 1}:{x['val']:.4f}" for x in epochs if "val" in x),
            "loss": f"{statistics.mean(losses):.6f}", "rough": f"{statistics.mean(steps):.6f}" if steps else ""}


def read(path):
    """Returns the lines of a log by what a run was; columns that a line lacks are empty."""
    if not os.path.exists(path):
        return {}
    with open(path, newline="") as f:
        return {tuple(line[k] for k in KEY): {k: line.get(k) or "" for k in FIELDS} for line in csv.DictReader(f)}


def append(path, line):
    """Adds a line to a log. One of before a column came gets it, in all its lines."""
    with open(path, "a+", newline="") as f:
        f.seek(0)
        if f.readline().rstrip() == ",".join(FIELDS):
            csv.DictWriter(f, FIELDS, lineterminator="\n").writerow(line)
            return
    lines = list(read(path).values())
    with open(path + ".new", "w", newline="") as f:
        w = csv.DictWriter(f, FIELDS, lineterminator="\n")
        w.writeheader()
        w.writerows([*lines, line])
    os.replace(path + ".new", path)


def interval(xs):
    """Returns a cell: the mean and half of its 95 % confidence interval."""
    if len(xs) < 2:
        return f"{xs[0]:+.2f}".replace("-", "−")
    t = STUDENT.get(len(xs) - 1, 1.96)
    return f"{statistics.mean(xs):+.2f} ± {t * statistics.stdev(xs) / len(xs) ** 0.5:.2f}".replace("-", "−")


def reached(line, goal):
    """Returns the first epoch whose evaluation reached the goal, or the number of epochs."""
    for point in line["curve"].split():
        epoch, val = point.split(":")
        if float(val) >= goal:
            return int(epoch)
    return int(line["epochs"])


def row(pairs):
    """Returns the cells of a level: pairs of lines, the first level's and its own."""
    def known(*names):
        return all(line[name] for pair in pairs for line in pair for name in names)

    def own(name, form, scale=1.0, of=statistics.mean):
        return form.format(of(scale * float(b[name]) for _, b in pairs)) if known(name) else "–"

    def gap(name):
        return interval([100 * (float(b[name]) - float(a[name])) for a, b in pairs]) if known(name) else "–"

    def share(name):
        return f"{100 * sum(int(b[name]) for _, b in pairs) / max(1, sum(int(a[name]) for a, _ in pairs)):.1f} %" if known(name) else "–"
    against, epochs = "–", "–"
    if known("val", "curve"):
        goals = [float(a["val"]) - 0.005 for a, _ in pairs]
        against, epochs = (f"{statistics.median(reached(pair[which], g) for pair, g in zip(pairs, goals)):g}" for which in (0, 1))
    return [str(len(pairs)), own("test", "{:.2f}", 100), gap("test"), gap("test_last"), gap("auc"), own("loss", "{:.4f}"), own("rough", "{:.4f}"), share("halo_last"),
            share("halo_all"), f"{epochs} ({against})", own("best_epoch", "{:g}", of=statistics.median)]


def tables(log):
    """Prints every level beside the first one of the same runs: a table for each set of flags."""
    for flags in dict.fromkeys(key[2] for key in log):
        print(f"`{flags}`\n\n|", " | ".join(HEADINGS), "|\n|---|---|---|" + "---:|" * (len(HEADINGS) - 3))
        for dataset, model in dict.fromkeys(key[:2] for key in log if key[2] == flags):
            levels = {}
            for key, line in log.items():
                if key[:3] == (dataset, model, flags):
                    levels.setdefault(key[3], {})[key[4]] = line
            first = levels.get("") or next(iter(levels.values()))
            for level, runs in levels.items():
                pairs = [(first[seed], line) for seed, line in runs.items() if seed in first]
                if pairs and runs is not first:
                    print("|", " | ".join([dataset, model, f"`{level}`", *row(pairs)]), "|")
        print()


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--capgnn", default="capgnn")
    p.add_argument("--datasets", nargs="+", default=[])
    p.add_argument("--models", nargs="+", default=["gcn"])
    p.add_argument("--levels", nargs="+", default=[""])
    p.add_argument("--seeds", nargs="+", default=[str(s) for s in range(1, 11)])
    p.add_argument("--log", default=os.path.join(os.path.dirname(os.path.abspath(__file__)), "levels.csv"))
    p.add_argument("--ranks", type=int, default=1)
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
    tables(log)


if __name__ == "__main__":
    main()
