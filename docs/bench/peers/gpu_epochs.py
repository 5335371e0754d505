"""Epoch times of capgnn and of PyTorch programs on one GPU, as a Markdown table.

    python gpu_epochs.py --capgnn BINARY --dataset STORE [--python INTERPRETER] [--device cuda:0] [--seconds 240] [--log FILE]

Needs no torch itself; without --python, the interpreter of one that has torch, there are no peers. One process each: 3 layers,
hidden 256, dropout 0.5, Adam; an epoch is forward, loss, backward and update, the first two do not count. Workers share the
GPU, each with a part of the graph. Memory is the largest amount of the GPU that tensors or buffers took; that by NVML is
the most that the card has given out meanwhile, less what it had before, what the driver takes included. Runs come in the
order of their weight and stop when the time is up: the exit code is then 124, as timeout's. What an earlier call has left in
--log is not run again.
"""
import argparse
import ctypes
import json
import os
import statistics
import subprocess
import sys
import tempfile
import threading
import time

HERE = os.path.dirname(os.path.abspath(__file__))
PEERS = {"torch_geometric csr": ["pyg_epoch.py", "--adj", "csr"], "torch csr": ["torch_epoch.py"],
         "torch_geometric edge_index": ["pyg_epoch.py", "--adj", "edge_index"]}
WARM_UP = 2
OUT_OF_TIME = "out of time"


def options():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--capgnn", required=True, help="binary with CUDA")
    p.add_argument("--dataset", required=True, help="store")
    p.add_argument("--model", nargs="+", default=["gcn", "sage"])
    p.add_argument("--workers", type=int, nargs="+", default=[1, 2, 4])
    p.add_argument("--hidden", type=int, default=256)
    p.add_argument("--epochs", type=int, default=20)
    p.add_argument("--python", help="interpreter of the peers")
    p.add_argument("--peers", nargs="*", default=list(PEERS), choices=PEERS)
    p.add_argument("--device", default="cuda:0")
    p.add_argument("--profile", help="profile file for capgnn")
    p.add_argument("--seconds", type=float, default=240, help="for all runs together")
    p.add_argument("--log", help="append each run's line of JSON to this file, and take those that are there as done")
    p.add_argument("--prepared", help="folder in which peers leave the graph for those that follow")
    return p.parse_args()


class Memory:
    """What the driver says, by NVML, that a GPU has given out, sampled while a block runs; most stays None without NVML."""

    def __init__(self, device):
        self.most, self.card, self.ended = None, ctypes.c_void_p(), threading.Event()
        try:
            self.nvml = ctypes.CDLL(os.environ.get("CAPGNN_NVML") or "libnvidia-ml.so.1")
            if self.nvml.nvmlInit_v2() != 0 or self.nvml.nvmlDeviceGetHandleByIndex_v2(int(device.rpartition(":")[2]), ctypes.byref(self.card)) != 0:
                self.nvml = None
        except (OSError, AttributeError, ValueError):
            self.nvml = None

    def used(self):
        info = (ctypes.c_ulonglong * 3)()  # total, free, used
        return info[2] if self.nvml.nvmlDeviceGetMemoryInfo(self.card, ctypes.byref(info)) == 0 else 0

    def __enter__(self):
        if self.nvml:
            self.before, self.most = self.used(), 0
            self.thread = threading.Thread(target=self.sample)
            self.thread.start()
        return self

    def sample(self):
        while not self.ended.wait(0.01):
            self.most = max(self.most, self.used() - self.before)

    def __exit__(self, *_):
        self.ended.set()
        if self.nvml:
            self.thread.join()


def plan(o):
    """Returns the runs as (model, program, workers, storage, order), what matters most first."""
    ours = [(m, "capgnn", 1, "fp32", "none") for m in o.model]
    ours += [(m, "capgnn", n, storage, "auto") for n in o.workers for storage in ("fp32", "bf16") for m in o.model]
    peers = [(m, name, 1, "fp32", "-") for name in o.peers for m in o.model if o.python]
    return ours + peers


def capgnn(o, model, workers, storage, order, left):
    with tempfile.TemporaryDirectory() as scratch:
        folder = os.path.join(scratch, "run")
        command = [o.capgnn, "train", "--dataset", o.dataset, "--model", model, "--hidden", str(o.hidden), "--devices", ",".join([o.device] * workers),
                   "--storage", storage, "--order", order, "--epochs", str(o.epochs), "--eval-every", "0", "--json", "--quiet", "--run-dir", folder]
        if o.profile and workers > 1:
            command += ["--profile", o.profile]
        result = last_line(command, left)
        with open(os.path.join(folder, "metrics.jsonl")) as f:
            lines = [json.loads(line) for line in f]
        return {"epoch_s": [line["epoch_s"] for line in lines], "losses": [line["loss"] for line in lines],
                "bytes": sum(result["peak_bytes"]["devices"])}


