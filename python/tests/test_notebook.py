"""What a notebook shows, and the notebook of the guide."""
import ast
import contextlib
import io
import json
import os
import sys
import tempfile
import types
import unittest
from unittest import mock
from xml.etree import ElementTree

import capgnn
from capgnn import notebook
from tests import needs_program

NOTEBOOK = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "docs", "guide", "notebook.ipynb")


class Kernel:
    """Stands in for IPython in a notebook: keeps what a display shows."""

    def __init__(self):
        self.shown, self.kernel = [], True

    def modules(self):
        display = types.SimpleNamespace(HTML=str, display=lambda text, display_id: types.SimpleNamespace(update=self.shown.append))
        return {"IPython": types.SimpleNamespace(get_ipython=lambda: self), "IPython.display": display}


class NotebookTest(unittest.TestCase):
    def test_charts_are_pictures_of_the_numbers(self):
        points = [(0.0, 4.0), (1.0, 2.0), (2.0, 3.0)]
        svg = ElementTree.fromstring(notebook.chart("loss", {"training": points, "validation": []}))
        line, = svg.iter("polyline")
        at = [tuple(map(float, p.split(","))) for p in line.get("points").split()]
        self.assertEqual(at.pop(), at[-1])  # so that a single point is a dot
        self.assertEqual([x for x, _ in at], sorted(x for x, _ in at))
        self.assertAlmostEqual((at[1][1] - at[2][1]) * 2, at[1][1] - at[0][1], delta=0.2)  # 2 lies below 3 half as far as below 4
        self.assertEqual(notebook.chart("loss", {"training": []}), "")
        ElementTree.fromstring(notebook.chart("flat", {"training": [(0.0, 0.0)]}))

    def test_line(self):
        self.assertEqual(notebook.line({"epoch": 4, "loss": 0.5, "val": None, "epoch_s": 0.0123}, lambda: "60"), "epoch 5 of 60, loss 0.5000, 12.3 ms an epoch")
        self.assertEqual(notebook.line({"epoch": 0, "loss": None, "val": 0.25, "epoch_s": 2}), "epoch 1, validation 0.2500, 2 s an epoch")

    def test_a_line_only_in_notebooks(self):
        epochs = [{"epoch": e, "loss": 1.0, "epoch_s": 1.0} for e in range(3)]
        kernel = Kernel()
        with mock.patch.dict(sys.modules, kernel.modules()), mock.patch.object(notebook, "EVERY", 0):
            notebook.follow(epochs)
            self.assertEqual([text.split(",")[0] for text in kernel.shown], ["epoch 1", "epoch 2", "epoch 3", "epoch 3"])
            del kernel.shown[:], kernel.kernel
            notebook.follow(iter("no epoch is asked for"))
        notebook.follow(iter("no epoch is asked for"))
        self.assertEqual(kernel.shown, [])

    @needs_program
    def test_the_notebook_of_the_guide(self):
        with open(NOTEBOOK, encoding="utf-8") as f:
            cells = ["".join(c["source"]) for c in json.load(f)["cells"] if c["cell_type"] == "code"]
        was, scope, out, kernel, last = os.getcwd(), {}, io.StringIO(), Kernel(), None
        with tempfile.TemporaryDirectory() as folder, contextlib.redirect_stdout(out), mock.patch.dict(sys.modules, kernel.modules()):
            os.chdir(folder)
            try:
                for cell in cells:
                    *body, end = ast.parse(cell).body
                    exec(compile(ast.Module(body, []), NOTEBOOK, "exec"), scope)
                    last = eval(compile(ast.Expression(end.value), NOTEBOOK, "eval"), scope) if isinstance(end, ast.Expr) else exec(compile(ast.Module([end], []), NOTEBOOK, "exec"), scope)
                    if isinstance(last, capgnn.Run):
                        page = ElementTree.fromstring("<p>" + last._repr_html_() + "</p>")
                        self.assertEqual(len(list(page.iter("polyline"))), 5)
            finally:
                os.chdir(was)
        share, result = (float(word.rstrip(".")) for word in out.getvalue().split() if word[0] == "0")
        self.assertEqual(share, result)
        self.assertGreater(share, 0.8)
        self.assertEqual(len(last), 5)
        self.assertTrue(kernel.shown[-1].startswith("epoch 60 of 60, loss "), kernel.shown[-1:])
