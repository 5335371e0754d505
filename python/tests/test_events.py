"""The TensorBoard events of a run, read by TensorBoard's own reader, beside its metrics.jsonl."""
import os
import tempfile
import unittest

import numpy as np

import capgnn
from tests import graph, has, needs_program


@needs_program
@unittest.skipUnless(has("tensorboard"), "no tensorboard")
class EventsTest(unittest.TestCase):
    def test_events(self):
        from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

        with tempfile.TemporaryDirectory() as folder:
            store = capgnn.to_store(graph(), os.path.join(folder, "store"))
            run = capgnn.train(store, run_dir=os.path.join(folder, "run"), hidden=8, layers=2, epochs=6, eval_every=2, devices="cpu:threads=1").result()
            reader = EventAccumulator(run.path, size_guidance={"scalars": 0, "tensors": 0})
            reader.Reload()
            got = {tag.split("/")[-1]: [(e.step, e.value) for e in reader.Scalars(tag)] for tag in reader.Tags()["scalars"]}
            columns = run.metrics()
            for key, tag in (("loss", "loss"), ("epoch_s", "epoch_seconds"), ("train", "train"), ("val", "val"), ("test", "test")):
                there = ~np.isnan(columns[key])
                self.assertTrue(there.any(), key)
                steps, values = zip(*got[tag])
                np.testing.assert_array_equal(steps, columns["epoch"][there], tag)
                np.testing.assert_allclose(values, columns[key][there], rtol=1e-6, err_msg=tag)
