"""Runs: trained with the program, followed while they train, and read from their folders (docs/formats/run.md)."""
from __future__ import annotations

import json
import os
import re
import shutil
import tempfile
import time
from typing import Any, Dict, Iterator, List, Mapping, Optional, Sequence, Union

import numpy as np

from . import notebook
from .program import Process, command, find_program
from .store import MASKS, Path, to_store
from .tensors import read_weights, write_weights

# PAUSE is the time between two looks at a growing metrics.jsonl, in seconds.
PAUSE = 0.05


class Run:
    """The folder of a run.

    path: the folder
    """

    def __init__(self, path: Path):
        self.path = os.path.abspath(os.fspath(path))
        self.module: Any = None  # that `fit` has trained
        if not os.path.exists(os.path.join(self.path, "config.yaml")):
            raise FileNotFoundError(f"{self.path}: no run there: the folder has no config.yaml")

    def __repr__(self) -> str:
        return f"Run({self.path!r})"

    def _repr_html_(self) -> str:
        """Returns the run as notebooks show it."""
        return notebook.page(self.result if self.finished else None, self.metrics(), self.path)

    @property
    def finished(self) -> bool:
        """Whether the run has a result; else `train(resume=path)` continues it."""
        return os.path.exists(os.path.join(self.path, "result.json"))

    @property
    def result(self) -> Dict[str, Any]:
        """What result.json says: scores at the best epoch (`test`, `val`), times, bytes. Raises FileNotFoundError if the run is not finished."""
        with open(os.path.join(self.path, "result.json"), encoding="utf-8") as f:
            return json.load(f)

    @property
    def config(self) -> Dict[str, str]:
        """All settings of the run by the names of the flags, as text."""
        with open(os.path.join(self.path, "config.yaml"), encoding="utf-8") as f:
            pairs = [line.rstrip("\n").split(": ", 1) for line in f if ": " in line and not line.startswith("#")]
        return {key: _plain(value.strip()) for key, value in pairs}

    def metrics(self) -> Dict[str, np.ndarray]:
        """Returns metrics.jsonl as columns, one value for each epoch: epoch, loss, train, val, test, epoch_s, bytes.h2d, ….

        Each part of a nested value is a column of its own, with dots between the names. Numbers are int64 or float64, with NaN where an epoch
        has none; other columns have dtype object.
        """
        lines = [_flat(line) for line in self._lines()]
        keys = list(dict.fromkeys(k for line in lines for k in line))
        return {k: _column([line.get(k) for line in lines]) for k in keys}

    def frame(self) -> Any:
        """Returns `metrics` as a pandas DataFrame with the epoch as its index."""
        import pandas

        return pandas.DataFrame(self.metrics()).set_index("epoch")

    def weights(self, which: str = "best") -> Dict[str, np.ndarray]:
        """Returns the weights by torch_geometric's names: "best" (in validation) or "last"."""
        return read_weights(self.weights_file(which))

    def weights_file(self, which: str = "best") -> str:
        """Returns the path of the weights: "best", "last", or that of a file, which is returned as it is."""
        name = {"best": "model.safetensors", "last": "last.safetensors"}.get(which)
        return os.path.join(self.path, name) if name else which

    def model(self, weights: str = "best", module: Any = None) -> Any:
        """Returns the torch module with its weights: see `capgnn.models.from_run`. The run that `fit` returns knows its module."""
        from .models import from_run

        return from_run(self.path, weights, self.module if module is None else module)

    def predict(self, what: str = "logits", **flags: Any) -> np.ndarray:
        """Returns what the program predicts for every vertex: see `capgnn.predict`."""
        return predict(self, what, **flags)

    def masks(self) -> Dict[str, np.ndarray]:
        """Returns the split of the run, by vertex of its data set: "train_mask", "val_mask" and "test_mask", bool [n].

        A set that the run does not have is False everywhere.
        raises: FileNotFoundError if the run has not written it
        """
        path = os.path.join(self.path, "split.npz")
        if not os.path.exists(path):
            raise FileNotFoundError(f"{path}: there is none: the run has not begun")
        with np.load(path, allow_pickle=False) as z:
            return {key: z[key] for key in MASKS}

    def _lines(self) -> Iterator[Dict[str, Any]]:
        with open(os.path.join(self.path, "metrics.jsonl"), encoding="utf-8") as f:
            for line in f:
                if line.endswith("\n"):  # the last one may be on its way
                    yield json.loads(line)


