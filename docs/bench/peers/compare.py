"""capgnn beside its peers: alternating runs, as a Markdown table.

    python compare.py --capgnn BINARY --dataset STORE... --model gcn sage [--peers NAME...] [--rounds 3] [--epochs 7]
                      [--ours "--order none" "--order auto"] [--both "--batch-size 1024 --fanout 15,10,5"] [--python torch=INTERPRETER dgl=INTERPRETER] [--check]

Each round runs capgnn, once with each set of further flags, and every peer once; the first two epochs of a run do not count. Epoch: median of the rounds' medians;
ratio: peer over capgnn, median of the rounds' ratios, with their range. Memory: the resident peak, and the peak of memory that no
file backs (the features of a store are mapped); of a peer only its epochs count, of capgnn the whole run. Where both report the
CPU-seconds of an epoch (sampled training), they stand behind the memory.
--check compares the losses of all instead: same weights, no dropout, every step of Adam counts.
"""
import argparse
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import threading
import time

HERE = os.path.dirname(os.path.abspath(__file__))

# name: (interpreter, script, arguments, MKL and malloc settings?)
PEERS = {
    "torch": ("torch", "torch_epoch.py", ["--panel", "32"], True),
    "torch-cache": ("torch", "torch_epoch.py", ["--panel", "32", "--cache-ax"], True),
    "torch-plain": ("torch", "torch_epoch.py", [], False),
    "pyg": ("torch", "pyg_epoch.py", ["--adj", "csr"], True),
    "pyg-plain": ("torch", "pyg_epoch.py", ["--adj", "csr"], False),
    "dgl": ("dgl", "dgl_epoch.py", ["--conv", "modules"], True),
    "dgl-plain": ("dgl", "dgl_epoch.py", ["--conv", "modules"], False),
    "dgl-products": ("dgl", "dgl_epoch.py", ["--conv", "products", "--panel", "32"], True),
    "dgl-sampled": ("dgl", "dgl_sampled.py", ["--loader", "graphbolt"], True),
    "dgl-dataloading": ("dgl", "dgl_sampled.py", ["--loader", "dataloading"], True),
    "pyg-sampled": ("torch", "pyg_sampled.py", ["--adj", "csr"], True),
    "dgl-products-cache": ("dgl", "dgl_epoch.py", ["--conv", "products", "--panel", "32", "--cache-ax"], True),
}

# The MKL inside PyTorch takes its AVX-512 kernels on Intel processors only, unless it is told that this is one.
MKL_TOLD = "int mkl_serv_intel_cpu_true(void) { return 1; } int mkl_serv_intel_cpu(void) { return 1; }"


def options():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--capgnn", default="capgnn", help="binary")
    p.add_argument("--dataset", nargs="+", required=True, help="stores")
    p.add_argument("--model", nargs="+", default=["gcn", "sage"])
    p.add_argument("--peers", nargs="+", default=["torch", "torch-cache", "pyg", "dgl", "dgl-products-cache"], choices=PEERS)
    p.add_argument("--ours", nargs="+", default=["--order none"], help="further flags of capgnn: one row for each set")
    p.add_argument("--both", default="", help="further flags of capgnn and of the peers: --batch-size, --fanout, --layers, --hidden, --dropout")
    p.add_argument("--rounds", type=int, default=3)
    p.add_argument("--epochs", type=int, default=7)
    p.add_argument("--warm-up", type=int, default=2)
    p.add_argument("--threads", type=int, default=2)
    p.add_argument("--python", nargs="+", default=[], metavar="KEY=INTERPRETER", help="of torch (also PyG) and dgl")
    p.add_argument("--max-gib", type=float, default=14, help="a run that takes more memory is stopped and left out")
    p.add_argument("--log", help="append each run's line of JSON to this file")
    p.add_argument("--check", action="store_true")
    return p.parse_args()


