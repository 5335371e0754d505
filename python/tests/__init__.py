"""Tests of the package. `python -m unittest discover -s python/tests -t python` runs them where NumPy is.

Those that train need the program ($CAPGNN, or capgnn on PATH), those of models also torch and torch_geometric; what is not there is named where
tests skip.
"""
import importlib.util
import unittest

import numpy as np

import capgnn


def has(module):
    return importlib.util.find_spec(module) is not None


def program():
    """Returns the path of the program, None without one."""
    try:
        return capgnn.find_program()
    except FileNotFoundError:
        return None


def reads_models():
    """Returns whether there is a program that reads models from files."""
    if program() is None:
        return False
    process = capgnn.program.Process(capgnn.command("model", {"help": True}))
    process.wait()
    return "capgnn model" in process.output


needs_program = unittest.skipUnless(program(), "no program: set CAPGNN to its path")
needs_pyg = unittest.skipUnless(has("torch") and has("torch_geometric"), "no torch and torch_geometric")


def graph(n=60, edges=240, features=12, classes=3, seed=0, symmetric=True, weights=False):
    """Returns a random graph as a dict: with loops and repeated edges, and with features in which the classes show."""
    r = np.random.default_rng(seed)
    e = r.integers(0, n, (2, edges))
    e = np.concatenate([e, e[:, :5], np.stack([np.arange(3)] * 2)], axis=1)
    if symmetric:
        e = np.concatenate([e, e[::-1]], axis=1)
    y = r.integers(0, classes, n)
    x = r.standard_normal((n, features)).astype(np.float32)
    x[np.arange(n), y] += 2
    part = r.permutation(n) % 3
    out = {"edge_index": e, "x": x, "y": y, "train_mask": part == 0, "val_mask": part == 1, "test_mask": part == 2}
    if weights:
        out["edge_weight"] = r.integers(1, 100, e.shape[1]).astype(np.float32) / 32
    return out
