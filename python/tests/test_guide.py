"""The programs of docs/guide/python.md and docs/guide/recipes.md do what these say."""
import contextlib
import io
import os
import re
import tempfile
import unittest

import capgnn
from tests import graph, has, needs_program, needs_pyg, reads_models

GUIDE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "docs", "guide", "python.md")


class GuideTest(unittest.TestCase):
    def blocks(self):
        with open(GUIDE, encoding="utf-8") as f:
            found = re.findall(r"\n```python\n(.*?)```\n", f.read(), re.S)
        self.assertEqual(len(found), 3)
        return found

    def test_it_names_what_is_there(self):
        with open(GUIDE, encoding="utf-8") as f:
            for name in re.findall(r"capgnn\.([A-Za-z_]+)", f.read()):
                self.assertTrue(hasattr(capgnn, name), name)

    @needs_program
    @needs_pyg
    def test_blocks(self):
        was, scope, out = os.getcwd(), {}, io.StringIO()
        with tempfile.TemporaryDirectory() as folder, contextlib.redirect_stdout(out):
            os.chdir(folder)
            try:
                first, own, last = self.blocks()
                exec(first, scope)
                exec(last, scope)
                model = scope["model"]
                if reads_models():
                    said = io.StringIO()
                    with contextlib.redirect_stdout(said):
                        exec(own, scope)
                    self.assertRegex(said.getvalue(), r"^Net: \d+ nodes, 2 exchanges, 6 tensors\n")
                    self.assertEqual(type(scope["model"]).__name__, "Net")
            finally:
                os.chdir(was)
        lines = out.getvalue().splitlines()
        self.assertEqual(len(lines), 10 + 3, "10 evaluations, the result, the largest difference; the second block")
        self.assertGreater(float(lines[10].split()[0]), 0.6)
        self.assertLess(float(lines[11]), 1e-4)
        self.assertGreater(float(lines[12].split()[0]), 0.6)
        self.assertEqual(type(model).__name__, "GraphSAGE")

    @needs_program
    @unittest.skipUnless(has("optuna"), "no optuna")
    def test_search(self):
        with open(os.path.join(os.path.dirname(GUIDE), "recipes.md"), encoding="utf-8") as f:
            block, = re.findall(r"\n```python\n(.*?)```\n", f.read(), re.S)
        for old, new in (('"cora"', '"store"'), ("[64, 128]", "[8, 16]"), ("epochs=200", "epochs=3"), ("n_trials=20", "n_trials=2")):
            self.assertIn(old, block)
            block = block.replace(old, new)
        was, out = os.getcwd(), io.StringIO()
        with tempfile.TemporaryDirectory() as folder, contextlib.redirect_stdout(out):
            os.chdir(folder)
            try:
                capgnn.to_store(graph(), "store")
                exec(block, {})
            finally:
                os.chdir(was)
        self.assertIn("dropout", out.getvalue())
