"""Programs of models: lists of nodes without loops, and the files that hold them.

A node has a space and a shape. Space "V" has a row for each vertex, "E:g" one for each edge of graph g; "G" is one
value for all. The shape is that behind the row.
"""

from __future__ import annotations

import json
import os
import tempfile
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, Dict, Iterator, List, Mapping, Optional, Sequence, Set, Tuple

from ..program import Process, ProgramError, find_program
from ..store import Path
from ..tensors import write_weights

VERSION = 1


@dataclass(frozen=True)
class Node:
    """A node, or with op "tensor" a tensor of the state_dict."""

    name: str
    op: str
    inputs: Tuple[str, ...] = ()
    attributes: Mapping[str, Any] = field(default_factory=dict)
    space: str = "G"
    shape: Tuple[int, ...] = ()
    line: str = ""  # "net.py:31"

    def __str__(self) -> str:
        said = [*self.inputs, *(f"{k}={json.dumps(v)}" for k, v in self.attributes.items())]
        return f"{self.name} = {self.op}({', '.join(said)})"


class Program:
    """What the forward of a module computes: print it, `save` it for `capgnn train --model FILE`, or `check` it.

    name: the class of the module
    features, outputs: columns of x and of the logits
    nodes: in the order in which they can run
    tensors: shapes of those parameters and buffers that nodes read, by their names in the state_dict
    weights: their values, by name
    frozen: of these, those that are not trained
    weighted: whether edge weights of the data set are read; if not, train with ignore_weights=True
    matrix: whether forward multiplies with the graph as a sparse matrix
    ends: what forward does with the logits, which the loss has: "log_softmax" or nothing
    """

    def __init__(
        self, name: str, features: int, graphs: Dict[str, Dict[str, Any]], nodes: Sequence[Node],
        tensors: Mapping[str, Sequence[int]], logits: str
    ):
        self.name, self.features, self.logits = name, features, logits
        self.nodes = _needed(nodes, logits)
        read = {i for n in self.nodes for i in n.inputs}
        self.tensors = {k: list(shape) for k, shape in tensors.items() if k in read}
        self.graphs = _made(graphs, {n.attributes["graph"] for n in self.nodes if "graph" in n.attributes})
        self.outputs = next(n for n in self.nodes if n.name == logits).shape[-1]
        self.weights: Dict[str, Any] = {}
        self.frozen: List[str] = []
        self.weighted, self.matrix, self.ends = False, False, ""

    def __str__(self) -> str:
        counts = (
            f"{len(self.nodes)} nodes, {sum(n.op == 'src' for n in self.nodes)} exchanges, {len(self.tensors)} tensors"
        )
        wide = max(len(str(n)) for n in self.nodes)
        lines = (f"{str(n):{min(wide, 90)}}  {n.space}{list(n.shape)}  {n.line}".rstrip() for n in self.nodes)
        return "\n".join([f"{self.name}: {counts}", *lines, f"logits: {self.logits}"])

    def text(self) -> str:
        """Returns the file: JSON with a node on each line."""
        lines = {n.name: n.line for n in self.nodes if n.line}
        parts = [
            f'{{"capgnn_model": {VERSION}, "features": {self.features}, "outputs": {self.outputs}',
            _block("graphs", self.graphs), _block("tensors", self.tensors),
            _block("nodes", [_row(n) for n in self.nodes]), f'"logits": {json.dumps(self.logits)}'
        ] + [_block("line", lines)] * bool(lines)
        return ",\n ".join(parts) + "}\n"

    def save(self, path: Path, init: Optional[Path] = None) -> None:
        """Writes the file; init= writes the module's weights as .safetensors, which `train --init` starts from."""
        with open(path, "w", encoding="utf-8") as f:
            f.write(self.text())
        if init is not None:
            write_weights(init, self.weights)

    def check(self, program: Optional[str] = None) -> str:
        """Returns what `capgnn model check` says of the program. Raises ProgramError if it cannot be trained."""
        with self.file() as path:
            process = Process([find_program(program), "model", "check", path])
            process.wait()
            process.check()
            return process.output

    @contextmanager
    def file(self) -> Iterator[str]:
        """Writes a file for a while. Errors about it begin with "model" in place of its path, as those of traces do."""
        with tempfile.TemporaryDirectory(prefix="capgnn-model-") as folder:
            path = os.path.join(os.path.realpath(folder), f"{self.name}.json")
            self.save(path)
            try:
                yield path
            except ProgramError as e:
                raise ProgramError(e.line.replace(path, "model"), e.code, e.command) from None


def _row(n: Node) -> List[Any]:
    if n.attributes:
        return [n.name, n.op, list(n.inputs), dict(n.attributes)]
    return [n.name, n.op, list(n.inputs)] if n.inputs else [n.name, n.op]


def _block(key: str, of: Any) -> str:
    if isinstance(of, dict):
        return f'"{key}": {{' + ",".join(f"\n  {json.dumps(k)}: {json.dumps(v)}" for k, v in of.items()) + "}"
    return f'"{key}": [' + ",".join("\n  " + json.dumps(v) for v in of) + "]"


def _needed(nodes: Sequence[Node], logits: str) -> List[Node]:
    """Returns the nodes that the logits depend on, in order."""
    needed, out = {logits}, []
    for n in reversed(nodes):
        if n.name in needed:
            needed.update(n.inputs)
            out.append(n)
    return out[::-1]


def _made(graphs: Dict[str, Dict[str, Any]], used: Set[str]) -> Dict[str, Dict[str, str]]:
    """Returns the graphs that are used, and those that they are made of."""
    keep = {"g"}
    for name in used:
        while name not in keep:
            keep.add(name)
            name = graphs[name]["of"]
    return {name: made for name, made in graphs.items() if name in keep}
