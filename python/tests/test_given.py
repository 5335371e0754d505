"""What is read from graphs: of torch_geometric, of DGL, of stand-ins with their attributes; and what is said of what is lost."""
import os
import tempfile
import types
import unittest
import warnings

import numpy as np

import capgnn
from tests import graph, has, needs_program, needs_pyg
from tests.test_runs import Folder

EDGES = np.array([[0, 1, 2], [1, 2, 0]])


class Given(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder, self.made = folder.name, 0

    def store(self, data, **options):
        """Returns the store of data, as it is read, and the warnings."""
        self.made += 1
        with warnings.catch_warnings(record=True) as said:
            warnings.simplefilter("always")
            s = capgnn.read_store(capgnn.to_store(data, os.path.join(self.folder, str(self.made)), **options))
        ours = [w for w in said if w.category is UserWarning]
        self.assertEqual({w.filename for w in ours} - {__file__}, set(), "warnings name the line of the caller")
        return s, [str(w.message) for w in ours]

    def same(self, got, want, name):
        self.assertEqual(set(got), set(want), name)
        for key in want:
            np.testing.assert_array_equal(got[key], want[key], f"{name}: {key}")

    def refused(self, data, *wants, **options):
        with self.assertRaises(ValueError) as got:
            self.store(data, **options)
        for want in wants:
            self.assertIn(want, str(got.exception))
        self.assertNotIn("\n", str(got.exception))
        self.assertEqual(len(os.listdir(self.folder)), self.made - 1, "nothing is left")
        self.made -= 1


class Types(Given):
    """One type of vertices and edges is one graph; others are refused."""

    def test_one_type(self):
        g = graph()
        want, _ = self.store(g)
        vertices = {k: v for k, v in g.items() if k != "edge_index"}
        edges = {"edge_index": g["edge_index"]}
        got, said = self.store(Hetero({"paper": {**vertices, "year": np.ones(60)}}, {("paper", "cites", "paper"): edges}))
        self.same(got, want, "one type")
        self.assertEqual(said, ["not written: year: a store has no arrays of these names"])

    def test_several_types(self):
        bare = {"edge_index": EDGES}
        cases = [
            ("two types", {"paper": {}, "author": {}}, {("paper", "cites", "paper"): bare, ("author", "writes", "paper"): bare},
             ["paper, author; of edges: paper-cites-paper, author-writes-paper", "{**data['paper'], **data['paper', 'cites', 'paper']}"]),
            ("two relations", {"a": {}}, {("a", "b", "a"): bare, ("a", "c", "a"): bare}, ["types of vertices: a; of edges: a-b-a, a-c-a"]),
            ("two sides", {"user": {}, "item": {}}, {("user", "buys", "item"): bare}, ["make one of each with data.to_homogeneous()"]),
            ("a side without a storage", {"user": {}}, {("user", "buys", "item"): bare}, ["user-buys-item"]),
            ("no edges", {"user": {}}, {}, ["of edges: none"]),
        ]
        for name, vertices, edges, wants in cases:
            with self.subTest(name):
                self.refused(Hetero(vertices, edges), *wants)

    @needs_pyg
    def test_of_torch_geometric(self):
        import torch
        from torch_geometric.data import HeteroData

        g = {k: torch.from_numpy(v) for k, v in graph().items()}
        data = HeteroData()
        data["paper"].update({k: v for k, v in g.items() if k != "edge_index"})
        data["paper", "cites", "paper"].edge_index = g["edge_index"]
        self.same(self.store(data)[0], self.store(graph())[0], "HeteroData")
        data["author"].num_nodes = 3
        self.refused(data, "HeteroData: types of vertices: paper, author")
        taken = {**data["paper"], **data["paper", "cites", "paper"]}
        self.same(self.store(taken)[0], self.store(graph())[0], "as the error says")

    @needs_pyg
    def test_data_sets(self):
        from torch_geometric.data import Batch
        from torch_geometric.datasets import FakeDataset

        one, three = FakeDataset(1, avg_num_nodes=20, task="node"), FakeDataset(3, avg_num_nodes=20, task="node")
        self.same(self.store(one)[0], self.store(one[0])[0], "a data set of one graph")
        self.refused(three, "FakeDataset: it has 3 graphs")
        got, said = self.store(Batch.from_data_list(list(three)))
        self.assertEqual(len(got["y"]), sum(len(d.y) for d in three))
        self.assertEqual(said, ["not written: batch, ptr: a store has no arrays of these names"])

    def test_a_data_set_of_graphs(self):
        class Dataset(list):  # whose edge_index numbers the vertices of each graph from 0
            edge_index = EDGES
            indices, len = list.__len__, list.__len__

        self.refused(Dataset([graph(), graph()]), "Dataset: it has 2 graphs: give one, such as dataset[0]")
        self.same(self.store(Dataset([graph()]))[0], self.store(graph())[0], "one")

    def test_no_graph(self):
        for data, want in ((None, "edge_index: there is none"), ("cora", "an object of type str has none"), ([graph()], "such as dataset[0]"), ({}, "edge_index: there is none")):
            self.refused(data, want)


class Networkx(Given):
    """All vertices, both directions of undirected edges, names and weights are kept."""

    def both(self, nodes, edges, directed=False, multi=False):
        """Returns the store and the warnings of a graph, which networkx, if it is there, has to give too."""
        got, said = self.store(Nx(nodes, edges, directed, multi))
        if has("networkx"):
            import networkx

            g = getattr(networkx, ("Multi" if multi else "") + ("DiGraph" if directed else "Graph"))()
            g.add_nodes_from(nodes)
            g.add_edges_from(edges)
            again, said_again = self.store(g)
            self.same(again, got, "networkx")
            self.assertEqual(said_again, said)
        return got, said

    def rows(self, got):
        return [got["indices"][a:b].tolist() for a, b in zip(got["indptr"], got["indptr"][1:])]

    def test_isolated(self):
        got, said = self.both([0, 1, 2, 3], [(1, 2, {}), (2, 2, {})])
        self.assertEqual((self.rows(got), said), ([[], [2], [1, 2], []], []))
        self.assertEqual(set(got), {"indptr", "indices"})
        got, _ = self.both(["0", "1"], [])
        self.assertEqual(self.rows(got), [[], []])

    def test_directed(self):
        got, _ = self.both([0, 1, 2], [(0, 1, {}), (2, 1, {})], directed=True)
        self.assertEqual(self.rows(got), [[], [0, 2], []])

    def test_names(self):
        got, _ = self.both(["b", "a", "lone"], [("b", "a", {})], directed=True)
        self.assertEqual((self.rows(got), list(got["ids"])), ([[], [0], []], ["b", "a", "lone"]))
        got, _ = self.both([7, 20], [(7, 20, {})])
        self.assertEqual(got["ids"].tolist(), [7, 20])
        got, _ = self.both(["2", "0", "1"], [("2", "0", {})], directed=True)
        self.assertEqual((self.rows(got), "ids" in got), ([[2], [], []], False))
        got, _ = self.both([7, "a"], [(7, "a", {})])
        self.assertEqual(list(got["ids"]), ["7", "a"])

    def test_weights(self):
        got, said = self.both([0, 1, 2], [(0, 1, {"weight": 0.5}), (1, 2, {"weight": '"2"'}), (2, 2, {"weight": 3})])
        self.assertEqual((got["weights"].tolist(), said), ([0.5, 0.5, 2, 2, 3], []))
        got, said = self.both([0, 1, 2], [(0, 1, {"weight": 0.5}), (1, 2, {})], directed=True)
        self.assertEqual((got["weights"].tolist(), said), ([0.5, 1], ["some edges have no weight: they weigh 1, as in networkx"]))

    def test_parallel(self):
        for directed in (False, True):
            got, said = self.both([0, 1], [(0, 1, {}), (0, 1, {}), (1, 0, {"color": 3})], directed, multi=True)
            self.assertEqual(got["weights"].tolist(), [1, 2] if directed else [3, 3])
            self.assertEqual(said, [f"parallel edges are written once, with the sum of their weights: {1 if directed else 2}",
                                    "not written: edges['color']: a store has no arrays of these names"])


class Nx:
    """What a graph of networkx has."""

    def __init__(self, nodes, edges, directed, multi):
        self.all, self.links, self.is_directed, self.is_multigraph = nodes, edges, lambda: directed, lambda: multi

    def __iter__(self):
        return iter(self.all)

    def nodes(self, data):
        return [(v, {}) for v in self.all]

    def edges(self, data):
        return self.links


class Hetero(types.SimpleNamespace):
    """What a HeteroData has."""

    def __init__(self, vertices, edges):
        super().__init__(node_types=list(vertices), edge_types=list(edges))
        self._all = {k: Storage(v) for k, v in {**vertices, **edges}.items()}

    def __getitem__(self, key):
        return self._all[key]


class Storage(dict):
    num_nodes = None


class DGL:
    """What a DGL graph has, as its documentation says."""

    def __init__(self, source, target, n, ntypes=("_N",), etypes=("_E",)):
        self.ndata, self.edata, self.ntypes, self.etypes = {}, {}, list(ntypes), list(etypes)
        self.canonical_etypes = [(ntypes[0], e, ntypes[-1]) for e in etypes]
        self._edges, self._n = (source, target), n

    def edges(self, form="uv", order=None, etype=None):
        return self._edges

    def num_nodes(self, ntype=None):
        return self._n


class DGLTest(Given):
    def test_names(self):
        g = graph(weights=True)
        want, _ = self.store(g)
        for names in (("feat", "label", "weight"), ("features", "labels", "w"), ("x", "y", "edge_weight"), ("attr", "label", "w")):
            d = DGL(*g["edge_index"], 60)
            d.ndata.update({names[0]: g["x"], names[1]: g["y"][:, None], "_ID": np.arange(60)})
            d.ndata.update({k: g[k].astype(np.uint8) for k in ("train_mask", "val_mask", "test_mask")})
            d.edata.update({names[2]: g["edge_weight"][:, None], "_ID": np.arange(len(g["edge_weight"]))})
            got, said = self.store(d)
            self.same(got, want, names)
            self.assertEqual(said, [])

    def test_vertices_without_edges(self):
        got, _ = self.store(DGL(np.array([0]), np.array([1]), 5))
        self.assertEqual(len(got["indptr"]), 6)

    def test_what_is_not_written(self):
        d = DGL(*EDGES, 3)
        d.ndata.update(feat=np.eye(3), features=np.eye(3), year=np.arange(3))
        d.edata.update(feat=np.ones((3, 2)))
        got, said = self.store(d)
        np.testing.assert_array_equal(got["x"], np.eye(3))
        self.assertEqual(said, ["not written: ndata['features'], ndata['year'], edata['feat']: a store has no arrays of these names"])

    def test_several_types(self):
        self.refused(DGL(*EDGES, 3, ntypes=("user", "item"), etypes=("buys",)), "DGL graph: types of vertices: user, item; of edges: user-buys-item")
        self.refused(DGL(*EDGES, 3, etypes=("a", "b")), "_N-a-_N, _N-b-_N")
        block = DGL(*EDGES, 3)
        block.is_block = True
        self.refused(block, "block of sampled neighbours")

    def test_of_dgl(self):
        try:
            import dgl
            import torch
        except Exception as e:  # whatever a dgl for another torch raises
            self.skipTest(f"no dgl: {e}")

        g = graph(weights=True)
        d = dgl.graph(tuple(torch.from_numpy(e) for e in g["edge_index"]), num_nodes=60)
        d.ndata.update({"feat": torch.from_numpy(g["x"]), "label": torch.from_numpy(g["y"]), **{k: torch.from_numpy(g[k]) for k in g if k.endswith("_mask")}})
        d.edata["w"] = torch.from_numpy(g["edge_weight"])
        self.same(self.store(d)[0], self.store(g)[0], "DGL")


class Sparse:
    """What a SparseTensor of torch_sparse has."""

    def __init__(self, row, col, value, n):
        self._coo, self._n = (row, col, value), n

    def coo(self):
        return self._coo

    def sparse_sizes(self):
        return self._n, self._n


class Adjacency(Given):
    """adj_t has targets as rows."""

    def test_sparse_tensor(self):
        g = graph(symmetric=False, weights=True)
        (source, target), weight = g["edge_index"], g["edge_weight"]
        rest = {k: v for k, v in g.items() if k.endswith("mask") or k in "xy"}
        self.same(self.store({**rest, "adj_t": Sparse(target, source, weight, 60)})[0], self.store(g)[0], "weighted")
        del g["edge_weight"]
        self.same(self.store({**rest, "adj_t": Sparse(target, source, None, 60)})[0], self.store(g)[0], "no values")
        got, said = self.store({**rest, "adj_t": Sparse(target, source, np.ones((len(source), 3)), 60)})
        self.same(got, self.store(g)[0], "features of edges")
        self.assertEqual(said, ["edge_attr beside adj_t is not written: capgnn does not use features of edges"])
        self.assertEqual(len(self.store({"adj_t": Sparse(target[:1] * 0, source[:1] * 0, None, 70)})[0]["indptr"]), 71)

    @unittest.skipUnless(has("scipy"), "no scipy")
    def test_scipy(self):
        import scipy.sparse as sp

        adj_t = sp.csr_matrix((np.array([2.0, 3.0]), ([1, 0], [0, 2])), shape=(4, 4))  # 0 → 1, 2 → 0
        got, _ = self.store({"adj_t": adj_t})
        self.same(got, {"indptr": [0, 1, 2, 2, 2], "indices": [2, 0], "weights": [3, 2]}, "scipy")
        self.refused({"adj_t": adj_t[:3]}, "adj_t: (3, 4), want [vertices, vertices]")

    @needs_pyg
    def test_of_torch_geometric(self):
        import torch
        import torch_geometric.transforms as T
        from torch_geometric.data import Data

        for weights in (False, True):
            g = graph(symmetric=False)
            data = Data(**{k: torch.from_numpy(v) for k, v in g.items()})
            if weights:
                data = data.coalesce()
                data.edge_weight = torch.arange(1, data.num_edges + 1).float()
            want, _ = self.store(data)
            for layout in (None, torch.sparse_coo, torch.sparse_csr):
                adj = T.ToSparseTensor(layout=layout)(data.clone())
                self.assertIsNone(adj.edge_index)
                self.same(self.store(adj)[0], want, f"{layout}, weights: {weights}")

    def test_refused(self):
        e = np.array([[0], [1]])
        self.refused({"adj_t": np.eye(3)}, "adj_t: it is dense")
        self.refused({"adj_t": Sparse(*e, None, 3), "edge_weight": np.ones(1)}, "edge_weight: the order of edges in adj_t")
        self.refused({"adj_t": Sparse(*e, None, 3), "x": np.ones((4, 1))}, "adj_t: it says 3 vertices, x has 4")
        self.refused({"edge_index": np.array([[0, 1], [1, 2], [2, 0]])}, "edge_index: int64 (3, 2), want integers [2, edges]: transpose it")
        self.refused({"edge_index": EDGES, "x": np.eye(3), "num_nodes": 4}, "num_nodes: it says 4 vertices, x has 3")


class Lost(Given):
    """What changes on the way to the store is right, said, or refused."""

    def test_types_of_features(self):
        for kind in ("float16", "float32", "float64", "bool", "int8", "int64", "uint8", ">f4", ">i2"):
            got, said = self.store({"edge_index": EDGES, "x": np.array([[1, 0], [0, 1], [1, 1]]).astype(kind)})
            np.testing.assert_array_equal(got["x"], [[1, 0], [0, 1], [1, 1]], kind)
            self.assertEqual((got["x"].dtype, said), (np.float32, []), kind)

    @needs_pyg
    def test_types_of_torch(self):
        import torch

        want = [[1.5, 0], [0, 1], [1, -2]]
        for kind in ("float16", "bfloat16", "float32", "float64"):
            x = torch.tensor(want, dtype=getattr(torch, kind), requires_grad=True)
            for name, given in (("dense", x), ("sparse", x.detach().to_sparse())):
                s, said = self.store({"edge_index": torch.from_numpy(EDGES), "x": given})
                np.testing.assert_array_equal(capgnn.dense_features(s), want, f"{kind} {name}")
                self.assertEqual(said, [])
        s, _ = self.store({"edge_index": EDGES, "x": torch.eye(3).bool().to_sparse()})
        np.testing.assert_array_equal(capgnn.dense_features(s), np.eye(3))

    def test_rounded_features(self):
        n = 1000
        ring = np.stack([np.arange(n), np.roll(np.arange(n), 1)])
        r = np.random.default_rng(1)
        plain = r.standard_normal(n)
        cases = [
            ("ordinary", plain * 1e-3, None), ("whole", np.arange(n) + 2.0**24 - n, None), ("constant", np.full(n, 1.7e9), None), ("large, float32", np.float32(1e9) + plain.astype(np.float32), None),
            ("money", np.exp(plain), None), ("halves", np.arange(n) / 2 + 1e6, None),
            ("Unix times", 1.7e9 + np.arange(n), "x: float32, which holds whole numbers up to 16777216, loses differences of values in column 1 (1 of 3): standardise first"),
            ("Unix times, whole", 1_700_000_000 + np.arange(n), "x: float32, which holds"), ("ids", (1 << 40) + np.arange(n), "in column 1 (1 of 3)"), ("unsigned", np.arange(n, dtype=np.uint64) + np.uint64(1 << 63), "in column 1 (1 of 3)"),
            ("longitude", 1e4 + plain * 1e-3, "x: float32, which holds"), ("tiny", plain * 1e-44, "in column 1 (1 of 3)"),
        ]
        for name, values, want in cases:
            x = np.zeros((n, 3), values.dtype)
            x[:, 1] = values
            x[:, 2] = 1
            got, said = self.store({"edge_index": ring, "x": x})
            self.assertEqual(len(said), want is not None, (name, said))
            self.assertIn(want or "", "".join(said), name)
            np.testing.assert_array_equal(got["x"], x.astype(np.float32), name)
        got, said = self.store({"edge_index": ring, "x": np.tile(1.7e9 + np.arange(n)[:, None], 9)})
        self.assertIn("(9 of 9)", said[0])
        self.assertIn("0, 1, 2, 3, 4, 5 and 3 more", said[0])

    @unittest.skipUnless(has("scipy"), "no scipy")
    def test_rounded_sparse_features(self):
        import scipy.sparse as sp

        x = sp.csr_matrix(np.array([[0, 1.7e9 + 1, 0], [0.1, 0, 0], [0, 0, 5]]))
        self.assertIn("loses differences of values in column 1 (1 of 3)", self.store({"edge_index": EDGES, "x": x})[1][0])
        x.data[2] = np.nan
        self.refused({"edge_index": EDGES, "x": x}, "nan in row 2, column 2")

    def test_not_finite(self):
        for value, want in ((np.nan, "nan in row 2, column 1: fill what is missing"), (np.inf, "inf in row 2, column 1"), (1e300, "1e+300 in row 2, column 1: values reach 3.403e+38")):
            x = np.eye(3)
            x[2, 1] = value
            self.refused({"edge_index": EDGES, "x": x}, want)
        large = np.zeros((3, 3_000_000), np.float32)  # more than one block of rows
        large[2, 7] = np.nan
        self.refused({"edge_index": EDGES, "x": large}, "nan in row 2, column 7")
        self.refused({"edge_index": EDGES, "edge_weight": [1, 2, np.nan]}, "edge_weight: it has values that are not finite numbers of float32: nan at edge 2")
        self.refused({"edge_index": np.zeros((2, 2), int), "edge_weight": [3e38, 3e38]}, "edge_weight: weights of a repeated edge")

    def test_other_types(self):
        for key, value in (("x", np.eye(3, dtype=complex)), ("y", np.ones(3, complex)), ("x", np.full((3, 1), "a")), ("x", np.full((3, 1), None)), ("y", np.array(["a", "b", "a"])), ("train_mask", np.full(3, "a"))):
            self.refused({"edge_index": EDGES, key: value}, f"{key}: {value.dtype} is not a type of numbers")
        self.refused({"edge_index": EDGES, "y": ["a", "b", "a"]}, "names, y = numpy.unique(y, return_inverse=True), and class_names=names")
        self.refused({"edge_index": EDGES, "x": np.ma.masked_equal(np.eye(3), 0)}, "x: it has masked values: fill them")
        self.refused({"edge_index": EDGES.astype(float)}, "edge_index: float64")
        self.refused({"edge_index": EDGES, "x": np.ones(3)}, "x: (3,), want [3, features]; of one feature x[:, None]")
        self.assertEqual(len(self.store({"edge_index": [[], []], "num_nodes": 3})[0]["indices"]), 0)
        s, said = self.store({"edge_index": EDGES, "x": np.zeros((3, 0))})
        self.assertEqual((set(s), said), ({"indptr", "indices"}, ["x has no columns: the graph is written without features"]))

    def test_weights(self):
        s, said = self.store({"edge_index": EDGES, "edge_weight": [1, 2, 1.7e9 + 1]})
        self.assertEqual(s["weights"].tolist(), [np.float32(1.7e9), 1, 2])
        self.assertIn("edge_weight: weights that lose digits", said[0])

    def test_labels(self):
        n = 2000
        ring = np.stack([np.arange(n), np.roll(np.arange(n), 1)])
        cases = [
            ("whole floats", [0.0, 1.0, np.nan], [0, 1, -1], []), ("no label", [-1, 0, -1], [-1, 0, -1], []), ("all without", [-1.0, np.nan, -1.0], [-1, -1, -1], []),
            ("unsigned", np.array([2, 1, 0], np.uint8), [2, 1, 0], []), ("bool", [True, False, True], [1, 0, 1], []),
            ("float16", np.array([0, 1, np.nan], np.float16), [0, 1, -1], []),
            ("gaps", [0, 4, 2], [0, 4, 2], ["y: classes without a vertex: 2 of 5: 1, 3"]), ("one and none", [1.0, np.nan, 1.0], [1, -1, 1], ["y: classes without a vertex: 1 of 2: 0"]), ("signs", [1, -1, 1], [1, -1, 1], ["y: -1, of 1 of 3 vertices, is no label; if it is a class, as 1 is, give (y + 1) // 2"]),
            ("one 1 in each row", np.eye(3), np.eye(3), ["y has one 1 in each row: it is written as several labels per vertex; for one class of each give y.argmax(1)"]),
        ]
        for name, y, want, says in cases:
            got, said = self.store({"edge_index": EDGES, "y": np.array(y)})
            np.testing.assert_array_equal(got["y"], want, name)
            self.assertEqual(said, says, name)
        self.assertEqual(self.store({"edge_index": ring, "y": np.arange(n)})[1], ["y: 2000 classes of 2000 vertices with a label: are they ids?"])

    def test_refused_labels(self):
        cases = [
            ([0.5, 1, 2], "y: classes are whole numbers, not 0.5 of vertex 0; capgnn does not train on regression targets"), ([0, 1, np.inf], "not inf of vertex 2"),
            ([0, -0.5, 1], "not -0.5 of vertex 1"), ([1990, 1991, 2020], "y: class 2020 of 3 vertices: classes are 0, 1, …: give numpy.unique(y, return_inverse=True)[1]"),
            ([0, 1, -100], "y: -100 of vertex 2 is below -1"), ([0, 1, -1e30], "y: -1e+30 of vertex 2"), ([0, np.nan, -2.0], "y: -2.0 of vertex 2"),
            ([0, 1, 1 << 62], "y: class 4611686018427387904 of 3 vertices"), (np.array([0, 1, (1 << 64) - 1], np.uint64), "y: class 18446744073709551615"), ([0, 1, 1e300], "of 3 vertices"),
            ([[0, 1], [2, 0], [1, 1]], "such as 2 in row 1, column 0"), ([[0, 1], [np.nan, 0], [1, 1]], "such as nan in row 1, column 0"), ([0, 1], "y: (2,), want [3]"), (1, "y: (), want [3]"),
        ]
        for y, want in cases:
            self.refused({"edge_index": EDGES, "y": np.array(y)}, want)

    def test_what_is_not_written(self):
        data = types.SimpleNamespace(edge_index=EDGES, pos=np.ones((3, 2)), edge_type=np.zeros(3), raw_texts=["a", "b", "c"], name="cora", num_classes=3, _cache=np.ones(3), y=None)
        self.assertEqual(self.store(data)[1], ["not written: edge_type, pos, raw_texts: a store has no arrays of these names"])
        self.assertEqual(self.store({"edge_index": EDGES, "pos": None})[1], [])


class Split(Given):
    def test_numbers_of_vertices(self):
        want = {"train_mask": [True, False, True, False], "val_mask": [False, True, False, False], "test_mask": [False] * 4}
        sets = {"train_idx": np.array([2, 0, 2]), "val_idx": np.array([[1]]), "test_idx": np.array([])}
        ogb = {"train_idx": [2, 0], "valid_idx": [1], "test_idx": np.zeros(0, np.int32)}
        both = {**sets, "train_mask": np.array([1, 0, 1, 0])}
        mixed = {"train_idx": [0, 2], "valid_mask": np.array(want["val_mask"]), "test_mask": np.zeros((4, 1))}
        other = {"training_mask": np.array(want["train_mask"]), "dev_idx": [1], "testing_idx": []}
        masks = {**other, "validation_mask": np.array(want["val_mask"])}
        twice = {**masks, "valid_mask": np.array([[0], [1], [0], [0]]), "val_idx": [1, 1], "train_idx": [0, 2], "training_idx": [2, 0, 2]}
        for name, given in (("idx", sets), ("ogb", ogb), ("names twice", twice), ("both", both), ("mixed", mixed), ("other names", other), ("other masks", masks)):
            s, said = self.store({"edge_index": EDGES, "num_nodes": 4, **given})
            self.assertEqual({k: v.tolist() for k, v in s.items() if k.endswith("mask")}, want, name)
            self.assertEqual(said, [])

    def test_refused(self):
        cases = [
            ({"train_idx": [4]}, {}, "train_idx: it has vertices from 4 to 4, the graph has 0 to 3"), ({"train_idx": [-1]}, {}, "train_idx: it has vertices from -1"),
            ({"val_idx": [0.5]}, {}, "val_idx: float64"), ({"test_idx": np.ones(4, bool)}, {}, "test_idx: bool (4,), want numbers of vertices; a mask is test_mask"),
            ({"train_idx": [1], "train_mask": np.array([1, 0, 0, 0])}, {}, "train_idx: it names other vertices than train_mask"),
            ({"train_mask": np.array([0, 2])}, {}, "train_mask: int64 (2,), want bool [4], or 0 and 1; numbers of vertices are train_idx"),
            ({"val_mask": np.array([3, 1, 0, 2])}, {}, "numbers of vertices are val_idx"), ({"train_mask": np.array([0, 1, 2, 0])}, {}, "train_mask: int64"), ({"train_mask": np.array([0, 1, -1, 0])}, {}, "train_mask: int64"),
            ({"train_mask": np.ones((4, 2), bool)}, {}, "train_mask: it has 2 columns: say which with split="), ({"train_mask": np.ones((4, 2), bool)}, {"split": -1}, "split=-1: it has columns 0 to 1"),
            ({"val_mask": np.array([0, 1, 0, 0]), "valid_mask": np.array([0, 1, 1, 0])}, {}, "valid_mask: there is also val_mask, with other vertices: keep one"),
            ({"test_idx": [0, 1], "testing_idx": [0]}, {}, "testing_idx: there is also test_idx, with other vertices: keep one"),
            ({"train_mask": np.ones(4, bool)}, {"split": 1}, "split=1: no mask has several columns"),
        ]
        for given, options, want in cases:
            self.refused({"edge_index": EDGES, "num_nodes": 4, **given}, want, **options)

    def test_overlap(self):
        masks = {"train_mask": [1, 1, 0, 0], "val_mask": [0, 1, 1, 0], "test_mask": [1, 1, 1, 1]}
        _, said = self.store({"edge_index": EDGES, "num_nodes": 4, **masks})
        self.assertEqual(said, ["train_mask and val_mask: vertices in both: 1", "train_mask and test_mask: vertices in both: 2", "val_mask and test_mask: vertices in both: 2"])


class NothingLostTest(Folder):
    """What people give beside plain arrays: names and sets as dicts, pandas in another order, numbers that are masks."""

    def graph(self, **more):
        n = 12
        return {"edge_index": np.stack([np.arange(n), (np.arange(n) + 1) % n]), "x": np.random.default_rng(0).random((n, 3)), "y": np.arange(n) % 3, **more}

    def classes(self, name):
        with open(self.path(name + "/classes.csv")) as f:
            return f.read().split()[1:]

    def test_class_names(self):
        for name, given in {"numbers": {2: "eel", 0: "cat", 1: "dog"}, "names": {"cat": 0, "eel": 2, "dog": 1}, "list": ["cat", "dog", "eel"]}.items():
            capgnn.to_store(self.graph(), self.path(name), class_names=given)
            self.assertEqual(self.classes(name), ["cat", "dog", "eel"])
        for bad, line in (({"cat", "dog", "eel"}, "a set has no order"), ({0: "cat", 2: "eel"}, "wants the numbers 0 to 1")):
            with self.assertRaisesRegex(ValueError, line):
                capgnn.to_store(self.graph(), self.path("bad"), class_names=bad)

    def test_split_idx(self):
        path = capgnn.to_store(self.graph(split_idx={"train": np.array([0, 1]), "valid": np.array([2]), "test": np.array([3])}), self.path("s"))
        store = capgnn.read_store(path)
        self.assertEqual([np.flatnonzero(store[k + "_mask"]).tolist() for k in ("train", "val", "test")], [[0, 1], [2], [3]])
        with self.assertRaisesRegex(ValueError, "call it train_mask"):
            capgnn.to_store(self.graph(train_idx=[0, 1] * 6), self.path("t"))

    @unittest.skipUnless(has("pandas"), "no pandas")
    def test_truth_beside_numbers(self):
        import pandas as pd
        frame = pd.DataFrame({"age": [1.5, 2.5], "red": [True, False], "n": [3, 4]})
        got = capgnn.given.to_numpy(frame, "x")
        self.assertEqual((got.dtype, got.tolist()), (np.float64, [[1.5, 1, 3], [2.5, 0, 4]]))
        with self.assertRaisesRegex(ValueError, "column 'name': object is not"):
            capgnn.given.to_numpy(frame.assign(name=np.array(["a", "b"], object)).astype({"name": object}), "x")

    @unittest.skipUnless(has("pandas"), "no pandas")
    def test_index_of_pandas(self):
        import pandas as pd
        with self.assertWarnsRegex(UserWarning, "y: its index is not 0, 1"):
            capgnn.to_store(self.graph(y=pd.Series(np.arange(12) % 3, index=range(11, -1, -1))), self.path("s"))
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            capgnn.to_store(self.graph(y=pd.Series(np.arange(12) % 3)), self.path("t"))

    @unittest.skipUnless(has("pandas"), "no pandas")
    def test_indexes_of_any_type(self):
        import pandas as pd
        n = 12
        for name, index in {"text": pd.Index(list("abcdefghijkl")), "dates": pd.date_range("2020", periods=n), "floats": pd.Index(np.arange(n) + 0.5),
                            "pairs": pd.MultiIndex.from_product([["p", "q"], range(6)]), "numbers": pd.RangeIndex(5, 5 + n), "none": pd.Index([None, *"bcdefghijkl"])}.items():
            x, y = pd.DataFrame({"a": np.arange(n)}, index=index), pd.Series(np.arange(n) % 3, index=index)
            with self.subTest(name), self.assertWarnsRegex(UserWarning, "x, y: their index is not 0, 1"):
                capgnn.to_store(self.graph(x=x, y=y), self.path(name))
            for other in (y[::-1], pd.Series(y.to_numpy(), index=[f"v{i}" for i in range(n)])):
                with self.subTest(name), self.assertRaisesRegex(ValueError, r"y: its index is not that of x: give y.loc\[x.index\]"):
                    capgnn.to_store(self.graph(x=x, y=other), self.path("bad"))
            with self.subTest(name), self.assertRaisesRegex(ValueError, "train_mask: its index is not that of x"):
                capgnn.to_store(self.graph(x=x, train_mask=y[::-1] == 0), self.path("bad"))
        x, ids = pd.DataFrame({"a": np.arange(n)}, index=list("abcdefghijkl")), list("abcdefghijkl")
        with self.assertRaisesRegex(ValueError, "x: its index is in another order than ids"):
            capgnn.to_store(self.graph(x=x, ids=ids[::-1]), self.path("bad"))
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            capgnn.to_store(self.graph(x=x, ids=ids, y=pd.Series(np.arange(n) % 3)), self.path("by id"))
            edges = pd.DataFrame({"source": np.arange(n), "target": np.arange(n)[::-1]})
            capgnn.to_store(self.graph(edge_index=edges.T, y=pd.Series(np.arange(n) % 3, index=map(str, range(n)))), self.path("edges"))

    @needs_program
    def test_notes_are_warnings(self):
        graph = self.graph(val_mask=np.arange(12) == 3)
        training = capgnn.train(graph, run_dir=self.path("run"), hidden=4, epochs=1, devices="cpu:threads=1")
        with self.assertWarnsRegex(UserWarning, "there is no training set"):
            run = training.result()
        with self.assertWarnsRegex(UserWarning, "no names"):
            other = self.graph()
            run.predict("labels", dataset=capgnn.to_store(other, self.path("other"), class_names=["a", "b", "c"]))


