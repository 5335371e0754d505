"""Weights as files: safetensors, and .npz, read and written with NumPy alone.

A safetensors file is the length of its header (uint64, little-endian), the header (JSON: type, shape and place of each tensor), and the
tensors one after another.
"""
from __future__ import annotations

import json
import os
from typing import Any, Dict, Mapping

import numpy as np

from .given import to_numpy
from .store import Path

TYPES = {"F64": "<f8", "F32": "<f4", "F16": "<f2", "I64": "<i8", "I32": "<i4", "I16": "<i2", "I8": "|i1", "U8": "|u1", "BOOL": "|b1"}
# MAX_HEADER is the largest header that the format allows, in bytes.
MAX_HEADER = 100_000_000


def read_weights(path: Path) -> Dict[str, np.ndarray]:
    """Returns the tensors of a .safetensors or .npz file by name, such as model.safetensors of a run.

    raises: ValueError, with the file's name, for a file that is not of this format; OSError
    """
    if os.fspath(path).endswith(".npz"):
        with np.load(path, allow_pickle=False) as z:
            return {k: z[k] for k in z}
    with open(path, "rb") as f:
        data = f.read()
    size = int.from_bytes(data[:8], "little")
    if len(data) < 8 or size > min(MAX_HEADER, len(data) - 8):
        raise ValueError(f"{os.fspath(path)}: no safetensors file: its header is longer than the file")
    body = memoryview(data)[8 + size:]
    out: Dict[str, np.ndarray] = {}
    try:
        for name, said in json.loads(data[8:8 + size]).items():
            if name == "__metadata__":
                continue
            begin, end = said["data_offsets"]
            out[name] = np.frombuffer(body[begin:end], dtype=TYPES[said["dtype"]]).reshape(said["shape"]).copy()
    except (KeyError, TypeError, ValueError, AttributeError) as e:
        raise ValueError(f"{os.fspath(path)}: no safetensors file that can be read: {e!r}") from e
    return out


def write_weights(path: Path, weights: Any) -> None:
    """Writes weights as a .safetensors file, which `train(init=...)` starts from.

    weights: a torch module, or tensors or arrays by name as its state_dict has them; floats are written as float32
    """
    tensors = _state(weights)
    header, at = {}, 0
    for name, t in tensors.items():
        header[name] = {"dtype": "F32", "shape": list(t.shape), "data_offsets": [at, at + t.nbytes]}
        at += t.nbytes
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    with open(path, "wb") as f:
        f.write(len(text).to_bytes(8, "little") + text)
        for t in tensors.values():
            f.write(t.tobytes())


def _state(weights: Any) -> Dict[str, np.ndarray]:
    if hasattr(weights, "state_dict"):
        weights = weights.state_dict()
    if not isinstance(weights, Mapping):
        raise TypeError(f"weights are a module or tensors by name, not {type(weights).__name__}")
    return {str(k): np.array(to_numpy(v, k), dtype="<f4", order="C") for k, v in weights.items()}
