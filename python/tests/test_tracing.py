"""Modules become programs that compute the same, or are refused with the line that is at fault."""
import copy
import inspect
import json
import os
import re
import tempfile
import unittest
import warnings

import numpy as np

import capgnn
from capgnn.program import Process
from tests import graph, needs_pyg, reads_models

# TOLERANCE is the largest difference of a logit, both sides in float32.
TOLERANCE = 1e-4
MODELS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "testdata", "models")


def data(weights=False, features=6, **more):
    """Returns a Data of random numbers with IN features and OUT classes."""
    import torch
    from torch_geometric.data import Data

    return Data(**{k: torch.from_numpy(v) for k, v in graph(features=features, classes=4, weights=weights, **more).items()})


@needs_pyg
class TraceTest(unittest.TestCase):
    def setUp(self):
        warnings.simplefilter("ignore")

    def test_modules(self):
        import torch

        from tests import modules

        read = reads_models()
        for name, make in modules.TRACED.items():
            with self.subTest(name):
                torch.manual_seed(1)
                module = make()
                before = copy.deepcopy(module.state_dict())
                program = capgnn.trace(module, data(weights=name == "weighted"))
                self.assertEqual((program.features, program.outputs), (modules.IN, modules.OUT))
                self.assertEqual(set(program.weights), set(program.tensors))
                if read:
                    with program.file() as path:
                        process = Process([capgnn.find_program(), "model", "check", path])
                        process.wait()
                    self.assertIn(f"{program.name}.json, valid", process.output)
                text = json.loads(program.text())
                self.assertEqual(list(text), ["capgnn_model", "features", "outputs", "graphs", "tensors", "nodes", "logits", "line"])
                self.assertEqual(program.weighted, name in ("weighted", "matrix"))
                for key, value in module.state_dict().items():
                    self.assertTrue(torch.equal(value, before[key]), key)

    def test_files_are_what_is_traced(self):
        import torch

        from tests import modules

        self.assertEqual({f[:-5] for f in os.listdir(MODELS) if f.endswith(".json")}, set(modules.FILES))
        for name, make in modules.FILES.items():
            with self.subTest(name):
                torch.manual_seed(1)
                with open(os.path.join(MODELS, name + ".json"), encoding="utf-8") as f:
                    want = json.load(f)
                got = json.loads(capgnn.trace(make(), data(weights=name == "weighted")).text())
                for text in (got, want):
                    text.pop("line")  # which moves with the lines of modules.py
                self.assertEqual(got, want)

    def test_refused(self):
        from tests import modules

        for then, want in modules.REFUSED.items():
            with self.subTest(then.__name__):
                with self.assertRaises(capgnn.TraceError) as caught:
                    capgnn.trace(modules.Refused(then), data())
                said = str(caught.exception)
                self.assertNotIn("\n", said)
                self.assertTrue(said.startswith("model: ") and want in said, said)
                lines, first = inspect.getsourcelines(then)
                if then is not modules.pools:  # which is at fault as a whole
                    self.assertIn(f"(modules.py:{first + len(lines) - 1}", said)

    def test_what_forward_changes_is_refused(self):
        import torch

        from tests import modules

        class Changes(modules.Refused):
            def __init__(self, then):
                super().__init__(then)
                self.register_buffer("middle", torch.zeros(4))
                self.heat, self.kept = 2.0, torch.zeros(4)

        def averages(m, h, data):
            out = h - m.middle
            m.middle.mul_(0.5).add_(h.mean(0).detach(), alpha=0.5)
            return out

        def copies(m, h, data):
            out = h - m.middle
            if m.training:
                m.middle.copy_(h.mean(0).detach())
            return out

        def assigns(m, h, data):
            out = h - m.middle
            m.middle = h.mean(0).detach()
            return out

        def cools(m, h, data):
            m.heat *= 0.7
            return h / m.heat

        for then, want in (
            (averages, "forward changes the buffer middle: "), (copies, "forward changes the buffer middle: "),
            (assigns, "forward changes the buffer middle: "), (cools, "forward changes the number heat: "),
        ):
            with self.subTest(then.__name__), self.assertRaisesRegex(capgnn.TraceError, f"^model: {want}"):
                capgnn.trace(Changes(then), data())

        def shows(m, h, data):  # which nothing reads
            m.kept = h
            return h.relu()

        self.assertEqual(capgnn.trace(Changes(shows), data()).nodes[-1].op, "relu")

        class Remembers(Changes):
            def forward(self, x, edge_index):
                before, self.heated = getattr(self, "heated", False), True
                return self.conv(x, edge_index) * (3 if before else 1)

        with self.assertRaisesRegex(capgnn.TraceError, "^model: forward gives other logits when it is called again"):
            capgnn.trace(Remembers(None), data())

    def test_a_batch_norm_is_a_node_for_each_call(self):
        import torch

        from tests import modules

        class Normed(modules.Refused):
            def __init__(self, then):
                super().__init__(then)
                self.norm = torch.nn.BatchNorm1d(4)

        def twice(m, h, data):
            return m.norm(h) + m.norm(h).tanh()

        def aside(m, h, data):
            return m.norm(h), m.norm(2 * h)

        def again(m, h, data):
            return m.norm(m.norm(h).relu())

        self.assertEqual([n.op for n in capgnn.trace(Normed(again), data()).nodes].count("batch_norm"), 2)
        for then, want in ((twice, "the same BatchNorm is given the same rows twice: call it once"),
                           (aside, "a BatchNorm has running statistics of rows that the logits do not depend on")):
            with self.subTest(then.__name__), self.assertRaisesRegex(capgnn.TraceError, f"^model: {want}"):
                capgnn.trace(Normed(then), data())

    def test_a_last_sigmoid_is_refused_where_vertices_have_several_labels(self):
        import torch

        from tests import modules

        def likely(m, h, data):
            return torch.sigmoid(h)

        given, module = data(), modules.Refused(likely)
        self.assertEqual(capgnn.trace(module, given).nodes[-1].op, "sigmoid")
        given.y = given.y.unsqueeze(1)
        self.assertEqual(capgnn.trace(module, given).nodes[-1].op, "sigmoid")
        given.y = torch.nn.functional.one_hot(given.y[:, 0], 4) | torch.nn.functional.one_hot((given.y[:, 0] + 1) % 4, 4)
        with tempfile.TemporaryDirectory() as folder:
            for several in (given, capgnn.to_store(given, os.path.join(folder, "store"))):
                with self.assertRaisesRegex(capgnn.TraceError, r"return what sigmoid reads, the loss has it  \(test_tracing.py:\d+"):
                    capgnn.trace(module, several)

    def test_edge_weights_are_read_by_all_or_none(self):
        from tests import modules

        class Mixed(modules.Weighted):
            def forward(self, x, edge_index, edge_weight):
                return self.conv2(self.conv1(x, edge_index, edge_weight), edge_index)  # whose sum needs none

        self.assertTrue(capgnn.trace(Mixed(), data(weights=True)).weighted)
        Mixed.forward = lambda self, x, edge_index, edge_weight: self.conv1(x, edge_index, edge_weight) + self.conv1(x, edge_index)
        with self.assertRaisesRegex(capgnn.TraceError, "some convolutions have edge_weight and others not"):
            capgnn.trace(Mixed(), data(weights=True))
        self.assertFalse(capgnn.trace(modules.Weighted(), data()).weighted)

    def test_edge_weights_without_a_norm_are_read(self):
        import torch
        import torch_geometric.nn as pyg

        class Sums(torch.nn.Module):
            def __init__(self, aggr):
                super().__init__()
                self.conv = pyg.GraphConv(6, 3, aggr=aggr)

            def forward(self, x, edge_index, edge_weight=None):
                return self.conv(x, edge_index, edge_weight)

        class ByHand(torch.nn.Module):
            def __init__(self):
                super().__init__()
                self.lin = torch.nn.Linear(6, 3)

            def forward(self, x, edge_index, edge_weight):
                h = self.lin(x)
                return torch.zeros_like(h).index_add(0, edge_index[1], h[edge_index[0]] * edge_weight.view(-1, 1))

        for module in (Sums("add"), Sums("mean"), ByHand()):
            self.assertTrue(capgnn.trace(module, data(weights=True)).weighted)
        self.assertFalse(capgnn.trace(Sums("add"), data()).weighted)

    def test_of_loops_that_are_added_twice_one_is_left(self):
        import torch_geometric.nn as pyg

        from tests.modules import Looped

        looped = {"g": {}, "g.no_loops": {"of": "g", "do": "no_loops"}, "g.no_loops.loops": {"of": "g.no_loops", "do": "loops"}}
        for conv in (pyg.GCNConv, pyg.GATConv):
            self.assertEqual(capgnn.trace(Looped(conv(6, 4)), data()).graphs, looped)
        self.assertEqual(capgnn.trace(Looped(pyg.SAGEConv(6, 4)), data()).graphs, {"g": {}, "g.loops": {"of": "g", "do": "loops"}})

    def test_a_wrong_program_is_found(self):
        import torch

        from capgnn.tracing import prove
        from capgnn.tracing.nodes import Node

        from tests import modules

        torch.manual_seed(1)
        module = modules.FILES["gpr"]()
        program = capgnn.trace(module, data())
        for op, name, more in (("relu", "tanh", {}), ("add", "add", {"coef": [1.0, 1.001]}), ("sum_in", "max_in", None)):
            with self.subTest(op):
                wrong = copy.copy(program)
                wrong.nodes = list(program.nodes)
                at = max(k for k, n in enumerate(wrong.nodes) if n.op == op and len(n.inputs) == (2 if op == "add" else 1))
                n = wrong.nodes[at]
                wrong.nodes[at] = Node(n.name, name, n.inputs, n.attributes if more is None else more, n.space, n.shape, n.line)
                with self.assertRaisesRegex(capgnn.TraceError, r"model: program and module differ by \S+ in logits: please report"):
                    prove.prove(wrong, module, True)
        stopped = copy.copy(program)
        weight = next(n for n in program.nodes if n.op == "slice")
        stop = Node("stop1", "stop", (weight.inputs[0],), {}, weight.space, (5,))
        stopped.nodes = [stop, *(n if n is not weight else Node(n.name, n.op, ("stop1",), n.attributes, n.space, n.shape) for n in program.nodes)]
        with self.assertRaisesRegex(capgnn.TraceError, "in the gradient of temp: please report"):
            prove.prove(stopped, module, True)

    def test_what_is_not_trained(self):
        from tests import modules

        program = capgnn.trace(modules.Frozen(), data())
        self.assertEqual(set(program.frozen), {"conv.lin_r.weight", "scale"})
        self.assertNotIn("portion", program.tensors)
        read = {n.op for n in program.nodes for i in n.inputs if i in program.frozen}
        self.assertEqual(read, {"stop"})

    def test_what_is_read_detached_too_is_trained(self):
        import torch

        from tests import modules

        class Tied(modules.Two):
            def forward(self, x, edge_index):
                w = self.conv2.lin.weight
                return super().forward(x, edge_index) @ (w @ w.detach().T)

        self.assertEqual(capgnn.trace(Tied(modules.pyg.GCNConv(modules.IN, 4), modules.pyg.GCNConv(4, 4)), data()).frozen, [])

    def test_print(self):
        from tests import modules

        lines = str(capgnn.trace(modules.Residual(), data())).splitlines()
        self.assertRegex(lines[0], r"^Residual: \d+ nodes, 3 exchanges, \d+ tensors$")
        self.assertTrue(any(re.search(r"= src\(.*graph=\"g\"\) +E:g\[8\]  modules.py:\d+$", line) for line in lines), lines)

    def test_data(self):
        import torch

        from tests import modules

        class Typed(modules.Two):
            def forward(self, x, edge_index, edge_type):
                return x

        class Foreign(modules.Two):
            def forward(self, x, edge_index):
                return x * torch.arange(6.0)

        with tempfile.TemporaryDirectory() as folder:
            store = capgnn.to_store(data(), os.path.join(folder, "store"))
            self.assertEqual(capgnn.trace(modules.Propagated(), store).features, modules.IN)
            with self.assertRaisesRegex(ValueError, "x: the data have no features"):
                capgnn.trace(modules.Propagated(), {"edge_index": np.zeros((2, 1), int), "num_nodes": 2})
            with self.assertRaisesRegex(capgnn.TraceError, "forward takes 'edge_type', which capgnn does not give"):
                capgnn.trace(Typed(None, None), store)
            with self.assertRaisesRegex(capgnn.TraceError, "a tensor of shape .6. is neither an argument of forward nor a parameter"):
                capgnn.trace(Foreign(None, None), store)
            with self.assertRaisesRegex(capgnn.TraceError, "parameters have no shape yet"):
                capgnn.trace(modules.pyg.GCNConv(-1, 4), store)

    def test_weights_come_back(self):
        import torch

        from capgnn.models import with_weights

        from tests import modules

        module = modules.Propagated()
        weights = {k: v.numpy() + 1 for k, v in module.state_dict().items() if k != "lin1.bias"}
        made = with_weights(module, weights)
        self.assertFalse(made.training)
        self.assertTrue(torch.equal(made.lin2.bias, module.lin2.bias + 1))
        self.assertTrue(torch.equal(made.lin1.bias, module.lin1.bias))
        module.scale = torch.nn.Parameter(torch.tensor(1.5))
        self.assertEqual(with_weights(module, {"scale": np.array([2], np.float32)}).scale.item(), 2)
        with self.assertRaisesRegex(RuntimeError, r"lin3.bias \[4\] is not in the module"):
            with_weights(module, {"lin3.bias": np.zeros(4, np.float32)})
        with self.assertRaisesRegex(RuntimeError, r"lin2.bias \[5\] is \[4\] in the module"):
            with_weights(module, {"lin2.bias": np.zeros(5, np.float32)})


