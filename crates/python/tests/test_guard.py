"""The guard: planted mistakes are found once each, on their line; their innocent twins raise no alarm."""

import importlib.util
import json
import pathlib
import re
import subprocess
import sys

import numpy as np
import pytest
import zerostride as zs
from zerostride import guard

pytest_plugins = ["pytester"]

PLANTED = pathlib.Path(__file__).parent / "planted"


def programs():
    """Each program of ``planted/``: lines with ``-`` are the mistake's, lines with ``+`` its twin's."""
    for library in ("numpy", "jax", "torch"):
        start, *cases = (PLANTED / f"{library}.txt").read_text().split("\n## ")
        for case in cases:
            name, _, body = case.partition("\n")
            yield pytest.param(library, start, body.rstrip().splitlines(), id=f"{library}: {name}")


def written(start, body, sign):
    """The program with the lines of one sign, and the line where the mistake is: the marked one, or the first of that sign."""
    lines = [*start.splitlines(), *(line for line in body if line[:1] not in "+-" or line[:1] == sign)]
    own = [number for number, line in enumerate(lines, 1) if line[:1] == sign]
    marked = [number for number, line in enumerate(lines, 1) if line.endswith("# here")]
    return "\n".join(line[2:] if line[:1] == sign else line for line in lines) + "\n", (marked or own or [0])[0]


def run(path, name):
    """Runs a file as a module of the user's, under guard."""
    remove = guard.install()
    try:
        with guard.Guard() as found, eye():
            spec = importlib.util.find_spec(name)
            module = importlib.util.module_from_spec(spec)
            spec.loader.exec_module(module)
    finally:
        remove()
    return found.mistakes


def eye():
    import contextlib

    if "torch" not in sys.modules:
        return contextlib.nullcontext()
    from zerostride.guard import _torch

    return _torch.eye()


def needs(library):
    return pytest.importorskip(library, reason=f"{library} is not installed")


@pytest.fixture
def modules(tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(tmp_path)
    return tmp_path


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("library, start, body", list(programs()))
def test_a_planted_mistake_is_found_once_and_its_twin_is_not(library, start, body, modules):
    needs(library)
    text, line = written(start, body, "-")
    (modules / "mistaken.py").write_text(text)
    found = run(modules / "mistaken.py", "mistaken")
    assert [(mistake.file, mistake.line) for mistake in found] == [(str(modules / "mistaken.py"), line)], found
    assert found[0].op.startswith(library)
    text, _ = written(start, body, "+")
    (modules / "innocent.py").write_text(text)
    assert run(modules / "innocent.py", "innocent") == []