class Training:
    """A run, or runs of several seeds, that train in a process of their own. Iterate over it for the epochs of a run; call `result` or `results` for its end.

    Ctrl-C while either waits lets the program finish the epoch and write a checkpoint, then raises KeyboardInterrupt; a second Ctrl-C stops
    it at once. `train(resume=path)` continues it. At the end of a `with` block, and when the interpreter ends, a program that still
    runs is interrupted in the same way.

    path: the run folder, which the program fills
    """

    def __init__(self, process: Process, path: str, made: bool, kept: Any, seeds: bool = False, data: Optional[str] = None):
        self.path, self._process, self._made, self._seeds = path, process, made, seeds
        self._kept = kept  # a temporary folder that the program reads
        self._data = data  # a store that was written for the run

    def __iter__(self) -> Iterator[Dict[str, Any]]:
        """Yields a dict for each epoch from the first, as metrics.jsonl has it, until the program has ended. A resumed run yields its earlier epochs too; several seeds yield none.

        raises: ProgramError, after the last epoch, if the program did not end well
        """
        lines = _Lines(os.path.join(self.path, "metrics.jsonl"))
        ended = False
        while not ended:
            try:
                ended = self._process.wait(PAUSE)  # before the file is read for the last time
                new = lines.new()
            except KeyboardInterrupt:
                self.interrupt()
                raise
            yield from new
        self._tidy()
        self._process.check()

    def __enter__(self) -> Training:
        return self

    def __exit__(self, *_: Any) -> None:
        self.interrupt()

    @property
    def running(self) -> bool:
        return self._process.running

    def result(self) -> Run:
        """Waits for the end of the program and returns the run; a notebook shows the newest epoch meanwhile. Raises ProgramError if it did not end well, ValueError at once of `seeds=`: call `results`."""
        if self._seeds:
            raise ValueError("several seeds have several runs: call results()")
        return self.results()[0]

    def results(self) -> List[Run]:
        """Waits for the end of the program and returns its runs: with `seeds=` one for each seed, else one. Raises ProgramError if it did not end well."""
        if not self._seeds and not self._process.verbose:
            notebook.follow(self, lambda: Run(self.path).config["epochs"])
        try:
            self._process.wait()
        finally:
            self._tidy()
        self._process.check()
        if not self._seeds:
            return [Run(self.path)]
        with open(os.path.join(self.path, "seeds.json"), encoding="utf-8") as f:
            return [Run(os.path.join(self.path, f"seed-{seed}")) for seed in json.load(f)["seeds"]]

    def interrupt(self) -> None:
        """Lets the program finish the epoch and write a checkpoint, and waits for its end; nothing if it has ended."""
        self._process.interrupt()
        self._tidy()

    def _tidy(self) -> None:
        if self._kept is not None:
            self._kept.cleanup()
            self._kept = None
        if self._data is not None and not _holds_run(self.path):  # the program refused its flags
            shutil.rmtree(self._data, ignore_errors=True)
        if self._made and not os.listdir(self.path):
            os.rmdir(self.path)
        self._made, self._data = False, None


