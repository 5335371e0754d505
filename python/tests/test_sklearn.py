"""Scores, splits and class weights are those of scikit-learn, of tables as people have them."""
import os
import subprocess
import unittest

import numpy as np

import capgnn
from tests import has, needs_program
from tests.test_runs import Folder

needs_sklearn = unittest.skipUnless(has("sklearn"), "no scikit-learn")
SMALL = dict(edges="symmetric", model="sage", hidden=8, layers=2, epochs=6, devices="cpu:threads=1", order="none")


def table(n=400, classes=("b", "a", "c"), unknown=None, seed=0, rare=False, several=False):
    """Returns the lines of a table of vertices and of one of edges: people whose income and city show their class."""
    r = np.random.default_rng(seed)
    y = np.where(r.random(n) < 0.08, 0, 1) if rare else r.integers(0, len(classes), n)
    nodes, links = ["id,income,city,class"], ["source,target"]
    for v in range(n):
        said = classes[y[v]]
        if several:
            said = "|".join(sorted({classes[y[v]], classes[r.integers(0, len(classes))]}))
        if unknown is not None and v % 7 == 0:
            said = unknown
        nodes.append(f"p{v},{30 + 10 * y[v] + 12 * r.standard_normal():.2f},{['Rome', 'Bari', 'Pisa'][r.integers(0, 3)]},{said}")
        links += [f"p{v},p{u}" for u in r.integers(0, n, 2)]
    return "\n".join(nodes) + "\n", "\n".join(links) + "\n"


@needs_program
@needs_sklearn
class ScikitLearnTest(Folder):
    def store(self, name, *more, **kind):
        """Makes a data set of two tables and returns its path."""
        nodes, links = table(**kind)
        for file, text in (("nodes.csv", nodes), ("links.csv", links)):
            with open(self.path(name + file), "w") as f:
                f.write(text)
        command = [capgnn.find_program(), "data", "tables", "--nodes", self.path(name + "nodes.csv"), "--links", self.path(name + "links.csv"),
                   "--label", "class", "--categorical", "city", "--out", self.path(name), *more]
        subprocess.run(command, check=True, capture_output=True)
        return self.path(name)

    def truth(self, data):
        """Returns the labels of a CSV folder: a number per vertex, or 0 and 1 by class."""
        y = np.loadtxt(os.path.join(data, "labels.csv"), delimiter=",", skiprows=1, ndmin=2)
        return y[:, 0].astype(int) if y.shape[1] == 1 else y.astype(int)

    def run_of(self, data, name, **flags):
        return capgnn.train(data, run_dir=self.path(name), **{**SMALL, **flags}).result()

    def test_scores(self):
        from sklearn import metrics as sk
        tables = {
            "three": (self.store("three"), [{}, {"metric": "macro-f1"}]),
            "unknown": (self.store("unknown", unknown="NA"), [{}, {"metric": "macro-f1"}]),
            "minus": (self.store("minus", classes=("0", "10", "2"), unknown="-1"), [{}, {"metric": "macro-f1"}]),
            "rare": (self.store("rare", classes=("zfraud", "ok"), rare=True), [{}, {"metric": "average-precision"}, {"metric": "roc-auc"}, {"metric": ("average-precision", {"positive": "ok"})}]),
            "several": (self.store("several", "--label-sep", "|", several=True), [{}, {"metric": "macro-f1"}, {"metric": "average-precision"}, {"metric": "roc-auc"}]),
        }
        for name, (data, settings) in tables.items():
            for i, flags in enumerate(settings):
                run = self.run_of(data, f"{name}-run-{i}", split="0.5,0.25,0.25", **flags)
                p, y = run.predict("probabilities"), self.truth(data)
                with np.load(os.path.join(run.path, "split.npz")) as masks:
                    splits = {k: masks[k + "_mask"] for k in ("train", "val", "test")}
                for split, mask in splits.items():
                    mask = mask & (y >= 0 if y.ndim == 1 else True)
                    t, q = y[mask], p[mask]
                    guess = q.argmax(1) if y.ndim == 1 else (q > 0.5).astype(int)
                    metric = flags.get("metric", "accuracy" if y.ndim == 1 else "micro-f1")
                    if metric == "accuracy":
                        want = sk.accuracy_score(t, guess)
                    elif metric == "micro-f1":
                        want = sk.f1_score(t, guess, average="micro")
                    elif metric == "macro-f1":
                        want = sk.f1_score(t, guess, average="macro", zero_division=0)
                    else:
                        metric, keys = (metric, {}) if isinstance(metric, str) else metric
                        of = {"average-precision": sk.average_precision_score, "roc-auc": sk.roc_auc_score}[metric]
                        positive = 0 if keys else 1  # ok, zfraud
                        z = run.predict("logits")[mask].astype(np.float64)  # probabilities near 1 are equal in float32
                        want = of(t == positive, z[:, positive] - z[:, 1 - positive]) if y.ndim == 1 else of(t, z, average="macro")
                    self.assertAlmostEqual(run.result[split], want, 9, f"{name} {flags} {split}")

    def test_splits(self):
        data = self.store("data", unknown="nan")
        y = self.truth(data)
        for i, (text, shares) in enumerate([("stratified:0.5,0.25,0.25", (0.5, 0.25, 0.25)), ("stratified:0.7,0.2,0.1,seed=3", (0.7, 0.2, 0.1))]):
            run = self.run_of(data, f"run-{i}", split=text, epochs=1)
            masks = run.masks()
            self.assertEqual(sum(m.astype(int) for m in masks.values()).max(), 1)
            self.assertFalse((masks["train_mask"] | masks["val_mask"] | masks["test_mask"])[y < 0].any())
            for c in range(3):
                for mask, share in zip(("train_mask", "val_mask", "test_mask"), shares):
                    # as StratifiedShuffleSplit: within one of the share
                    self.assertLessEqual(abs((masks[mask] & (y == c)).sum() - share * (y == c).sum()), 1, f"{text}: {mask} of class {c}")
        masks = self.run_of(data, "few", split="per-class:20,90,110", epochs=1).masks()
        self.assertEqual([int((masks["train_mask"] & (y == c)).sum()) for c in range(3)], [20, 20, 20])
        self.assertEqual((int(masks["val_mask"].sum()), int(masks["test_mask"].sum())), (90, 110))

    def test_class_weights(self):
        from sklearn.utils.class_weight import compute_class_weight
        data = self.store("data", classes=("zfraud", "ok"), rare=True)
        run = self.run_of(data, "balanced", class_weights="balanced")
        y = self.truth(data)[run.masks()["train_mask"]]
        weights = compute_class_weight("balanced", classes=np.arange(2), y=y)
        other = self.run_of(data, "listed", class_weights=",".join(repr(float(w)) for w in weights))
        self.assertEqual(run.result["weights_sha256"], other.result["weights_sha256"])
        plain = self.run_of(data, "plain")
        self.assertNotEqual(run.result["weights_sha256"], plain.result["weights_sha256"])


if __name__ == "__main__":
    unittest.main()
