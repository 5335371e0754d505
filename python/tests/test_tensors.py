"""Files of weights."""
import os
import tempfile
import unittest

import numpy as np

import capgnn
from tests import has


class TensorsTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.path = os.path.join(folder.name, "w.safetensors")
        self.weights = {"a.weight": np.arange(6, dtype=np.float64).reshape(2, 3), "a.bias": np.zeros(0), "eps": np.array([0.5])}

    def test_there_and_back(self):
        capgnn.write_weights(self.path, self.weights)
        back = capgnn.read_weights(self.path)
        self.assertEqual(list(back), list(self.weights))
        for key, want in self.weights.items():
            self.assertEqual(back[key].dtype, np.float32)
            np.testing.assert_array_equal(back[key], want.astype(np.float32))
        np.savez(self.path + ".npz", **self.weights)
        np.testing.assert_array_equal(capgnn.read_weights(self.path + ".npz")["a.weight"], self.weights["a.weight"])

    def test_files_that_are_damaged(self):
        capgnn.write_weights(self.path, self.weights)
        with open(self.path, "rb") as f:
            whole = f.read()
        for end in range(len(whole)):
            with open(self.path, "wb") as f:
                f.write(whole[:end])
            with self.assertRaisesRegex(ValueError, "no safetensors file", msg=str(end)):
                capgnn.read_weights(self.path)
        r = np.random.default_rng(1)
        for _ in range(300):  # anything but another error
            changed = bytearray(whole)
            for at in r.integers(0, len(whole), 3):
                changed[at] = r.integers(256)
            with open(self.path, "wb") as f:
                f.write(changed)
            try:
                capgnn.read_weights(self.path)
            except ValueError as e:
                self.assertIn("no safetensors file", str(e))

    def test_what_is_no_weights(self):
        with self.assertRaisesRegex(TypeError, "module or tensors by name"):
            capgnn.write_weights(self.path, [1, 2])

    @unittest.skipUnless(has("torch") and has("safetensors"), "no torch and safetensors")
    def test_the_format_is_that_of_others(self):
        from safetensors.numpy import load_file, save_file

        capgnn.write_weights(self.path, self.weights)
        for key, got in load_file(self.path).items():
            np.testing.assert_array_equal(got, self.weights[key].astype(np.float32))
        save_file({**self.weights, "flags": np.array([True, False])}, self.path, metadata={"format": "np"})
        for key, got in capgnn.read_weights(self.path).items():
            np.testing.assert_array_equal(got, {**self.weights, "flags": [True, False]}[key])