@unittest.skipUnless(reads_models(), "no program that reads models from files")
@needs_pyg
class FitTest(unittest.TestCase):
    def setUp(self):
        warnings.simplefilter("ignore")
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name

    def data(self, **more):
        """Returns a Data whose edges are there once."""
        from torch_geometric.utils import coalesce

        made = data(n=150, edges=700, symmetric=False, **more)
        made.edge_index = coalesce(made.edge_index)
        return made

    def test_the_module_gives_the_logits_of_the_program(self):
        import torch

        from capgnn.tracing.arguments import arguments_of

        from tests import modules

        given = self.data()
        for name in ("sage_residual", "gat"):
            with self.subTest(name):
                torch.manual_seed(1)
                module = modules.FILES[name]()
                run = capgnn.fit(module, given, epochs=5, devices=["cpu:threads=1"] * 2, run_dir=os.path.join(self.folder, name))
                self.assertLess(run.metrics()["loss"][-1], run.metrics()["loss"][0])
                model = run.model()
                self.assertIs(type(model), type(module))
                with torch.no_grad():
                    got = model(**arguments_of(model, given.x, given.edge_index, None, {}))
                want = torch.from_numpy(np.array(run.predict()))
                if name == "gat":
                    want = want.log_softmax(1)  # where it ends
                np.testing.assert_allclose(got, want, rtol=0, atol=TOLERANCE)
                for again in (capgnn.Run(run.path).model(module=module), capgnn.from_run(run.path, module=module)):
                    self.assertTrue(all(torch.equal(a, b) for a, b in zip(again.state_dict().values(), model.state_dict().values())))
                for read in (capgnn.from_run, lambda path: capgnn.Run(path).model()):
                    with self.assertRaisesRegex(ValueError, rf"{type(module).__name__}\.json: make that module and give it: run\.model\(module=Net\(\.\.\.\)\)"):
                        read(run.path)

    def test_training_starts_from_the_module(self):
        import torch

        from tests import modules

        given, module = self.data(), modules.Propagated().eval()
        module.lin1.weight.data.mul_(3)
        run = capgnn.fit(module, given, epochs=0, devices="cpu:threads=1", run_dir=os.path.join(self.folder, "run"))
        with torch.no_grad():
            np.testing.assert_allclose(run.predict(), module(given.x, given.edge_index), rtol=0, atol=TOLERANCE)

    def test_a_module_does_not_do_what_its_run_did(self):
        from tests import modules

        run = capgnn.fit(modules.Propagated(), self.data(), epochs=0, standardize="rows", devices="cpu:threads=1",
                         run_dir=os.path.join(self.folder, "run"))
        with self.assertWarnsRegex(UserWarning, "the run read its data with --standardize rows, and the module does not"):
            run.model()

    def test_a_program_without_operations_is_refused(self):
        from torch_geometric.utils import degree

        from tests import modules

        def roots(m, h, data):
            return h * degree(data.edge_index[1], h.size(0)).clamp(min=1).pow(-0.5).view(-1, 1)

        with self.assertRaisesRegex(capgnn.ProgramError, r'^model: node "const\d+": the constant in_count is read where rows are.*\(exit code 2\)$'):
            capgnn.fit(modules.Refused(roots), self.data(), devices="cpu:threads=1", run_dir=os.path.join(self.folder, "run"))

    def test_flags_that_fit_has_not(self):
        from tests import modules

        for flag in ("model", "init", "seeds"):
            with self.assertRaisesRegex(ValueError, f"^{flag}: fit trains the module"):
                capgnn.fit(modules.Propagated(), self.data(), **{flag: "1"})
