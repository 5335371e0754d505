"""Sums over neighbours, gathered rows, copies and products of matrices in PyTorch, on the graph of a capgnn store.

    python torch_kernels.py STORE [--device cuda:0] [--repeat 20]

Prints what BenchmarkKernels of gpu/cuda prints for capgnn's kernels: a line NAME ns/op RATE each, of the same matrices. Copy is
Tensor.copy_, Gather torch.index_select into a tensor that is there, SpMM torch.sparse CSR (int32) times dense, which
allocates its result, Gemm torch.mm into one that is there; of bf16 products both operands are bf16. Rates are GB/s of bytes
read and written (of SpMM the gathered rows, the indices and the result), and GFLOP/s of products.
"""
import argparse
import os
import sys
import time
import warnings

import numpy as np
import torch

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "..", "python"))
from capgnn.store import read_store  # noqa: E402

warnings.filterwarnings("ignore", message=".*[Ss]parse.*")
WIDTHS = (256, 128, 64, 32, 41)
BATCH = 100_000  # rows of features that a batch reads


def seconds(o, run):
    """Returns the time of one of o.repeat runs, after one that does not count."""
    wait = torch.cuda.synchronize if o.device != "cpu" else lambda: None
    run()
    wait()
    begin = time.perf_counter()
    for _ in range(o.repeat):
        run()
    wait()
    return (time.perf_counter() - begin) / o.repeat


def report(o, name, work, run):
    """Prints the time of run and the rate of work in it."""
    try:
        t = seconds(o, run)
    except RuntimeError as e:  # a type that the library has no product for, or no memory
        print(f"# {name}: {str(e).splitlines()[0]}", flush=True)
        return
    print(f"{name} {t * 1e9:.0f} {work / t / 1e9:.4g}", flush=True)


def rows_of(o, s, ptr, col, rows, name, kind):
    """Times what goes through rows of one type."""
    n, entries = len(ptr) - 1, len(col)
    a = torch.sparse_csr_tensor(ptr, col, torch.ones(entries, dtype=kind, device=o.device), (n, n))
    for width in WIDTHS:
        x, y = torch.rand(n, width, device=o.device).to(kind), torch.empty(n, width, dtype=kind, device=o.device)
        row = width * x.element_size()
        report(o, f"Copy/{name}/{width}of{width}", 2 * n * row, lambda: y.copy_(x))
        report(o, f"Gather/{name}/{width}of{width}", 2 * n * row, lambda: torch.index_select(x, 0, rows, out=y))
        report(o, f"SpMM/{name}/{width}of{width}", entries * (row + 4) + n * row, lambda: a @ x)
    width = features(s)
    x, some = torch.rand(n, width, device=o.device).to(kind), rows[:BATCH]
    y = torch.empty(len(some), width, dtype=kind, device=o.device)
    report(o, f"GatherBatch/{name}/{width}of{width}", 2 * y.numel() * y.element_size(), lambda: torch.index_select(x, 0, some, out=y))


def features(s):
    """Returns the columns of the features, at least 1."""
    return max(1, int(s["x"].shape[1] if "x" in s else s["x_shape"][1] if "x_shape" in s else 1))


def products(o, s, n):
    """Times the products of three layers of 256 columns: forward (nt), the gradient of rows (nn) and of weights (tn)."""
    y = np.asarray(s["y"])
    classes = y.shape[1] if y.ndim == 2 else int(y.max()) + 1
    shapes = [(layout, k, m) for k, m in ((features(s), 256), (256, 256), (256, classes)) for layout in ("nt", "tn")] + [("nn", 256, 256)]
    for name, kind, tf32 in (("fp32", torch.float32, False), ("tf32", torch.float32, True), ("bf16", torch.bfloat16, False)):
        torch.backends.cuda.matmul.allow_tf32 = tf32
        for layout, k, m in shapes:
            x = torch.rand(n, k, device=o.device).to(kind)
            if layout == "tn":
                g, out = torch.rand(n, m, device=o.device).to(kind), torch.empty(m, k, dtype=kind, device=o.device)
                run = lambda: torch.mm(g.t(), x, out=out)  # noqa: E731, B023
            else:
                w = torch.rand(m, k, device=o.device).to(kind).t() if layout == "nt" else torch.rand(k, m, device=o.device).to(kind)
                out = torch.empty(n, m, dtype=kind, device=o.device)
                run = lambda: torch.mm(x, w, out=out)  # noqa: E731, B023
            report(o, f"Gemm/{name}/{layout}_{k}to{m}", 2 * n * k * m, run)


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("store")
    p.add_argument("--device", default="cuda:0")
    p.add_argument("--repeat", type=int, default=20)
    o = p.parse_args()
    s = read_store(o.store)
    ptr, col = np.array(s["indptr"], np.int32), np.array(s["indices"], np.int32)
    n, entries = len(ptr) - 1, len(col)
    rows = torch.from_numpy(col[np.arange(n) * (entries // n)]).to(o.device)
    ptr, col = torch.from_numpy(ptr).to(o.device), torch.from_numpy(col).to(o.device)
    print(f"# torch {torch.__version__}, CUDA {torch.version.cuda}", flush=True)
    for name, kind in (("fp32", torch.float32), ("bf16", torch.bfloat16)):
        rows_of(o, s, ptr, col, rows, name, kind)
    products(o, s, n)


if __name__ == "__main__":
    main()
