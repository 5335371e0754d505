"""Stores: what is written, what is refused, and that the program has nothing to change."""
import filecmp
import json
import os
import subprocess
import tempfile
import types
import unittest
from unittest import mock

import numpy as np

import capgnn
from tests import graph, has, needs_program, needs_pyg, program


class StoreTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name

    def path(self, name="store"):
        return os.path.join(self.folder, name)

    def test_arrays(self):
        data = types.SimpleNamespace(edge_index=[[2, 0, 1, 2, 2], [0, 1, 1, 0, 2]], x=np.eye(3), y=np.array([[1], [0], [-1]]),
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
        for n, edges in ((1, np.zeros((2, 0), int)), (4, np.array([[3], [3]]))):
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
            ({**g, "edge_index": e - 1}, {}, "edge_index: it has vertices from -1"), ({**g, "edge_index": e + 1}, {}, "x says 0 to 59"),
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

    def test_what_contradicts_itself_is_refused(self):
        e = np.array([[0, 1], [1, 2]])
        x, none = np.ones((3, 40)), np.zeros((2, 0), int)
        cases = [
            ({"edge_index": none, "num_nodes": 0}, "num_nodes: it says 0 vertices"), ({"num_nodes": -1}, "num_nodes: it says -1 vertices"), ({"edge_index": none}, "edge_index: it says 0 vertices"),
            ({"num_nodes": 2}, "from 0 to 2, num_nodes says 0 to 1"), ({"edge_index": e + 20, "x": x}, "from 20 to 22, x says 0 to 2: transpose x"),
        ]
        for more, want in cases:
            with self.assertRaises(ValueError, msg=want) as got:
                capgnn.to_store({"edge_index": e, **more}, self.path())
            self.assertIn(want, str(got.exception))
        self.assertEqual(os.listdir(self.folder), [], "nothing is left")

    @unittest.skipUnless(has("scipy"), "no SciPy")
    def test_edges_twice(self):
        from scipy.sparse import csr_matrix

        e, w = np.array([[0, 1], [1, 2]]), np.array([2.0, 3])
        adj, plain = csr_matrix((w, (e[1], e[0])), shape=(3, 3)), csr_matrix(([1, 1], (e[1], e[0])), shape=(3, 3))
        for i, more in enumerate(({"adj_t": adj, "edge_weight": w}, {"adj_t": plain}, {"adj_t": plain, "edge_weight": w})):
            s = capgnn.read_store(capgnn.to_store({"edge_index": e, "num_nodes": 3, **more}, self.path(str(i))))
            self.assertEqual(s["weights"].tolist() if "weights" in s else None, [2, 3] if "edge_weight" in more else None)
        for more in ({"adj_t": adj}, {"adj_t": adj, "edge_weight": w + 1}, {"adj_t": plain.T.tocsr()}, {"adj_t": plain, "num_nodes": 4}):
            with self.assertRaisesRegex(ValueError, "adj_t: it"):
                capgnn.to_store({"edge_index": e, "num_nodes": 3, **more}, self.path("no"))

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

    def test_any_name(self):
        cases = [("two words", "two_words"), ("a/b\\c", "a_b_c"), ("Größe", "Gr__e"), (".hidden", "hidden"), ("-.-x-", "x-"), ("x" * 300, "x" * 100), ("", "store"), ("...", ""),
                 ("日本", "__"), ("a\ud800\n\0", "a___"), ("Cora_2.0-b", "Cora_2.0-b"), (7, "7")]
        for i, (name, want) in enumerate(cases):
            path = capgnn.to_store(graph(), self.path(f"{i}/store"), name=name)
            with open(os.path.join(path, "meta.json"), encoding="utf-8") as f:
                self.assertEqual(json.load(f)["name"], want)
            self.readable(path)
        for folder in ("my graph", "Ä" * 100, ".dot", "x" * 250):
            self.readable(capgnn.to_store(graph(), self.path(folder)))

    def readable(self, path):
        if program():
            subprocess.run(capgnn.command("data", {}) + ["info", path, "--quiet"], check=True, stdout=subprocess.DEVNULL)

    def test_overwrite(self):
        path = capgnn.to_store(graph(), self.path(), class_names=["a", "b", "c"])
        before = capgnn.read_store(path)  # mapped
        with self.assertRaisesRegex(FileExistsError, "or give overwrite=True"):
            capgnn.to_store(graph(n=20), path)
        self.assertEqual(capgnn.to_store({**graph(n=20), "x": before["x"][:20]}, path, overwrite=True), path)
        after = capgnn.read_store(path)
        np.testing.assert_array_equal(after["x"], before["x"][:20])
        self.assertEqual((len(before["y"]), len(after["y"])), (60, 20))
        self.assertNotIn("classes.csv", os.listdir(path))
        self.assertEqual(os.listdir(self.folder), ["store"], "nothing is left")
        with self.assertRaises(ValueError):
            capgnn.to_store({"x": np.eye(3)}, path, overwrite=True)
        self.assertEqual(len(capgnn.read_store(path)["y"]), 20, "a graph that is refused replaces nothing")
        os.makedirs(self.path("empty"))
        for new in ("empty", "new"):
            self.assertEqual(capgnn.to_store(graph(), self.path(new), overwrite=True), self.path(new))

    def test_overwrites_nothing_but_stores(self):
        def put(name):
            os.makedirs(os.path.dirname(self.path(name)), exist_ok=True)
            with open(self.path(name), "w") as f:
                f.write("mine")

        put("file")
        put("folder/notes.txt")
        put("run/config.yaml")
        put("half/indptr.npy")
        capgnn.to_store(graph(), self.path("notes"))
        put("notes/notes.txt")
        capgnn.to_store(graph(), self.path("deep"))
        put("deep/run/config.yaml")
        capgnn.to_store(graph(), self.path("odd"))
        os.makedirs(self.path("odd/ids.csv"))
        for name, want in (("file", "nor a store"), ("folder", "nor a store"), ("run", "nor a store"), ("half", "nor a store"), ("notes", "holds notes.txt, which is no part of a store"),
                           ("deep", "holds run, which"), ("odd", "holds ids.csv, which")):
            before = sorted(os.walk(self.path(name)))
            with self.assertRaisesRegex(FileExistsError, want):
                capgnn.to_store(graph(), self.path(name), overwrite=True)
            self.assertEqual(sorted(os.walk(self.path(name))), before, name)

    def test_a_store_that_cannot_be_replaced_stays(self):
        path = capgnn.to_store(graph(), self.path())
        real, calls = os.rename, []

        def rename(a, b):
            calls.append(a)
            if len(calls) == 2:
                raise OSError("no space")
            real(a, b)

        with mock.patch("os.rename", rename), self.assertRaisesRegex(OSError, "no space"):
            capgnn.to_store(graph(n=20), path, overwrite=True)
        self.assertEqual(len(capgnn.read_store(path)["y"]), 60)
        self.assertEqual(os.listdir(self.folder), ["store"], "nothing is left")

    def test_links(self):
        os.makedirs(self.path("elsewhere"))
        os.symlink("elsewhere", self.path("link"))
        for n in (60, 20):
            self.assertEqual(capgnn.to_store(graph(n=n), self.path("link"), overwrite=True), self.path("link"))
            self.assertEqual(len(capgnn.read_store(self.path("elsewhere"))["y"]), n)
        self.assertTrue(os.path.islink(self.path("link")))

    def test_names_of_vertices_and_columns(self):
        ids = ["a", "b,c", 'say "hi"', "", "two\nlines", " edge ", "Ä", "7"]
        columns = ["age", "in,come", "größe"]
        data = {"edge_index": np.array([[0, 6], [1, 7]]), "x": np.ones((8, 3)), "y": [0, 1] * 4}
        for name, given in (("list", ids), ("array", np.array(ids)), ("objects", np.array(ids, dtype=object)), ("tuple", tuple(ids))):
            path = capgnn.to_store({**data, "ids": given}, self.path(name), columns=columns)
            with open(os.path.join(path, "ids.csv"), encoding="utf-8", newline="") as f:
                self.assertEqual(f.read(), 'id\na\n"b,c"\n"say ""hi"""\n""\n"two\nlines"\n edge \nÄ\n7\n')
            with open(os.path.join(path, "columns.csv"), encoding="utf-8", newline="") as f:
                self.assertEqual(f.read(), 'column\nage\n"in,come"\ngröße\n')
            s = capgnn.read_store(path)
            self.assertEqual((s["ids"].tolist(), s["columns"].tolist()), (ids, columns), name)
            self.assertNotIn("ids.npy", os.listdir(path))
            self.readable(path)
        numbers = capgnn.read_store(capgnn.to_store({**data, "ids": list(range(8, 0, -1))}, self.path("numbers")))
        self.assertEqual((numbers["ids"].tolist(), numbers["ids"].dtype, "columns" in numbers), (list(range(8, 0, -1)), np.int64, False))
        for name, of in (("scalars", np.int64), ("unsigned", np.uint64)):
            self.assertEqual(capgnn.read_store(capgnn.to_store({**data, "ids": [of(v) for v in range(8)]}, self.path(name)))["ids"].tolist(), list(range(8)))
        with open(os.path.join(path, "columns.csv"), "a", encoding="utf-8") as f:
            f.write("one more\n")
        with self.assertWarnsRegex(UserWarning, "has 4 names, want 3: they are not read"):
            self.assertNotIn("columns", capgnn.read_store(path))

    @unittest.skipUnless(has("pandas"), "no pandas")
    def test_a_frame(self):
        import pandas as pd

        frame = pd.DataFrame({"age": [1.0, 2], "height": [3, 4]}, index=["u", "v"])
        e = np.array([[0], [1]])
        s = capgnn.read_store(capgnn.to_store({"edge_index": e, "x": frame, "ids": frame.index, "y": pd.Series([0, 1])}, self.path("a")))
        self.assertEqual((s["columns"].tolist(), s["ids"].tolist(), s["x"].tolist()), (["age", "height"], ["u", "v"], [[1, 3], [2, 4]]))
        for i, (head, want) in enumerate(((pd.MultiIndex.from_tuples([("a", "b"), ("a", "c")]), ["a_b", "a_c"]), ([2019, 2020], ["2019", "2020"]))):
            s = capgnn.read_store(capgnn.to_store({"edge_index": e, "x": pd.DataFrame(np.eye(2), columns=head)}, self.path(f"head{i}")))
            self.assertEqual(s["columns"].tolist(), want)
        with self.assertRaisesRegex(ValueError, "x: column 'born': datetime64.* give numbers, such as days"):
            capgnn.to_store({"edge_index": e, "x": frame.assign(born=pd.to_datetime("2020-01-01"))}, self.path("dates"))
        numbered = pd.DataFrame(np.eye(2))
        self.assertNotIn("columns", capgnn.read_store(capgnn.to_store({"edge_index": e, "x": numbered}, self.path("b"))))

    def test_refused_names(self):
        g = graph(features=3)
        cases = [
            ({"ids": ["a"] * 59}, {}, "ids: (59,), want one for each of 60"), ({"ids": ["a", 1] * 30}, {}, "ids: 1 of vertex 1: want all integers or all texts"),
            ({"ids": [1, "a"] * 30}, {}, "ids: 'a' of vertex 1"), ({"ids": ["a", None] * 30}, {}, "ids: None of vertex 1"), ({"ids": ["a", float("nan")] * 30}, {}, "ids: nan of vertex 1"),
            ({"ids": np.arange(60) + 0.5}, {}, "ids: float64, want integers"), ({"ids": np.arange(60, dtype=np.uint64) + np.uint64(1 << 63)}, {}, "ids: uint64"), ({"ids": [1 << 70] * 60}, {}, "want integers"),
            ({"ids": np.arange(60).astype("M8[D]")}, {}, "give integers or texts, such as with astype"), ({"x": np.ones((60, 1), "M8[D]")}, {}, "give numbers, such as days"),
            ({"x": np.ones((60, 1), "m8[D]")}, {}, "x / numpy.timedelta64"), ({"num_nodes": 60.5}, {}, "num_nodes: 60.5 is no whole number"),
            ({"ids": ["\ud800"] * 60}, {}, "ids: '\\ud800', number 0, is no text"), ({"ids": [True] * 60}, {}, "ids: True of vertex 0"),
            ({}, {"columns": ["a"]}, "columns: 1 names for 3 columns of x"), ({"x": None}, {"columns": ["a"]}, "columns: 1 names for 0 columns"),
            ({"y": None}, {"class_names": ["a"]}, "class_names: 1 names for 0 classes"), ({"y": np.ones((60, 2))}, {"class_names": ["a", "b", "c"]}, "class_names: 3 names for 2 classes"),
        ]
        for more, options, want in cases:
            with self.assertRaises(ValueError, msg=want) as got:
                capgnn.to_store({**g, **more}, self.path(), **options)
            self.assertIn(want, str(got.exception))
        self.assertEqual(os.listdir(self.folder), [])
        for name, more, options, want in (("ids", {"ids": [5] * 60}, {}, "ids: repeats of others: 59"), ("texts", {"ids": ["a"] * 2 + [str(i) for i in range(58)]}, {}, "ids: repeats of others: 1: 'a'"),
                                          ("columns", {}, {"columns": ["a", "b", "a"]}, "columns: repeats of others: 1: 'a'")):
            with self.assertWarnsRegex(UserWarning, want):
                capgnn.to_store({**g, **more}, self.path(name), **options)

    def test_classes_without_vertices(self):
        with self.assertWarnsRegex(UserWarning, "class_names: classes without a vertex: 1 of 4: none of it"):
            path = capgnn.to_store(graph(), self.path(), class_names=["a", "b", "c", "none of it"])
        with open(os.path.join(path, "meta.json"), encoding="utf-8") as f:
            self.assertEqual(json.load(f)["classes"], 4)
        self.readable(path)

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
        for name, data in (("dense", graph()), ("directed", graph(symmetric=False)), ("weighted", graph(weights=True)), ("named", {**graph(), "ids": [f"v {i}" for i in range(60)]}), ("multi", multi), ("words", words)):
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
