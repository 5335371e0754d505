"""Errors of a trace: one line with what is wrong, the line of the user's code, and what to do."""

from __future__ import annotations

import linecache
import os
import sys
from typing import List, NoReturn, Optional, Sequence, Tuple

import torch
import torch_geometric

from ..program import TraceError

HERE = os.path.dirname(os.path.abspath(__file__))
PYG = os.path.dirname(os.path.abspath(torch_geometric.__file__))
MADE = "torch_geometric.nn."  # within the names of files that torch_geometric makes
FORWARD = (os.path.join(HERE, "tracer.py"), "run")  # which calls it
LIBRARIES = (
    HERE, PYG, os.path.dirname(os.path.abspath(torch.__file__)), os.path.dirname(os.__file__) + os.sep + "contextlib",
    "<frozen", "<string>"
)


def at_line(frames: Sequence[Tuple[str, int]]) -> Tuple[str, str]:
    """Returns the innermost line that is the user's ("net.py:31"), else torch_geometric's, and its text.

    frames: files and lines, the innermost first
    """
    theirs = [f for f in frames if f[0].startswith(PYG)]
    mine = [f for f in frames if not f[0].startswith(LIBRARIES) and MADE not in f[0]]
    if not mine + theirs:
        return "", ""
    file, line = (mine + theirs)[0]
    return f"{os.path.basename(file)}:{line}", linecache.getline(file, line).strip()


def refuse(what: str, frames: Optional[Sequence[Tuple[str, int]]] = None) -> NoReturn:
    """Raises TraceError at the user's line."""
    where, text = at_line(frames_of_forward() if frames is None else frames)
    raise TraceError(f"model: {what}" + (f"  ({where} `{text}`)" if where else ""))


def lacks(what: str, instead: str = "") -> NoReturn:
    """Raises TraceError of what capgnn has no operation for."""
    refuse(f"{what} is no operation of capgnn" + (f": {instead}" if instead else ""))


def changes(kind: str, name: str) -> str:
    """Returns the error of a forward that changes what the module holds."""
    instead = (
        f"use a new tensor ({name.rpartition('.')[2]}.clamp(min=0), not clamp_)"
        if kind == "parameter"
        else "capgnn trains parameters and BatchNorm's running statistics alone: let forward leave it as it is"
    )
    return f"forward changes the {kind} {name}: {instead}"


def frames_of_forward() -> List[Tuple[str, int]]:
    """Returns files and lines of the calls that are running, from the innermost to forward."""
    out: List[Tuple[str, int]] = []
    frame = sys._getframe(1)
    while frame is not None and (frame.f_code.co_filename, frame.f_code.co_name) != FORWARD:
        out.append((frame.f_code.co_filename, frame.f_lineno))
        frame = frame.f_back  # type: ignore[assignment]
    return out if frame is not None else []


def first_line(e: Exception) -> str:
    return str(e).partition("\n")[0]