def train(dataset: Any = None, *, run_dir: Optional[Path] = None, resume: Optional[Path] = None, init: Any = None,
          class_names: Optional[Sequence[str]] = None, columns: Optional[Sequence[str]] = None,
          program: Optional[str] = None, verbose: bool = False, **flags: Any) -> Training:
    """Starts `capgnn train` and returns at once (a graph is written first); flags are those of the program (`capgnn train --help`), with underscores.

    dataset: path of a store (`to_store`) or of any file that capgnn reads, the name of a published data set, or a graph: a torch_geometric
        Data, a DGL graph, or whatever else `to_store` takes. A graph is written as the store `data` in the run folder, where `predict`
        and `resume` find it (once the folder is moved, `predict` needs dataset="RUN/data")
    run_dir: folder of the run (default: runs/DATASET-MODEL-TIME)
    resume: a run folder to be continued, or a `Run`; nothing else is needed
    init: weights to start from: a file, a torch module, or tensors by name
    class_names, columns: of a graph, as `to_store` takes them
    program: path of the program (default: $CAPGNN, then capgnn on PATH)
    flags: seeds="1-10" trains one run for each seed: `results` returns them, and run_dir is the folder of all
    verbose: show the program's notes and progress on standard error; else each note is a UserWarning at the end

        capgnn.train("store", model="gat", hidden=64, heads=4, devices=["cpu:0", "cpu:1"], epochs=100).result()

    raises: FileNotFoundError if there is no program; TypeError or ValueError for what cannot be the value of a flag; of a graph ValueError as `to_store` does, and FileExistsError if run_dir has a run, or other files but with overwrite=True. If the program
        refuses its flags, `result` and iteration raise ProgramError
    """
    program = find_program(program)  # before anything is made
    command("train", flags, program)
    for key, folder in (("run_dir", run_dir), ("resume", None if isinstance(resume, Run) else resume)):
        if folder is not None and (folder == "" or not isinstance(folder, (str, os.PathLike))):
            raise ValueError(f"{key}: {folder!r} names no folder")
    graph = _is_graph(dataset)
    if not graph and (class_names is not None or columns is not None):
        raise ValueError("class_names and columns are of a graph in memory: a data set in files has classes.csv and "
                         "columns.csv (docs/formats/store.md)")
    if graph and resume is not None:
        raise ValueError("resume= continues with the data set of the run: drop the graph")
    given: Dict[str, Any] = {"dataset": "data" if graph else dataset, **flags}
    kept = None
    if init is not None and not isinstance(init, (str, os.PathLike)):
        kept = tempfile.TemporaryDirectory(prefix="capgnn-init-")
        write_weights(os.path.join(kept.name, "init.safetensors"), init)
        init = os.path.join(kept.name, "init.safetensors")
    given["init"] = init
    given.update(json=True, run_dir=run_dir)
    made = False
    if resume is not None:
        path = resume.path if isinstance(resume, Run) else os.path.abspath(os.fspath(resume))
        given["resume"] = path
    else:
        made = run_dir is None
        path = _new_folder(given) if run_dir is None else os.path.abspath(os.fspath(run_dir))
        given["run_dir"] = path
    data = None
    if graph:
        made = made or not os.path.exists(path)
        try:
            if _holds_run(path):
                raise FileExistsError(f"{path}: already holds a run: continue it with resume=, or choose another folder")
            if os.path.isdir(path) and os.listdir(path) and not given.get("overwrite"):
                raise FileExistsError(f"{path}: holds {os.listdir(path)[0]} and no run: name an empty folder, move that away, or give overwrite=True")
            given["overwrite"] = True  # the data, which lie in the folder before the run does
            given["dataset"] = data = to_store(dataset, os.path.join(path, "data"), class_names=class_names,
                                               columns=columns)
        except BaseException:
            if kept is not None:
                kept.cleanup()
            if made and os.path.isdir(path):
                os.rmdir(path)
            raise
    seeds = given.get("seeds") is not None or resume is not None and os.path.exists(os.path.join(path, "seeds.json"))
    return Training(Process(command("train", given, program), verbose), path, made, kept, seeds, data)


