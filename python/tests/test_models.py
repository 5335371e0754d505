"""Models of runs in torch_geometric give the logits of the program, and its weights are where the program starts."""
import os
import tempfile
import unittest

import numpy as np

import capgnn
from tests import graph, needs_program, needs_pyg

MODELS = ("gcn", "sage", "gin", "gat", "gatv2", "dirgnn", "mixhop", "sgc", "appnp", "gcnii", "gprgnn")
# TOLERANCE is the largest difference of a logit, both sides in float32.
TOLERANCE = 1e-4


@needs_program
@needs_pyg
class ModelsTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name

    def data(self, name="store", **options):
        """Returns a random graph as torch_geometric has it, and as a store."""
        import torch
        from torch_geometric.data import Data

        data = Data(**{k: torch.from_numpy(v) for k, v in graph(**options).items()})
        return data, capgnn.to_store(data, os.path.join(self.folder, name))

    def train(self, store, name, **flags):
        flags = {"hidden": 16, "heads": 4, "layers": 3, "epochs": 5, "devices": "cpu:threads=1", "order": "none", **flags}
        return capgnn.train(store, run_dir=os.path.join(self.folder, name), **flags).result()

    def compare(self, run, data, name):
        import torch

        model = run.model()
        with torch.no_grad():
            got = model(data.x, data.edge_index).numpy()
        np.testing.assert_allclose(got, run.predict(), rtol=0, atol=TOLERANCE, err_msg=name)
        return model

    def test_logits(self):
        import torch_geometric.nn as pyg

        from capgnn import models

        data, store = self.data(n=200, edges=900)
        kinds = (pyg.GCN, pyg.GraphSAGE, pyg.GIN, pyg.GAT, pyg.GAT, models.DirGNN, models.MixHop, pyg.SGConv, models.APPNP, models.GCNII, models.GPRGNN)
        for model, kind in zip(MODELS, kinds, strict=True):
            with self.subTest(model):
                self.assertIsInstance(self.compare(self.train(store, model, model=model), data, model), kind)

    def test_logits_of_directed_graphs_and_loops(self):
        data, store = self.data(n=150, edges=700, symmetric=False)
        for model in MODELS:
            for i, flags in enumerate(({}, {"self_loops": "keep"}, {"self_loops": "add"}, {"self_loops": "remove", "edges": "symmetric"}, {"edges": "reversed"})):
                with self.subTest(model, **flags):
                    self.compare(self.train(store, f"{model}{i}", model=model, epochs=2, **flags), data, str(flags))

    def test_logits_with_edge_weights(self):
        import torch

        for symmetric in (True, False):
            data, store = self.data(f"store-{symmetric}", n=150, edges=700, symmetric=symmetric, weights=True)
            for model in (m for m in MODELS if m not in ("gat", "gatv2")):
                for i, flags in enumerate(({}, {"self_loops": "keep", "edges": "symmetric"}, {"self_loops": "add", "edges": "reversed"}, {"ignore_weights": True})):
                    with self.subTest(model, **flags):
                        run = self.train(store, f"{model}{symmetric}{i}", model=model, epochs=2, **flags)
                        with torch.no_grad():
                            got = run.model()(data.x, data.edge_index, data.edge_weight).numpy()
                        np.testing.assert_allclose(got, run.predict(), rtol=0, atol=TOLERANCE, err_msg=f"{model} {flags}")

    def test_logits_of_other_shapes(self):
        data, store = self.data()
        for i, flags in enumerate(({"layers": 1}, {"layers": 2, "hidden": 1, "heads": 1}, {"layers": 2, "hidden": 6, "heads": 3}, {"standardize": "train"}, {"standardize": "rows"},
                                   {"batch_size": 7, "fanout": "3,2,2"}, {"teleport": 0.7, "theta": 2, "layers": 5, "epochs": 1},
                                   {"norm": "none", "layers": 4}, {"norm": "batch"}, {"norm": "graph"}, {"jk": "max"}, {"jk": "sum", "norm": "graph", "residual": True}, {"jk": "cat"}, {"jk": "cat", "layers": 1, "norm": "none"}, {"jk": "cat", "batch_size": 7, "fanout": "3,2,2"}, {"jk": "cat", "residual": True, "layers": 3, "activation": "elu"}, {"activation": "leaky_relu"}, {"activation": "elu", "norm": "none"}, {"activation": "tanh"})):
            for model in MODELS[:6] if "jk" in flags else MODELS:
                if model == "sgc" and "activation" in flags or model not in MODELS[:7] and flags.get("norm") in ("batch", "graph"):  # it has none
                    continue
                twice = {"fanout": "3,2,2,2,2,2"} if model == "mixhop" and "batch_size" in flags else {}  # a layer sums twice
                with self.subTest(model, **flags):
                    self.compare(self.train(store, f"{model}{i}", model=model, **{**flags, **twice}), data, str(flags))

    def test_logits_with_residuals(self):
        import torch

        data, store = self.data()
        for i, flags in enumerate(({"layers": 3}, {"layers": 5, "norm": "none"})):
            for model in MODELS[:7]:
                with self.subTest(model, **flags):
                    made = self.compare(self.train(store, f"{model}{i}", model=model, residual=True, **flags), data, str(flags))
                    with torch.no_grad():
                        with_them, made.residual = made(data.x, data.edge_index), False
                        if "norm" not in flags:  # else ReLU may leave nothing of GIN's rows
                            self.assertGreater((made(data.x, data.edge_index) - with_them).abs().max(), 100 * TOLERANCE)

    def test_classes_of_which_vertices_have_several(self):
        import torch

        data, _ = self.data("unused")
        data.y = torch.nn.functional.one_hot(data.y, 3)
        store = capgnn.to_store(data, os.path.join(self.folder, "several"))
        self.compare(self.train(store, "run", model="gat"), data, "several")

    def test_training_starts_from_a_model(self):
        import torch
        import torch_geometric.nn as pyg

        data, store = self.data()
        for name, kind, more in (("gcn", pyg.GCN, {}), ("gcn", pyg.GCN, {"norm": None}), ("gin", pyg.GIN, {"train_eps": True, "norm": "batch_norm"}), ("gin", pyg.GIN, {"train_eps": True, "jk": "cat"}), ("gatv2", pyg.GAT, {"heads": 4, "v2": True, "jk": "cat"}), ("sage", pyg.GraphSAGE, {}), ("gin", pyg.GIN, {"train_eps": True}), ("gat", pyg.GAT, {"heads": 4}), ("gatv2", pyg.GAT, {"heads": 4, "v2": True})):
            with self.subTest(name):
                torch.manual_seed(3)
                model = kind(12, 16, 3, 3, **{"norm": torch.nn.LayerNorm(16), **more})
                training = capgnn.train(store, run_dir=os.path.join(self.folder, name + "".join(more)), model=name, norm={None: "none", "batch_norm": "batch"}.get(more.get("norm", ""), "layer"), jk=more.get("jk", "none"), init=model, hidden=16, heads=4, epochs=1, dropout=0.0,
                                        devices="cpu:threads=1")
                loss = next(iter(training))["loss"]  # before the update
                run = training.result()
                model = capgnn.from_run(run.path, os.path.join(run.path, "init.safetensors"))
                with torch.no_grad():
                    logits = model(data.x, data.edge_index)
                    trained = model.train()(data.x, data.edge_index)  # the same but with BatchNorm
                want = torch.nn.functional.cross_entropy(trained[data.train_mask], data.y[data.train_mask])
                self.assertAlmostEqual(loss, want.item(), delta=1e-5)
                np.testing.assert_allclose(run.predict(weights=os.path.join(run.path, "init.safetensors")), logits, rtol=0, atol=TOLERANCE)

    def test_weight_decay_by_groups(self):
        import torch

        data, store = self.data(n=200, edges=900)
        rules = {"adam": torch.optim.Adam, "adamw": torch.optim.AdamW, "sgd": torch.optim.SGD}
        # AdamW takes steps of full length by gradients that are 0 but for rounding, of which GATv2 has some.
        for model, groups, names in (("gcnii", {"convs": 0.1, "lins": 0.02}, rules), ("gcn", {"bias": 0.0, "norms.1": 0.3}, rules), ("gatv2", {"convs.1": 0.2, "convs.1.att": 0.4}, ("adam", "sgd"))):
            for optimizer in names:
                with self.subTest(model, optimizer=optimizer):
                    flags = {"model": model, "dropout": 0.0, "optimizer": optimizer, "lr": 0.01}
                    start = self.train(store, f"{model}-{optimizer}-start", epochs=0, **flags)
                    run = self.train(store, f"{model}-{optimizer}", weight_decay=["0.05", *(f"{k}={v}" for k, v in groups.items())], **flags)
                    copy = start.model()
                    decays = []
                    for name, weight in copy.named_parameters():
                        fits = [v for k, v in groups.items() if f".{k}." in f".{name}."]
                        decays.append({"params": [weight], "weight_decay": (fits or [0.05])[-1]})
                    steps = rules[optimizer](decays, lr=0.01)
                    for _ in range(5):
                        steps.zero_grad()
                        torch.nn.functional.cross_entropy(copy(data.x, data.edge_index)[data.train_mask], data.y[data.train_mask]).backward()
                        steps.step()
                    for name, weight in run.weights("last").items():
                        np.testing.assert_allclose(weight, copy.state_dict()[name], rtol=0, atol=1e-5, err_msg=name)

    def test_it_can_be_trained_on(self):
        import copy

        import torch

        data, store = self.data()
        model = copy.deepcopy(self.train(store, "run", model="gin").model()).train()
        before = {k: v.clone() for k, v in model.state_dict().items()}
        torch.nn.functional.cross_entropy(model(data.x, data.edge_index), data.y).backward()
        torch.optim.Adam(model.parameters()).step()
        self.assertTrue(all(not torch.equal(v, before[k]) for k, v in model.state_dict().items() if k.startswith("convs")))
        self.assertEqual(set(before), set(self.train(store, "again", model="gin", init=model).weights()))

    def test_weights_that_do_not_fit(self):
        data, store = self.data()
        run = self.train(store, "run")
        other = self.train(store, "other", hidden=8)
        with self.assertRaisesRegex(RuntimeError, "size mismatch"):
            capgnn.from_run(run.path, other.weights_file())
        with self.assertRaisesRegex(RuntimeError, "not weights of a gcn"):
            capgnn.from_run(run.path, self.train(store, "gat", model="gat", layers=2).weights_file("last"))