def environment(o, tuned, scratch):
    """Returns the environment of a run."""
    env = dict(os.environ, OMP_NUM_THREADS=str(o.threads), MKL_NUM_THREADS=str(o.threads))
    if tuned:
        env |= {"OMP_PROC_BIND": "true", "OMP_PLACES": "cores"}
        # Freed activations stay with the process: no page faults after the first epoch.
        env |= {"MALLOC_TRIM_THRESHOLD_": str(1 << 36), "MALLOC_MMAP_THRESHOLD_": str(1 << 32), "MALLOC_TOP_PAD_": str(64 << 20)}
        library = os.path.join(scratch, "mkl.so")
        if not os.path.exists(library):
            subprocess.run(["cc", "-shared", "-fPIC", "-x", "c", "-", "-o", library], input=MKL_TOLD, text=True, check=True)
        env["LD_PRELOAD"] = library
    return env


class Watch(threading.Thread):
    """Follows the memory of a process: anonymous (and shared) resident bytes, sampled; stops it beyond a limit."""

    def __init__(self, process, limit):
        super().__init__(daemon=True)
        self.process, self.limit, self.anonymous, self.stopped = process, limit, 0, False
        self.start()

    def run(self):
        while self.process.returncode is None:
            try:
                with open(f"/proc/{self.process.pid}/status") as f:
                    kb = {line.split(":")[0]: int(line.split()[1]) for line in f if line.startswith("Rss")}
            except (OSError, ValueError):
                return
            now = 1024 * (kb.get("RssAnon", 0) + kb.get("RssShmem", 0))
            self.anonymous = max(self.anonymous, now)
            if now > self.limit:
                self.stopped = True
                self.process.kill()
                return
            time.sleep(0.02)


def execute(command, env, limit):
    """Runs a command; returns its last line as JSON, its peak resident bytes and its peak anonymous bytes, or None."""
    with tempfile.TemporaryFile("w+") as out, tempfile.TemporaryFile("w+") as err:
        process = subprocess.Popen(command, env=env, stdout=out, stderr=err)
        watch = Watch(process, limit)
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        watch.join()
        if process.returncode != 0:
            err.seek(0)
            why = f"more than {limit / 2**30:.3g} GiB" if watch.stopped else err.read()[-400:]
            print(f"left out: {' '.join(command)}: {why}", file=sys.stderr)
            return None
        out.seek(0)
        return json.loads(out.read().strip().splitlines()[-1]), usage.ru_maxrss * 1024, watch.anonymous


def run_capgnn(o, store, model, scratch, extra=()):
    """Returns {median_s, losses, resident, anonymous} of one run."""
    folder = os.path.join(scratch, "run")
    shutil.rmtree(folder, ignore_errors=True)
    command = [o.capgnn, "train", "--dataset", store, "--model", model, "--devices", f"cpu:threads={o.threads}", "--epochs",
               str(o.epochs), "--eval-every", "0", "--json", "--quiet", "--run-dir", folder, *o.both.split(), *extra]
    done = execute(command, dict(os.environ), o.max_gib * 2**30)
    if done is None:
        sys.exit(1)
    with open(os.path.join(folder, "metrics.jsonl")) as f:
        lines = [json.loads(line) for line in f]
    seconds = [line["epoch_s"] for line in lines]
    return {"peer": "capgnn", "dataset": done[0]["dataset"], "model": model, "epoch_s": seconds,
            "median_s": statistics.median(seconds[o.warm_up:] or seconds), "median_cpu_s": middle_cpu(o, lines), "losses": [line["loss"] for line in lines],
            "resident": done[1], "anonymous": done[2]}


def middle_cpu(o, lines):
    """Returns the median CPU-seconds of capgnn's epochs, None if it does not report them."""
    used = [line["cpu_s"] for line in lines if "cpu_s" in line]
    return statistics.median(used[o.warm_up:] or used) if used else None


def run_peer(o, name, store, model, scratch, extra=()):
    """Returns the same of a peer, or None."""
    key, script, args, tuned = PEERS[name]
    interpreters = dict(pair.split("=", 1) for pair in o.python)
    command = [interpreters.get(key, sys.executable), os.path.join(HERE, script), "--dataset", store, "--model", model, "--epochs",
               str(o.epochs), "--warm-up", str(o.warm_up), "--threads", str(o.threads), *args, *o.both.split(), *extra]
    done = execute(command, environment(o, tuned, scratch), o.max_gib * 2**30)
    if done is None:
        return None
    peak = done[0]["peak_bytes"]
    return {**done[0], "peer": name, "resident": peak["epochs"], "anonymous": peak["epochs_anonymous"]}


