"""The program capgnn as a process: found, given flags, interrupted, and its errors as exceptions."""
from __future__ import annotations

import atexit
import os
import shutil
import signal
import subprocess
import sys
import sysconfig
import threading
from typing import IO, Any, Dict, List, Optional
from weakref import WeakSet

import numpy as np

from .given import warn

# The last lines of standard error that are kept, to say what went wrong, and the first of its notes.
KEPT_LINES = 50
KEPT_NOTES = 100


class ProgramError(RuntimeError):
    """The program ended with an error.

    line: its error line, without "capgnn: "
    code: its exit code: 1 failure, 2 wrong usage or input, 3 does not fit into memory, 4 a device or machine was lost, 130
        interrupted; negative: minus the signal that killed it
    command: what was run
    """

    def __init__(self, line: str, code: int, command: List[str]):
        super().__init__(f"{line} (exit code {code})")
        self.line, self.code, self.command = line, code, command

    def __reduce__(self):  # so that it survives a process pool
        return ProgramError, (self.line, self.code, self.command)


class TraceError(ValueError):
    """A module cannot be written as a program. Its text is one line: what, where in the user's code, and what to do."""


def find_program(program: Optional[str] = None) -> str:
    """Returns the path of the program: the argument, else $CAPGNN, else the one that a wheel has installed, else capgnn on PATH.

    raises: FileNotFoundError
    """
    for name, said in ((program, "program="), (os.environ.get("CAPGNN"), "$CAPGNN: ")):
        if name:
            found = shutil.which(name)
            if found is None:
                raise FileNotFoundError(f"{said}{name}: no such program")
            return os.path.abspath(found)
    found = shutil.which("capgnn", path=sysconfig.get_path("scripts")) or shutil.which("capgnn")
    if found is None:
        raise FileNotFoundError("capgnn is not on PATH: install a wheel of a release, or build it with `go build ./cmd/capgnn` and set CAPGNN to its path")
    return os.path.abspath(found)


def command(name: str, flags: Dict[str, Any], program: Optional[str] = None) -> List[str]:
    """Returns the command line of `capgnn NAME` with keyword arguments as flags.

    batch_size=256 is --batch-size=256; True and False are true and false; a list, tuple, range or array is joined by
    commas, a dict as KEY=VALUE, so that staleness=(4, {"exact": 10}) is --staleness=4,exact=10; None is left out. Whether there are such
    flags is for the program to say.
    raises: TypeError for values of other types, such as sets and dates; ValueError for empty lists
    """
    out = [find_program(program), name]
    for key, value in flags.items():
        if value is not None:
            out.append(f"--{key.replace('_', '-')}={_text_of(key, value)}")
    return out


def _text_of(key: str, value: Any) -> str:
    """Returns a value as the text of a flag."""
    if hasattr(value, "detach") or hasattr(value, "iloc"):
        value = np.asarray(value.detach().cpu() if hasattr(value, "detach") else value)
    if isinstance(value, np.ndarray) and value.ndim < 2:
        value = list(value) if value.ndim else value[()]
    if isinstance(value, dict):
        value = [f"{_item(key, k)}={_text_of(key, v)}" for k, v in value.items()]
    if not isinstance(value, (list, tuple, range)):
        return _item(key, value)
    if not len(value):
        raise ValueError(f"{key}: it is empty; None leaves it out")
    return ",".join(_text_of(key, v) if isinstance(v, dict) else _item(key, v) for v in value)


def _item(key: str, value: Any) -> str:
    """Returns a number, text or path as text."""
    if isinstance(value, (bool, np.bool_)):
        return str(value).lower()
    text = os.fspath(value) if isinstance(value, os.PathLike) else value
    if isinstance(value, (int, float, np.integer, np.floating)) and not isinstance(value, np.timedelta64):
        text = str(value)
    if not isinstance(text, str):
        raise TypeError(f"{key}: {type(value).__name__} is no number, text or path: a flag takes one of these, or a list of them")
    try:
        whole = b"\0" not in os.fsencode(text)
    except UnicodeEncodeError:
        whole = False
    if not whole:
        raise ValueError(f"{key}: {ascii(text)} cannot be passed to a program")
    return str(text)


