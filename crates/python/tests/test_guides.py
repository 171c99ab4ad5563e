"""The guides in docs/python: both sides of every row of their tables agree, and their sessions run as shown."""

import doctest
import os
import pathlib
import re
import subprocess
import sys

import numpy as np
import pytest

GUIDES = pathlib.Path(__file__).resolve().parents[3] / "docs" / "python"
# What a guide is about must be installed.
NEEDS = {"numpy": [], "pytorch": ["torch"], "numexpr": ["numexpr"], "dask": ["dask.array"], "einsum": [], "keops": [], "gradients": [], "guard": [], "../start": []}


NEIGHBOURS = (GUIDES / "neighbours.md").read_text()


def blocks(text):
    """The code of a guide: what is typed at a prompt, and what is not."""
    code = re.findall(r"```python\n(.*?)```", text, re.S)
    return [block for block in code if ">>>" in block], [block for block in code if ">>>" not in block]


def namespace(name, text):
    for module in NEEDS[name]:
        pytest.importorskip(module, reason=f"{module} is not installed")
    names = {}
    if name not in ("dask", "guard", "../start"):
        exec(blocks(text)[1][0], names)
    return names


def rows():
    """Each row of each table: the guide and the two sides."""
    for name in NEEDS:
        for line in (GUIDES / f"{name}.md").read_text().splitlines():
            if cells := re.match(r"\| `(.*?)` \| `(.*?)` \|", line):
                yield pytest.param(name, *cells.groups(), id=f"{name}: {cells[1]}")


@pytest.mark.filterwarnings("ignore:invalid value")
@pytest.mark.parametrize("name, theirs, ours", list(rows()))
def test_both_sides_agree(name, theirs, ours):
    names = namespace(name, (GUIDES / f"{name}.md").read_text())
    wanted, found = eval(theirs, names), eval(ours, names)
    if not hasattr(wanted, "shape"):
        assert found == wanted
        return
    np.testing.assert_allclose(np.asarray(found), np.asarray(wanted), rtol=1e-6)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", list(NEEDS))
def test_sessions_run_as_shown(name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    text = (GUIDES / f"{name}.md").read_text()
    names = namespace(name, text)
    runner = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS)
    for number, session in enumerate(blocks(text)[0]):
        test = doctest.DocTestParser().get_doctest(session, names, f"{name} {number}", None, 0)
        runner.run(test, clear_globs=False)
        names.update(test.globs)
    assert runner.summarize(verbose=False).failed == 0


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("session", blocks(NEIGHBOURS)[0], ids=re.findall(r"^\*\*(.*?)\*\*", NEIGHBOURS, re.M)[:6])
def test_neighbours_do_as_shown(session, tmp_path):
    for module in re.findall(r">>> (?:import|from) ([\w.]+)", session):
        pytest.importorskip(module, reason=f"{module} is not installed")
    # SciPy asks for the variable when it is imported.
    test = tmp_path / "session.txt"
    test.write_text(session)
    command = [sys.executable, "-W", "ignore", "-m", "doctest", str(test)]
    done = subprocess.run(command, env=os.environ | {"SCIPY_ARRAY_API": "1"}, capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (0, ""), done.stdout + done.stderr
