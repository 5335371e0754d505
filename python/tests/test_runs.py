"""Training and prediction by the program: progress, results, errors, and interruptions."""
import datetime
import json
import os
import pathlib
import pickle
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import unittest
from unittest import mock

import numpy as np

import capgnn
from capgnn.runs import _Lines, _plain
from tests import graph, has, needs_program, needs_pyg

SMALL = dict(hidden=8, layers=2, epochs=4, devices="cpu:threads=1", order="none")


class Folder(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = os.path.realpath(folder.name)

    def path(self, name):
        return os.path.join(self.folder, name)


class CommandTest(Folder):
    def test_flags(self):
        with mock.patch.dict(os.environ, {"CAPGNN": sys.executable}):
            got = capgnn.command("train", {"batch_size": 256, "optimizer": ("adam", {"amsgrad": True}), "partitioner": {"by": ["vertices", "edges"]}, "quiet": False, "init": None, "fanout": [15, 10], "lr": 0.1, "split": "-1", "weight_decay": {"convs": 0.01, "lins": 5e-4}})
        self.assertEqual(got[1:], ["train", "--batch-size=256", "--optimizer=adam,amsgrad=true", "--partitioner=by=vertices,edges", "--quiet=false", "--fanout=15,10", "--lr=0.1", "--split=-1", "--weight-decay=convs=0.01,lins=0.0005"])
        self.assertEqual(os.path.realpath(got[0]), os.path.realpath(sys.executable))

    def test_values_of_flags(self):
        def text(value):
            return capgnn.command("train", {"a": value}, sys.executable)[2:]

        for value, want in ((range(1, 4), "1,2,3"), (np.array([1, 2], np.uint64), "1,2"), (np.array([.5, .1], np.float32), "0.5,0.1"), (np.array(3), "3"),
                            (pathlib.Path("a"), "a"), ([pathlib.Path("a"), "b"], "a,b"), (np.float32(0.1), "0.1"), (np.uint64(2**64 - 1), str(2**64 - 1)),
                            (np.True_, "true"), ([True, np.False_], "true,false"), ({"a": np.float32(.5), 1: True}, "a=0.5,1=true"), (np.str_("x"), "x"), ("", "")):
            self.assertEqual(text(value), ["--a=" + want], repr(value))
        self.assertEqual(text(None), [])
        for value in ({1, 2}, (i for i in [1]), b"a", datetime.date(2020, 1, 1), np.datetime64("2020-01-01"), np.timedelta64(1, "D"), [None], [[1], [2]],
                      np.ones((2, 2)), 1j, object(), np.array(["2020-01-01"], "M8[D]")):
            with self.assertRaisesRegex(TypeError, "^a: .* is no number, text or path"):
                text(value)
        for value in ([], (), {}, np.array([]), range(0), "a\0b", "\ud800"):
            with self.assertRaisesRegex(ValueError, "^a: "):
                text(value)

    def test_values_are_looked_at_before_anything_is_made(self):
        graph = {"edge_index": np.array([[0], [1]]), "x": np.eye(2), "y": [0, 1]}
        for error, data, flags in ((TypeError, graph, {"lr": datetime.date(2020, 1, 1)}), (ValueError, graph, {"model": "g\0"}), (ValueError, graph, {"run_dir": ""}),
                                   (ValueError, graph, {"run_dir": 3}), (ValueError, "cora", {"run_dir": b"a"}), (ValueError, "cora", {"resume": ""}), (ValueError, "cora", {"class_names": ["a"]})):
            with self.assertRaises(error):
                capgnn.train(data, program=sys.executable, **{"run_dir": self.path("run"), **flags})
        self.assertEqual(os.listdir(self.folder), [])

    def test_no_program(self):
        with mock.patch.dict(os.environ, {"CAPGNN": "", "PATH": self.folder}), mock.patch("sysconfig.get_path", return_value=self.folder):
            with self.assertRaisesRegex(FileNotFoundError, "not on PATH"):
                capgnn.train("cora", run_dir=self.path("run"))
            with self.assertRaisesRegex(FileNotFoundError, "program=nowhere"):
                capgnn.find_program("nowhere")
        with mock.patch.dict(os.environ, {"CAPGNN": self.path("none")}), self.assertRaisesRegex(FileNotFoundError, r"\$CAPGNN: "):
            capgnn.find_program()
        self.assertEqual(os.listdir(self.folder), [])

    def test_error_in_a_pool(self):
        e = pickle.loads(pickle.dumps(capgnn.ProgramError("a: b", 2, ["capgnn"])))
        self.assertEqual((e.line, e.code, e.command, str(e)), ("a: b", 2, ["capgnn"], "a: b (exit code 2)"))

    def test_lines_of_a_file_that_grows_and_is_cut(self):
        path = self.path("metrics.jsonl")
        lines = [json.dumps({"epoch": i, "loss": i / 7}) + "\n" for i in range(9)]
        seen = _Lines(path)

        def new(text):
            with open(path, "w") as f:
                f.write(text)
            return [e["epoch"] for e in seen.new()]

        self.assertEqual(seen.new(), [])
        self.assertEqual(new(lines[0] + lines[1][:5]), [0])
        self.assertEqual(new("".join(lines[:4])), [1, 2, 3])
        self.assertEqual(new("".join(lines[:2])), [])  # cut behind a checkpoint
        self.assertEqual(new("".join(lines[:6])), [4, 5])
        longer = json.dumps({"epoch": 0, "loss": "other bytes, so that no line begins where one began"}) + "\n"
        self.assertEqual(new(longer + "".join(lines[1:7])) + [e["epoch"] for e in seen.new()], [6])  # cut, and beyond the place at once
        self.assertEqual(new(longer + "".join(lines[1:9])) + [e["epoch"] for e in seen.new()], [7, 8])

    def test_scalars_of_yaml(self):
        for text, want in (("gcn", "gcn"), ('""', ""), ('"a\\"b: c"', 'a"b: c'), ("'it''s'", "it's"), ("0.5", "0.5")):
            self.assertEqual(_plain(text), want)

    def test_masks(self):
        with open(self.path("config.yaml"), "w") as f:
            f.write("lr: 1\n")
        run = capgnn.Run(self.folder)
        with self.assertRaisesRegex(FileNotFoundError, r"split.npz: there is none: the run has not begun"):
            run.masks()
        want = {"train_mask": np.array([True, False, False]), "val_mask": np.zeros(3, bool), "test_mask": np.array([False, True, True])}
        np.savez(self.path("split.npz"), ids=np.arange(3), **want)
        got = run.masks()
        self.assertEqual(list(got), list(want))
        for key in want:
            np.testing.assert_array_equal(got[key], want[key])

    def test_no_run(self):
        with self.assertRaisesRegex(FileNotFoundError, "no run there"):
            capgnn.Run(self.folder)


@needs_program
class RunsTest(Folder):
    def setUp(self):
        super().setUp()
        self.store = capgnn.to_store(graph(), self.path("store"))

    def test_progress_and_result(self):
        training = capgnn.train(self.store, model="sage", run_dir=self.path("run"), eval_every=2, **SMALL)
        epochs = list(training)
        self.assertEqual([e["epoch"] for e in epochs], [0, 1, 2, 3])
        self.assertEqual(list(training), epochs, "again, from the first")
        run = training.result()
        self.assertFalse(training.running)
        self.assertTrue(run.finished)
        self.assertEqual(run.result["epochs"], 4)
        self.assertEqual(os.path.realpath(run.config["dataset-path"]), os.path.realpath(self.store))
        columns = run.metrics()
        self.assertEqual(columns["epoch"].tolist(), [0, 1, 2, 3])
        self.assertEqual([e["loss"] for e in epochs], columns["loss"].tolist())
        self.assertEqual(np.isnan(columns["val"]).tolist(), ["val" not in e for e in epochs])
        self.assertEqual(columns["bytes.h2d"].tolist(), [e["bytes"]["h2d"] for e in epochs])
        self.assertEqual(set(run.weights("last")), set(run.weights()))
        if has("pandas"):
            self.assertEqual(run.frame().index.tolist(), [0, 1, 2, 3])

    def test_parts_and_lists_of_devices(self):
        run = capgnn.train(self.store, run_dir=self.path("run"), **{**SMALL, "devices": ["cpu:threads=1", "cpu:threads=1"]}).result()
        self.assertEqual(run.result["parts"], 2)
        parts = run.metrics()["part_s"]
        self.assertEqual([len(p) for p in parts], [2] * 4)

    def test_several_seeds(self):
        training = capgnn.train(self.store, run_dir=self.path("all"), seeds="1,3", **SMALL)
        with self.assertRaisesRegex(ValueError, r"call results\(\)"):
            training.result()
        runs = training.results()
        self.assertEqual([r.result["seed"] for r in runs], [1, 3])
        self.assertEqual([r.path for r in runs], [r.path for r in capgnn.train(resume=self.path("all")).results()])
        alone = capgnn.train(self.store, run_dir=self.path("one"), seed=3, **SMALL)
        self.assertEqual([r.result["weights_sha256"] for r in alone.results()], [runs[1].result["weights_sha256"]])

    def test_a_folder_of_its_own(self):
        was = os.getcwd()
        os.chdir(self.folder)
        try:
            runs = [capgnn.train("store", **SMALL) for _ in range(2)]
            paths = {r.result().path for r in runs}
            self.assertEqual(len(paths), 2)
            for p in paths:
                self.assertRegex(os.path.relpath(p), r"^runs/store-gcn-\d{8}-\d{6}(-2)?$")
        finally:
            os.chdir(was)

    def test_errors(self):
        was = os.getcwd()
        os.chdir(self.folder)
        try:
            for flags, want in (({"hiden": 8}, "did you mean --hidden"), ({"epochs": -1}, "--epochs"), ({"model": "gnc"}, "--model"), ({"dataset": "nowhere/at/all"}, "--dataset")):
                with self.assertRaisesRegex(capgnn.ProgramError, want) as got:
                    capgnn.train(**{"dataset": self.store, **flags}).result()
                self.assertEqual(got.exception.code, 2)
                self.assertNotIn("\n", got.exception.line)
                with self.assertRaises(capgnn.ProgramError):
                    list(capgnn.train(**{"dataset": self.store, **flags}))
            self.assertEqual(os.listdir("runs"), [], "no folder is left")
        finally:
            os.chdir(was)
        run = capgnn.train(self.store, run_dir=self.path("run"), **SMALL).result()
        with self.assertRaisesRegex(capgnn.ProgramError, "already holds a run"):
            capgnn.train(self.store, run_dir=run.path, **SMALL).result()
        with self.assertRaisesRegex(capgnn.ProgramError, "--what"):
            run.predict("lables")
        with self.assertRaisesRegex(ValueError, "end the name in .npy"):
            run.predict(out="x.csv")

    def test_a_graph_in_memory(self):
        run = capgnn.train(graph(), run_dir=self.path("run"), **SMALL).result()
        self.assertEqual(run.config["dataset-path"], os.path.join(run.path, "data"))
        self.assertEqual(run.predict().shape, (60, 3))
        same = capgnn.train(self.store, run_dir=self.path("same"), **SMALL).result()
        self.assertEqual(run.result["weights_sha256"], same.result["weights_sha256"])
        np.testing.assert_array_equal(run.predict(dataset=graph(n=20, seed=3)), run.predict(dataset=capgnn.to_store(graph(n=20, seed=3), self.path("other"))))
        with self.assertRaisesRegex(FileExistsError, "already holds a run"):
            capgnn.train(graph(n=20), run_dir=run.path, **SMALL)
        self.assertEqual(len(capgnn.read_store(os.path.join(run.path, "data"))["y"]), 60)
        os.makedirs(self.path("mine"))
        with open(self.path("mine/notes.txt"), "w") as f:
            f.write("mine")
        with self.assertRaisesRegex(FileExistsError, "holds notes.txt"):
            capgnn.train(graph(), run_dir=self.path("mine"), **SMALL)
        self.assertEqual(os.listdir(self.path("mine")), ["notes.txt"])
        capgnn.train(graph(), run_dir=self.path("mine"), overwrite=True, **SMALL).result()
        with self.assertRaisesRegex(ValueError, "drop the graph"):
            capgnn.train(graph(), resume=run)
        runs = capgnn.train(graph(), run_dir=self.path("seeds"), seeds="1,2", **SMALL).results()
        self.assertEqual([r.predict("labels").shape for r in runs], [(60,)] * 2)

    def test_a_graph_that_is_interrupted_and_resumed(self):
        training = capgnn.train(graph(), run_dir=self.path("run"), **{**SMALL, "epochs": 100000})
        next(iter(training))
        training.interrupt()
        again = capgnn.train(resume=training.path)
        next(iter(again))
        again.interrupt()
        self.assertFalse(again.running)

    def test_a_graph_that_is_refused(self):
        was = os.getcwd()
        os.chdir(self.folder)
        try:
            for run_dir in (None, self.path("new"), self.path("there")):
                os.makedirs(self.path("there"), exist_ok=True)
                with self.assertRaisesRegex(ValueError, "edge_index"):
                    capgnn.train({"x": np.eye(3)}, run_dir=run_dir)
                with self.assertRaisesRegex(capgnn.ProgramError, "did you mean --hidden"):
                    capgnn.train(graph(), run_dir=run_dir, hiden=8).result()
                self.assertEqual((os.path.exists("new"), os.listdir("there"), os.listdir("runs")), (False, [], []))
            self.assertRegex(capgnn.train(graph(), **SMALL).result().path, r"/runs/data-gcn-\d{8}-\d{6}$")
        finally:
            os.chdir(was)

    @needs_pyg
    def test_a_data(self):
        import torch
        from torch_geometric.data import Data

        data = Data(**{k: torch.from_numpy(v) for k, v in graph().items()})
        run = capgnn.train(data, run_dir=self.path("run"), **SMALL).result()
        np.testing.assert_array_equal(run.predict(), run.predict(dataset=data))

    def test_predictions(self):
        run = capgnn.train(self.store, run_dir=self.path("run"), **SMALL).result()
        before = os.listdir(run.path)
        logits = run.predict()
        self.assertEqual((logits.shape, logits.dtype), ((60, 3), np.float32))
        np.testing.assert_array_equal(run.predict("labels"), logits.argmax(1))
        self.assertEqual(run.predict("embeddings", layer=0).shape, (60, 8))
        self.assertEqual(sorted(os.listdir(run.path)), sorted(before), "nothing is left in the folder")
        other = capgnn.to_store(graph(n=20, seed=3), self.path("other"))
        kept = capgnn.predict(run.path, dataset=other, out=self.path("kept.npy"), weights="last")
        self.assertEqual(kept.shape, (20, 3))
        np.testing.assert_array_equal(np.load(self.path("kept.npy")), kept)

    def test_weights_to_start_from(self):
        first = capgnn.train(self.store, run_dir=self.path("first"), **SMALL).result()
        second = capgnn.train(self.store, run_dir=self.path("second"), init=first.weights("last"), **SMALL)
        run = second.result()
        np.testing.assert_array_equal(run.predict(weights=run.weights_file(os.path.join(run.path, "init.safetensors"))), first.predict(weights="last"))

    def long(self, **more):
        return capgnn.train(self.store, run_dir=self.path("run"), **{**SMALL, "epochs": 100000, "eval_every": 0, "checkpoint_every": 0, **more})

    def test_interrupted_and_resumed(self):
        training = self.long()
        for epoch in training:
            if epoch["epoch"] >= 5:
                break
        training.interrupt()
        self.assertFalse(training.running)
        with self.assertRaises(capgnn.ProgramError) as got:
            training.result()
        self.assertEqual(got.exception.code, 130)
        done = len(list(capgnn.Run(training.path)._lines()))
        self.assertGreaterEqual(done, 6)
        self.assertFalse(capgnn.Run(training.path).finished)
        again = capgnn.train(resume=capgnn.Run(training.path))
        seen = []
        for epoch in again:
            seen.append(epoch["epoch"])
            if len(seen) > done + 3:
                break
        again.interrupt()
        self.assertEqual(seen, list(range(len(seen))))

    def test_the_end_of_a_block(self):
        with self.assertRaises(ZeroDivisionError), self.long() as training:
            next(iter(training))
            1 / 0
        self.assertFalse(training.running)
        self.assertTrue(os.listdir(os.path.join(training.path, "checkpoint")))

    def test_killed(self):
        training = self.long()
        next(iter(training))
        os.kill(training._process._child.pid, signal.SIGKILL)
        with self.assertRaisesRegex(capgnn.ProgramError, "ended by signal 9") as got:
            list(training)
        self.assertEqual(got.exception.code, -9)

    def script(self, text):
        """Starts Python with a program that trains, in a group of its own, as a terminal does."""
        text = f"import capgnn\nt = capgnn.train({self.store!r}, run_dir={self.path('run')!r}, hidden=8, layers=2, epochs=100000, checkpoint_every=0)\n" + text
        child = subprocess.Popen([sys.executable, "-c", text], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True,
                                 env={**os.environ, "PYTHONPATH": os.path.dirname(os.path.dirname(capgnn.__file__)), "CAPGNN": capgnn.find_program()})
        self.addCleanup(child.stdout.close)
        self.addCleanup(child.stderr.close)
        return child

    def test_ctrl_c(self):
        signal.signal(signal.SIGINT, signal.default_int_handler)  # shells have jobs behind & ignore it, and so would children
        for name, text in (("iterating", "for e in t: print(e['epoch'], flush=True)"),
                           ("waiting", "print(next(iter(t)), flush=True)\nt.result()"),
                           ("elsewhere", "import time\nfor e in t:\n    print(e['epoch'], flush=True)\n    time.sleep(60)")):
            with self.subTest(name):
                child = self.script(text)
                child.stdout.readline()
                time.sleep(0.2)
                os.killpg(child.pid, signal.SIGINT)
                out, err = child.communicate(timeout=60)
                self.assertIn("KeyboardInterrupt", err)
                self.assertTrue(os.listdir(self.path("run/checkpoint")), err)
                done = len(list(capgnn.Run(self.path("run"))._lines()))
                resumed = capgnn.train(resume=self.path("run"))
                next(e for e in resumed if e["epoch"] > done)  # nothing holds the folder
                resumed.interrupt()
                with self.assertRaises(capgnn.ProgramError) as got:
                    resumed.result()
                self.assertEqual(got.exception.code, 130, got.exception.line)
                shutil.rmtree(self.path("run"))

    def test_the_end_of_the_interpreter(self):
        child = self.script("next(iter(t))")
        out, err = child.communicate(timeout=60)
        self.assertEqual((child.returncode, out, err), (0, "", ""))
        self.assertTrue(os.listdir(self.path("run/checkpoint")))
