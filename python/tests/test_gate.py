"""Every traced module whose program is trained takes torch's own steps, on one device and on three, and predicts its logits."""
import contextlib
import copy
import os
import re
import tempfile
import unittest
import warnings
from unittest import mock

import numpy as np

import capgnn
from tests import needs_program, needs_pyg
from tests.test_tracing import TOLERANCE, data

STEPS, RATE = 5, 0.01
# The bias of keys adds the same to all scores of a row: its gradient is what rounding leaves of 0, of which Adam makes steps.
ROUNDED = (".lin_key.bias", ".k.bias")
DEVICES = {"one": ["cpu:threads=1"], "three": ["cpu:threads=1", "cpu:threads=2", "cpu:threads=1,slow=2"]}


def one_graph(x):
    """Returns the numbers of graphs that torch_geometric's models read: all rows are of number 0."""
    import torch

    return torch.zeros(len(x), dtype=torch.int64)


def graph_for(matrix, edge_index, n, dtype):
    """Returns what a module takes as its graph: edges, or the sparse matrix of sums over in-edges."""
    import torch

    if not matrix:
        return edge_index
    return torch.sparse_coo_tensor(edge_index.flip(0), torch.ones(edge_index.shape[1], dtype=dtype), (n, n))


def steps(module, x, edge_index, edge_weight, y, mask):
    """Returns a copy of the module after STEPS of Adam in torch, in float64, in which nothing is dropped.

    Adam makes whole steps of what rounding leaves of gradients that are 0, such as a bias's before BatchNorm.
    """
    import torch

    from capgnn.tracing.arguments import arguments_of

    module, x = copy.deepcopy(module).double().train(), x.double()
    edge_weight = None if edge_weight is None else edge_weight.double()
    adam = torch.optim.Adam([p for p in module.parameters() if p.requires_grad], lr=RATE)
    with mock.patch("torch.nn.functional.dropout", lambda x, *_, **__: x), contextlib.ExitStack() as after:
        after.callback(torch.set_default_dtype, torch.get_default_dtype())
        torch.set_default_dtype(torch.float64)
        for _ in range(STEPS):
            adam.zero_grad()
            out = module(**arguments_of(module, x, edge_index, edge_weight, {"batch": one_graph(x)}))
            out = out[0] if isinstance(out, tuple) else out
            torch.nn.functional.cross_entropy(out[mask], y[mask]).backward()
            adam.step()
    return module


@needs_program
@needs_pyg
class GateTest(unittest.TestCase):
    def test_attention_is_dropped_alike_on_any_devices(self):
        import torch

        from tests import modules

        warnings.simplefilter("ignore")
        kept = tempfile.TemporaryDirectory()
        self.addCleanup(kept.cleanup)
        store = capgnn.to_store(data(n=150, edges=700, symmetric=False), os.path.join(kept.name, "store"))
        for name in ("GATConv dropout", "GATv2Conv dropout", "GAT of its paper", "TransformerConv dropout"):
            torch.manual_seed(1)
            program, got = capgnn.trace(modules.TRACED[name](), data()), {}
            for place, devices in DEVICES.items():
                whole = re.sub(r'(\["softmax_in[0-9]+"\], \{"p": )[-+.e0-9]+', r"\g<1>0.0", program.text())
                for text in (program.text(), whole):
                    file = os.path.join(kept.name, "net.json")
                    with open(file, "w", encoding="utf-8") as f:
                        f.write(text)
                    run = capgnn.train(store, model=file, init=program.weights, epochs=STEPS, lr=RATE, weight_decay=0, devices=devices,
                                        run_dir=os.path.join(kept.name, f"{name} {place} {text != whole}"))
                    got[place, text != whole] = run.result().weights("last")
            for key, want in got["one", True].items():
                if key.endswith(ROUNDED):
                    continue
                np.testing.assert_allclose(got["three", True][key], want, rtol=0, atol=TOLERANCE, err_msg=f"{name} {key}")
            self.assertTrue(any(np.abs(got["one", False][key] - want).max() > 1e-3 for key, want in got["one", True].items()), name)

    def test_steps_and_logits_are_those_of_torch(self):
        import torch
        from torch_geometric.utils import coalesce

        from capgnn.models import with_weights
        from capgnn.tracing.arguments import arguments_of
        from tests import modules

        warnings.simplefilter("ignore")
        kept = tempfile.TemporaryDirectory()
        self.addCleanup(kept.cleanup)
        folder = kept.name
        given = data(n=150, edges=700, symmetric=False, weights=True)
        given.edge_index, given.edge_weight = coalesce(given.edge_index, given.edge_weight)
        store, trained = capgnn.to_store(given, os.path.join(folder, "store")), set()
        for name, make in modules.TRACED.items():
            torch.manual_seed(1)
            module = make()
            weight = given.edge_weight if name == "weighted" else None
            plain = {"x": given.x, "edge_index": given.edge_index, **({} if weight is None else {"edge_weight": weight})}
            program = capgnn.trace(module, plain)
            file = os.path.join(folder, "net.json")
            with open(file, "w", encoding="utf-8") as f:
                f.write(re.sub(r'"p": [-+.e0-9]+', '"p": 0.0', program.text()))  # nothing is dropped
            want = None
            for place, devices in DEVICES.items():
                with self.subTest(name, devices=place):
                    try:
                        run = capgnn.train(store, model=file, init=program.weights, epochs=STEPS, lr=RATE, weight_decay=0, devices=devices,
                                           ignore_weights=weight is None, run_dir=os.path.join(folder, f"{name} {place}")).result()
                    except capgnn.ProgramError as e:  # its operations are not trained
                        self.assertEqual(e.code, 2, e)
                        break
                    graph = graph_for(program.matrix, given.edge_index, len(given.x), torch.float64)
                    want = want or steps(module, given.x, graph, weight, given.y, given.train_mask).state_dict()
                    got = run.weights("last")
                    for key in got:
                        if key.endswith(ROUNDED):
                            continue
                        np.testing.assert_allclose(got[key], want[key], rtol=0, atol=TOLERANCE, err_msg=key)
                    with torch.no_grad():
                        graph = graph_for(program.matrix, given.edge_index, len(given.x), torch.float32)
                        logits = with_weights(module, got)(**arguments_of(module, given.x, graph, weight, {"batch": one_graph(given.x)}))
                        logits = logits[0] if isinstance(logits, tuple) else logits
                    predicted = torch.from_numpy(np.array(run.predict(weights="last", devices=devices)))
                    if program.ends:
                        predicted = predicted.log_softmax(-1)
                    np.testing.assert_allclose(predicted, logits, rtol=0, atol=TOLERANCE)
                    trained.add(name)
        self.assertLessEqual(set(modules.TRAINED), trained)
        print(f"{len(trained)} of {len(modules.TRACED)} traced modules take torch's steps:", *sorted(trained), sep=", ")