class Process:
    """A running program. Ctrl-C reaches only this Python process, which passes it on, so that the program gets one signal and not two.

    While `wait` waits, KeyboardInterrupt interrupts the program, which finishes the epoch and writes a checkpoint; a second one stops it at
    once. When the interpreter exits, a program that still runs is interrupted and waited for.
    """

    def __init__(self, args: List[str], verbose: bool = False):
        group: Dict[str, Any] = {"start_new_session": True}
        if os.name == "nt":
            group = {"creationflags": subprocess.CREATE_NEW_PROCESS_GROUP}  # type: ignore[attr-defined]
        self.args, self.verbose = args, verbose
        self._lines: List[str] = []  # of standard error
        self.notes: List[str] = []  # of the program, without "note: "
        self._unsaid: List[str] = []  # of them, those of which nobody was warned
        self._child = subprocess.Popen(args, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                                       encoding="utf-8", errors="replace", **group)
        self.output = ""  # standard output, complete when the process has ended
        # Both threads end with the streams they read; wait joins them.
        self._readers = [threading.Thread(target=self._read_output, args=(self._child.stdout,), daemon=True),
                         threading.Thread(target=self._read_errors, args=(self._child.stderr,), daemon=True)]
        for t in self._readers:
            t.start()
        _running.add(self)

    @property
    def running(self) -> bool:
        return self._child.poll() is None

    def wait(self, seconds: Optional[float] = None) -> bool:
        """Waits until the program has ended, or so long, and returns whether it has. Raises KeyboardInterrupt once it has ended."""
        try:
            self._child.wait(seconds)
        except subprocess.TimeoutExpired:
            return False
        except KeyboardInterrupt:
            self.interrupt()
            raise
        for t in self._readers:
            t.join()
        return True

    def interrupt(self) -> None:
        """Interrupts the program and waits for its end; a KeyboardInterrupt meanwhile is handed on."""
        again = False
        while True:
            try:
                self._signal()
                self._child.wait()
                break
            except KeyboardInterrupt:
                again = True
        for t in self._readers:
            t.join()
        if again:
            raise KeyboardInterrupt

    def check(self) -> None:
        """Warns of each note of the program that has ended, once, unless they were shown. Raises ProgramError if it did not end well."""
        code = self._child.returncode
        notes, self._unsaid = self._unsaid, []
        for note in notes:
            warn(note)
        if code:
            raise ProgramError(self._said(code), code, self.args)

    def _signal(self) -> None:
        if self.running:
            self._child.send_signal(signal.CTRL_BREAK_EVENT if os.name == "nt" else signal.SIGINT)  # type: ignore[attr-defined]

    def _said(self, code: int) -> str:
        for line in reversed(self._lines):
            if line.startswith("capgnn: "):
                return line[len("capgnn: "):]
        if code < 0:
            return f"capgnn was ended by signal {-code}"
        return self._lines[-1] if self._lines else "capgnn ended without a word"

    def _read_output(self, stream: IO[str]) -> None:
        with stream:
            self.output = stream.read()

    def _read_errors(self, stream: IO[str]) -> None:
        with stream:
            for line in stream:
                if self.verbose:
                    sys.stderr.write(line)
                if line.startswith("note: ") and len(self.notes) < KEPT_NOTES:
                    self.notes.append(line[len("note: "):].rstrip("\n"))
                    self._unsaid += [] if self.verbose else self.notes[-1:]
                self._lines = self._lines[-KEPT_LINES:] + [line.rstrip("\n")]


_running: WeakSet = WeakSet()


@atexit.register
def _stop_all() -> None:
    for p in list(_running):
        if p.running:
            p.interrupt()
