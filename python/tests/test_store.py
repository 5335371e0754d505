"""Stores: what is written, what is refused, and that the program has nothing to change."""
import filecmp
import os
import subprocess
import tempfile
import types
import unittest

import numpy as np

import capgnn
from tests import graph, has, needs_program, needs_pyg


class StoreTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name

    def path(self, name="store"):
        return os.path.join(self.folder, name)

    def test_arrays(self):
        data = types.SimpleNamespace(edge_index=[[2, 0, 1, 2, 2], [0, 1, 1, 0, 2]], x=np.eye(3), y=np.array([[1], [0], [-7]]),
                                     val_mask=np.array([1, 0, 0]), ids=np.array([5, 6, 7]))
        path = capgnn.to_store(data, self.path(), sparse=False, class_names=["a", "b,c"])
        s = capgnn.read_store(path)
        want = {"indptr": [0, 1, 3, 4], "indices": [2, 0, 1, 2], "x": np.eye(3), "y": [1, 0, -1], "val_mask": [True, False, False], "ids": [5, 6, 7]}
        self.assertEqual(set(s), set(want))
        for key, array in want.items():
            np.testing.assert_array_equal(s[key], array, key)
        kinds = {k: a.dtype.str for k, a in s.items()}
        self.assertEqual(kinds, {"indptr": "<i8", "indices": "<i4", "x": "<f4", "y": "<i8", "val_mask": "|b1", "ids": "<i8"})
        with open(os.path.join(path, "classes.csv"), encoding="utf-8") as f:
            self.assertEqual(f.read(), 'class\na\n"b,c"\n')

    def test_small_graphs(self):
        for n, edges in ((0, np.zeros((2, 0), int)), (1, np.zeros((2, 0), int)), (4, np.array([[3], [3]]))):
            s = capgnn.read_store(capgnn.to_store({"edge_index": edges, "num_nodes": n}, self.path(str(n))))
            self.assertEqual(len(s["indptr"]), n + 1)
            self.assertEqual(len(s["indices"]), edges.shape[1])
        s = capgnn.read_store(capgnn.to_store({"edge_index": np.array([[3], [1]])}, self.path("edges")))
        self.assertEqual(len(s["indptr"]), 5)

    def test_adjacency_of_random_graphs(self):
        for seed in range(20):
            g = graph(n=1 + seed * 3, edges=seed * 11, seed=seed, features=max(3, seed), symmetric=seed % 2 == 0) if seed else graph(n=3, edges=0)
            s = capgnn.read_store(capgnn.to_store(g, self.path(str(seed))))
            want = sorted({(t, u) for u, t in g["edge_index"].T.tolist()})
            got = [(v, int(u)) for v in range(len(g["y"])) for u in s["indices"][s["indptr"][v]:s["indptr"][v + 1]]]
            self.assertEqual(got, want)

    def test_sparse_features(self):
        x = np.zeros((10, 50), np.float32)
        x[np.arange(10), np.arange(10) * 3] = np.arange(1, 11)
        few = {"edge_index": np.array([[0], [1]]), "x": x}
        for name, data, sparse, want in (("few", few, None, True), ("told", few, False, False), ("many", {**few, "x": x + 1}, None, False),
                                         ("all", {**few, "x": x + 1}, True, True)):
            s = capgnn.read_store(capgnn.to_store(data, self.path(name), sparse=sparse))
            self.assertEqual("x_data" in s, want, name)
            np.testing.assert_array_equal(capgnn.dense_features(s), data["x"], name)

    @unittest.skipUnless(has("scipy"), "no scipy")
    def test_scipy_features(self):
        import scipy.sparse as sp

        x = sp.coo_matrix(([1, 2, 3], ([0, 0, 2], [1, 1, 0])), shape=(3, 4))
        for name, sparse in (("sparse", None), ("dense", False)):
            s = capgnn.read_store(capgnn.to_store({"edge_index": np.array([[0], [1]]), "x": x}, self.path(name), sparse=sparse))
            self.assertEqual("x_data" in s, sparse is None)
            np.testing.assert_array_equal(capgnn.dense_features(s), x.toarray())

    def test_labels(self):
        e = np.array([[0], [1]])
        for y, want in (([0, 2], [0, 2]), ([1.0, float("nan")], [1, -1]), ([[1.0, 0.0], [0.0, 0.0]], [[1, 0], [0, 0]]), ([True, False], [1, 0])):
            s = capgnn.read_store(capgnn.to_store({"edge_index": e, "y": np.array(y)}, self.path(str(y))))
            np.testing.assert_array_equal(s["y"], want)

    def test_refused(self):
        g = graph()
        e, x = g["edge_index"], g["x"]
        nan = x.copy()
        nan[3, 2] = np.nan
        masks = np.zeros((60, 2), bool)
        cases = [
            ({**g, "edge_weight": np.ones(3)}, {}, "edge_weight: (3,)"), ({**g, "edge_weight": np.full(e.shape[1], np.inf)}, {}, "edge_weight: it has values"),
            ({"x": x}, {}, "edge_index: there is none"),
            ({**g, "edge_index": e.T}, {}, "edge_index: int64"), ({**g, "edge_index": e.astype(float)}, {}, "edge_index: float64"),
            ({**g, "edge_index": e - 1}, {}, "edge_index: it has vertices from -1"), ({**g, "edge_index": e + 1}, {}, "the graph has 0 to 59"),
            ({**g, "x": x[:-1]}, {}, "edge_index: it has vertices"), ({**g, "x": x[:, 0]}, {}, "x: (60,)"), ({**g, "x": nan}, {}, "x: it has values"),
            ({**g, "x": x.astype(str)}, {}, "x: <U"), ({**g, "y": g["y"][:-1]}, {}, "y: (59,)"), ({**g, "y": g["y"] + 0.5}, {}, "y: classes are whole"),
            ({**g, "y": np.full((60, 2), 2)}, {}, "y: (60, 2)"), ({**g, "train_mask": masks}, {}, "say which with split="),
            ({**g, "train_mask": masks}, {"split": 2}, "it has columns 0 to 1"), ({**g, "test_mask": g["test_mask"][1:]}, {}, "test_mask: bool (59,)"),
            ({**g, "val_mask": np.arange(60)}, {}, "val_mask: int64"), ({**g, "ids": np.arange(3)}, {}, "ids: (3,)"), (g, {"class_names": ["a"]}, "1 names for 3"),
        ]
        for data, options, want in cases:
            with self.assertRaises(ValueError, msg=want) as got:
                capgnn.to_store(data, self.path(), **options)
            self.assertIn(want, str(got.exception))
        self.assertEqual(os.listdir(self.folder), [], "nothing is left")
        with self.assertWarnsRegex(UserWarning, "edge_attr"):
            capgnn.to_store({**g, "edge_attr": np.ones((e.shape[1], 2))}, self.path())
        with self.assertRaisesRegex(FileExistsError, "not an empty folder"):
            capgnn.to_store(g, self.path())
        with self.assertRaisesRegex(ValueError, "no store"):
            capgnn.read_store(self.folder)

    def test_weights(self):
        edges = np.array([[2, 0, 2, 1], [0, 1, 0, 1]])
        for name, more, want in (("w", {"edge_weight": np.array([0.5, 2, 0.25, -1])}, [0.75, 2, -1]), ("col", {"edge_weight": np.array([[0.5], [2], [0.25], [-1]])}, [0.75, 2, -1]),
                                 ("ones", {"edge_weight": np.array([0.5, 1, 0.5, 1])}, None)):
            s = capgnn.read_store(capgnn.to_store({"edge_index": edges, **more}, self.path(name)))
            if want is None:
                self.assertNotIn("weights", s)
            else:
                np.testing.assert_array_equal(s["weights"], np.array(want, np.float32))
        with self.assertWarnsRegex(UserWarning, "edge_attr has one column"):
            s = capgnn.read_store(capgnn.to_store({"edge_index": edges, "edge_attr": np.arange(4)}, self.path("attr")))
        np.testing.assert_array_equal(s["weights"], np.array([2, 1, 3], np.float32))

    def test_columns_of_masks(self):
        masks = np.zeros((60, 3), bool)
        masks[4, 1] = True
        s = capgnn.read_store(capgnn.to_store({**graph(), "train_mask": masks}, self.path(), split=1))
        self.assertEqual(np.flatnonzero(s["train_mask"]).tolist(), [4])

    def test_npz(self):
        s = capgnn.read_store(capgnn.to_store(graph(), self.path()))
        np.savez(self.path("all.npz"), **s)
        again = capgnn.read_store(self.path("all.npz"))
        self.assertEqual(set(again), set(s))

    @needs_program
    def test_the_program_has_nothing_to_change(self):
        multi = graph()
        multi["y"] = np.eye(3, dtype=np.float32)[multi["y"]]
        words = graph(features=80)
        words["x"] = (words["x"] > 2.2).astype(np.float32)
        for name, data in (("dense", graph()), ("directed", graph(symmetric=False)), ("weighted", graph(weights=True)), ("multi", multi), ("words", words)):
            ours = capgnn.to_store(data, self.path(name), name=name + "-again", class_names=["a", "b", "c"])
            theirs = self.path(name + "-again")
            subprocess.run(capgnn.command("data", {}) + ["import", ours, "--out", theirs, "--quiet"], check=True, stdout=subprocess.DEVNULL)
            self.assertEqual(sorted(os.listdir(ours)), sorted(os.listdir(theirs)), name)
            for file in os.listdir(ours):
                self.assertTrue(filecmp.cmp(os.path.join(ours, file), os.path.join(theirs, file), shallow=False), f"{name}: {file} differs")

    @needs_pyg
    def test_data_there_and_back(self):
        import torch
        from torch_geometric.data import Data

        g = graph(symmetric=False)
        data = Data(**{k: torch.from_numpy(v) for k, v in g.items()})
        back = capgnn.to_data(capgnn.to_store(data, self.path()))
        back.validate()
        want = data.coalesce()
        for key in ("edge_index", "x", "y", "train_mask", "val_mask", "test_mask"):
            self.assertTrue(torch.equal(want[key][:, want[key][1].argsort(stable=True)] if key == "edge_index" else want[key],
                                        back[key][:, back[key][1].argsort(stable=True)] if key == "edge_index" else back[key]), key)
        for layout in (torch.sparse_coo, torch.sparse_csr):
            data.x = torch.eye(60).to_sparse(layout=layout)
            s = capgnn.read_store(capgnn.to_store(data, self.path(str(layout))))
            np.testing.assert_array_equal(capgnn.dense_features(s), np.eye(60))