def predict(run: Union[Run, Path], what: str = "logits", *, out: Optional[Path] = None, program: Optional[str] = None, **flags: Any) -> np.ndarray:
    """Returns what the program predicts with the weights of a run; row i is vertex i of the data set.

    run: a run, or the path of its folder
    what: "logits" (float32 [n, c]), "probabilities" (the same shape), "labels" (int64 [n], or uint8 [n, c] for several labels per vertex) or
        "embeddings" (float32 [n, hidden])
    out: an .npy file to write and keep, from which the returned array is memory-mapped (default: no file is kept)
    flags: of the program (`capgnn predict --help`): dataset= (another one: a path, a name or a graph, as `train` takes it), weights= (best, last or a file), layer= (of embeddings), devices=
    raises: ProgramError
    """
    path = run.path if isinstance(run, Run) else os.fspath(run)
    if out is not None and not os.fspath(out).endswith(".npy"):
        raise ValueError(f"out: {os.fspath(out)}: end the name in .npy")
    with tempfile.TemporaryDirectory(prefix="capgnn-predict-") as folder:
        file = os.fspath(out) if out is not None else os.path.join(folder, "rows.npy")
        if _is_graph(flags.get("dataset")):
            flags["dataset"] = to_store(flags["dataset"], os.path.join(folder, "data"))
        process = Process(command("predict", {"run": path, "what": what, "out": file, **flags}, program))
        process.wait()
        process.check()
        return np.load(file, mmap_mode="r" if out is not None else None, allow_pickle=False)


class _Lines:
    """The epochs of a metrics.jsonl that grows. A resumed run cuts the end off and writes it again: each epoch is given once."""

    def __init__(self, path: str):
        self.path, self.at, self.epoch = path, 0, 0

    def new(self) -> List[Dict[str, Any]]:
        """Returns the epochs that have come since it was called last."""
        try:
            with open(self.path, "rb") as f:
                if os.fstat(f.fileno()).st_size < self.at:
                    self.at = 0
                f.seek(self.at)
                data = f.read()
        except FileNotFoundError:
            return []
        out = []
        for raw in data[:data.rfind(b"\n") + 1].splitlines(keepends=True):
            line = self._parsed(raw)
            if line is None or line["epoch"] > self.epoch:  # the file was cut and has grown beyond the place: read it again
                self.at = 0
                break
            self.at += len(raw)
            if line["epoch"] == self.epoch:
                self.epoch += 1
                out.append(line)
        return out

    @staticmethod
    def _parsed(raw: bytes) -> Optional[Dict[str, Any]]:
        try:
            line = json.loads(raw)
        except ValueError:
            return None
        return line if isinstance(line, dict) and isinstance(line.get("epoch"), int) else None


def _is_graph(dataset: Any) -> bool:
    """Returns whether a data set is neither a path nor a name, but in memory."""
    return dataset is not None and not isinstance(dataset, (str, os.PathLike))


def _holds_run(path: str) -> bool:
    return any(os.path.exists(os.path.join(path, file)) for file in ("config.yaml", "seeds.json"))


def _new_folder(flags: Mapping[str, Any]) -> str:
    """Makes and returns ./runs/DATASET-MODEL-TIME, as the program does, with a number behind it until it is new."""
    dataset = os.path.basename(os.path.abspath(os.fspath(flags["dataset"]))) if flags.get("dataset") else "run"
    safe = re.sub(r"[^A-Za-z0-9_.-]", "_", dataset)[:80].lstrip(".")
    model = os.path.splitext(os.path.basename(flags.get("model") or "gcn"))[0]
    base = os.path.abspath(os.path.join("runs", f"{safe}-{model}-{time.strftime('%Y%m%d-%H%M%S')}"))
    os.makedirs(os.path.dirname(base), exist_ok=True)
    path, k = base, 2
    while True:
        try:
            os.mkdir(path)
            return path
        except FileExistsError:
            path, k = f"{base}-{k}", k + 1


def _plain(value: str) -> str:
    """Returns a scalar of YAML without its quotes."""
    if value.startswith('"'):
        return json.loads(value)
    if value.startswith("'"):
        return value[1:-1].replace("''", "'")
    return value


def _flat(line: Mapping[str, Any], prefix: str = "") -> Dict[str, Any]:
    out: Dict[str, Any] = {}
    for key, value in line.items():
        if isinstance(value, dict):
            out.update(_flat(value, prefix + key + "."))
        else:
            out[prefix + key] = value
    return out


def _column(values: List[Any]) -> np.ndarray:
    if all(type(v) is int for v in values):
        return np.array(values, dtype=np.int64)
    if all(v is None or type(v) in (int, float) for v in values):
        return np.array([np.nan if v is None else v for v in values], dtype=np.float64)
    out = np.empty(len(values), dtype=object)
    out[:] = values
    return out
