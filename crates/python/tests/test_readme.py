"""What the documents show is what happens."""

import doctest
import pathlib
import re
import subprocess
import sys

import pytest
import zerostride as zs

HERE = pathlib.Path(__file__).parent


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    """What the documents write goes somewhere else."""
    monkeypatch.chdir(tmp_path)


def test_the_front_page_runs_outside_a_clone():
    """As the release workflow runs it with a wheel."""
    root = HERE.parents[2]
    subprocess.run([sys.executable, root / "xtask/examples.py", "python", root / "README.md"], check=True)


def test_the_guard_reports_what_the_front_page_shows(tmp_path):
    page = (HERE.parents[2] / "README.md").read_text()
    program, report = (re.search(rf"^```{language}\n(.*?)^```", page, re.M | re.S)[1] for language in ("python", "text"))
    (tmp_path / "loss.py").write_text(program)
    done = subprocess.run([sys.executable, "-m", "zerostride.guard", "loss.py"], capture_output=True, text=True)
    assert done.stderr.strip() == report.strip()


def check(test):
    runner = doctest.DocTestRunner(optionflags=doctest.NORMALIZE_WHITESPACE | doctest.IGNORE_EXCEPTION_DETAIL)
    runner.run(test)
    assert runner.summarize(verbose=False).failed == 0


@pytest.mark.parametrize("path", [HERE.parent / "README.md"], ids=lambda path: path.name)
def test_documents(path):
    text = path.read_text().replace("```", "")
    check(doctest.DocTestParser().get_doctest(text, {}, path.name, str(path), 0))


@pytest.mark.parametrize("documented", [zs, zs.fuse, zs.evaluate, zs.open, zs.policy, zs.audit, zs.pool, zs.grad, zs.value_and_grad, zs.vjp, zs.jvp, zs.isin], ids=lambda value: value.__name__)
def test_docstrings(documented):
    check(doctest.DocTestParser().get_doctest(documented.__doc__, {}, documented.__name__, None, 0))