def log(o, run):
    if o.log and run:
        with open(o.log, "a") as f:
            f.write(json.dumps(run) + "\n")


def table(o, store, model, scratch):
    """Prints the rows of one data set and model."""
    ours, theirs = {flags: [] for flags in o.ours}, {name: [] for name in o.peers}
    for _ in range(o.rounds):
        for flags in o.ours:
            ours[flags].append(run_capgnn(o, store, model, scratch, flags.split()))
            log(o, {**ours[flags][-1], "flags": flags})
        for name in list(theirs):
            run = run_peer(o, name, store, model, scratch)
            log(o, run)
            if run is None:
                del theirs[name]
            else:
                theirs[name].append(run)

    def middle(runs, key):
        return statistics.median(run[key] for run in runs)

    name = os.path.basename(os.path.normpath(store))
    for flags, peer in ((flags, peer) for flags in ours for peer in theirs):
        runs = theirs[peer]
        a, b = ({key: middle(x, key) for key in ("median_s", "resident", "anonymous")} for x in (ours[flags], runs))
        ratios = sorted(run["median_s"] / our["median_s"] for run, our in zip(runs, ours[flags]))
        cpu = ""
        if runs[0].get("median_cpu_s") and ours[flags][0].get("median_cpu_s"):
            used = sorted(run["median_cpu_s"] / our["median_cpu_s"] for run, our in zip(runs, ours[flags]))
            cpu = f" {middle(ours[flags], 'median_cpu_s'):.2f} / {middle(runs, 'median_cpu_s'):.2f} s ({statistics.median(used):.2f}×, {used[0]:.2f}–{used[-1]:.2f}) |"
        print(f"| {name} | {model} | {flags} | {peer} | {a['median_s'] * 1e3:,.0f} ms | {b['median_s'] * 1e3:,.0f} ms | "
              f"{statistics.median(ratios):.2f}× ({ratios[0]:.2f}–{ratios[-1]:.2f}) | "
              f"{a['resident'] / 2**20:,.0f} / {b['resident'] / 2**20:,.0f} MiB ({b['resident'] / a['resident']:.2f}×) | "
              f"{a['anonymous'] / 2**20:,.0f} / {b['anonymous'] / 2**20:,.0f} MiB ({b['anonymous'] / a['anonymous']:.2f}×) |{cpu or ' – |'}", flush=True)


def check(o, store, model, scratch):
    """Prints the largest relative difference of each peer's losses from capgnn's; returns whether all are small."""
    weights = os.path.join(scratch, "weights.safetensors")
    key, script, _, tuned = PEERS["torch"]
    interpreter = dict(pair.split("=", 1) for pair in o.python).get(key, sys.executable)
    subprocess.run([interpreter, os.path.join(HERE, script), "--dataset", store, "--model", model, "--save-init", weights], check=True)
    same = ["--init", weights, "--dropout", "0"]
    want, good = run_capgnn(o, store, model, scratch, same)["losses"], True
    print(f"{os.path.basename(os.path.normpath(store))} {model}: capgnn {' '.join(f'{x:.6f}' for x in want)}")
    for name in o.peers:
        run = run_peer(o, name, store, model, scratch, same)
        if run is None:
            good = False
            continue
        off = [abs(a - b) / abs(b) for a, b in zip(run["losses"], want)]
        fine = off[0] < 1e-5 and max(off) < 1e-3
        print(f"  {name:20} {' '.join(f'{x:.6f}' for x in run['losses'])}  first {off[0]:.1e}, largest {max(off):.1e}{'' if fine else '  DIFFERENT'}")
        good = good and fine
    return good


def main():
    o = options()
    with tempfile.TemporaryDirectory() as scratch:
        pairs = [(store, model) for store in o.dataset for model in o.model]
        if o.check:
            sys.exit(0 if all([check(o, store, model, scratch) for store, model in pairs]) else 1)
        print("| data set | model | flags | peer | capgnn | peer | ratio (range) | resident peak, capgnn / peer | not file-backed | CPU-seconds |")
        print("|---|---|---|---|---:|---:|---:|---:|---:|---:|")
        for store, model in pairs:
            table(o, store, model, scratch)


if __name__ == "__main__":
    main()