def peer(o, name, model, left):
    program, *how = PEERS[name]
    if o.prepared:
        how += ["--prepared", o.prepared]
    result = last_line([o.python, os.path.join(HERE, program), "--dataset", o.dataset, "--model", model, "--hidden", str(o.hidden), "--epochs",
                        str(o.epochs), "--warm-up", str(WARM_UP), "--threads", str(os.cpu_count()), "--device", o.device, *how], left)
    return {"epoch_s": result["epoch_s"], "losses": result["losses"], "bytes": result["device_peak_bytes"], "versions": result["versions"]}


def last_line(command, left):
    """Runs a command and returns its last line as JSON; RuntimeError says why there is none."""
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=left)
    except subprocess.TimeoutExpired:
        raise RuntimeError(OUT_OF_TIME) from None
    if done.returncode != 0:
        raise RuntimeError((done.stderr.strip().splitlines() or [f"exit {done.returncode}"])[-1][:300])
    return json.loads(done.stdout.strip().splitlines()[-1])


def run(o, job, end):
    """Returns what a job measured; "error" in it says why it measured nothing."""
    model, program, workers, storage, order = job
    begin = time.monotonic()
    out = {"model": model, "program": program, "workers": workers, "storage": storage, "order": order}
    try:
        left = end - begin
        if left < 5:
            raise RuntimeError(OUT_OF_TIME)
        with Memory(o.device) as memory:
            out |= capgnn(o, model, workers, storage, order, left) if program == "capgnn" else peer(o, program, model, left)
        out["nvml_bytes"] = memory.most
        counted = out["epoch_s"][WARM_UP:] or out["epoch_s"]
        out |= {"median_ms": 1e3 * statistics.median(counted), "least_ms": 1e3 * min(counted), "largest_ms": 1e3 * max(counted)}
    except (RuntimeError, OSError, ValueError, KeyError) as e:
        out["error"] = str(e) or type(e).__name__
    out["run_s"] = time.monotonic() - begin
    if o.log:
        with open(o.log, "a") as f:
            f.write(json.dumps(out) + "\n")
    return out


def done_before(o):
    """Returns the runs of the log that need not be repeated, by job: those that ended, well or by an error of their own."""
    runs = {}
    if o.log and os.path.exists(o.log):
        with open(o.log) as f:
            for line in f:
                try:
                    r = json.loads(line)
                except ValueError:
                    continue  # the call was cut off while it wrote
                if r.get("error") != OUT_OF_TIME:
                    runs[tuple(r[k] for k in ("model", "program", "workers", "storage", "order"))] = r
    return runs


def share(a, b):
    """Returns a / b as text, - where one of them is not known (torch says nothing of a CPU's memory)."""
    return f"{a / b:.3f}" if a and b else "-"


def table(o, runs):
    """Prints the runs; the last columns compare with the fastest and with the smallest run of a peer, of the same model."""
    peers = {m: [r for r in runs if r["model"] == m and r["program"] != "capgnn" and "error" not in r] for m in o.model}
    print(f"Data set {os.path.basename(os.path.normpath(o.dataset))}, 3 layers of {o.hidden}, {o.epochs} epochs, first {WARM_UP} not counted.\n")
    print("| model | program | workers | rows | order | epoch ms | from | to | GPU memory GiB | by NVML | last loss | fastest peer's time over this | memory over the smallest peer's |")
    print("|---|---|---:|---|---|---:|---:|---:|---:|---:|---:|---:|---:|")
    for r in runs:
        head = f"| {r['model']} | {r['program']} | {r['workers']} | {r['storage']} | {r['order']} |"
        if "error" in r:
            print(f"{head} not measured: {r['error'].replace('|', '/')} | | | | | | | |")
            continue
        ratios = "| | |"
        if r["program"] == "capgnn" and peers[r["model"]]:
            fastest = min(p["median_ms"] for p in peers[r["model"]])
            smallest = min((p["bytes"] for p in peers[r["model"]] if p["bytes"]), default=None)
            ratios = f"| {fastest / r['median_ms']:.2f} | {share(r['bytes'], smallest)} |"
        print(f"{head} {r['median_ms']:.2f} | {r['least_ms']:.2f} | {r['largest_ms']:.2f} | {share(r['bytes'], 2**30)} | {share(r.get('nvml_bytes'), 2**30)} | "
              f"{r['losses'][-1]:.4f} {ratios}")
    for r in runs:
        if "versions" in r:
            print("\nPeers: " + ", ".join(f"{k} {v}" for k, v in r["versions"].items()) + ".")
            break


def main():
    o = options()
    end = time.monotonic() + o.seconds
    before, runs = done_before(o), []
    for job in plan(o):
        if job in before:
            runs.append(before[job])
            continue
        runs.append(run(o, job, end))
        print(f"{' '.join(map(str, job))}: {runs[-1].get('error') or round(runs[-1]['median_ms'], 2)} ({runs[-1]['run_s']:.0f} s)", file=sys.stderr, flush=True)
    table(o, runs)
    errors = [r for r in runs if "error" in r]
    # A peer that fails is a result; a run of capgnn that was started and failed is an error.
    if any(r["program"] == "capgnn" and r["error"] != OUT_OF_TIME for r in errors):
        sys.exit(1)
    if any(r["error"] == OUT_OF_TIME for r in errors):
        sys.exit(124)


if __name__ == "__main__":
    main()
