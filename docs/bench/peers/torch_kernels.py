"""Sums over neighbours, gathered rows and copies in PyTorch, on the graph of a capgnn store.

    python torch_kernels.py STORE [--device cuda:0] [--repeat 20]

Prints what BenchmarkKernels of gpu/cuda prints for capgnn's kernels: a line NAME ns/op GB/s each, of the same matrices. Copy is
Tensor.copy_, Gather torch.index_select into a tensor that is there, SpMM torch.sparse CSR (int32) times dense, which
allocates its result. GB/s: read and written bytes; of SpMM the gathered rows (entries x columns x size of an element).
"""
import argparse
import os
import sys
import time
import warnings

import numpy as np
import torch

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "python"))
from read_store import read_store  # noqa: E402

warnings.filterwarnings("ignore", message=".*[Ss]parse.*")
WIDTHS = (256, 128, 64, 32, 41)


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
        a = torch.sparse_csr_tensor(ptr, col, torch.ones(entries, dtype=kind, device=o.device), (n, n))
        for width in WIDTHS:
            x, y = torch.rand(n, width, device=o.device).to(kind), torch.empty(n, width, dtype=kind, device=o.device)
            dense = n * width * x.element_size()
            for op, size, run in (("Copy", 2 * dense, lambda: y.copy_(x)),
                                  ("Gather", 2 * dense, lambda: torch.index_select(x, 0, rows, out=y)),
                                  ("SpMM", entries * width * x.element_size(), lambda: a @ x)):
                try:
                    t = seconds(o, run)
                except RuntimeError as e:  # a type that the library has no product for, or no memory
                    print(f"# {op}/{name}/{width}of{width}: {str(e).splitlines()[0]}", flush=True)
                    continue
                print(f"{op}/{name}/{width}of{width} {t * 1e9:.0f} {size / t / 1e9:.4g}", flush=True)


if __name__ == "__main__":
    main()
