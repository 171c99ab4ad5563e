"""scikit-learn and SciPy compute with tensors what they compute with NumPy's arrays, and return tensors (``neighbours.py``)."""

import pathlib
import subprocess
import sys

import pytest


@pytest.mark.parametrize("library", ["sklearn", "scipy"])
def test_calls_on_tensors_agree_with_those_on_numpys_arrays(library):
    pytest.importorskip(library, reason=f"{library} is not installed")
    program = pathlib.Path(__file__).with_name("neighbours.py")
    done = subprocess.run([sys.executable, program, library], capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, done.stderr
    *wrong, count = done.stdout.splitlines()
    assert not wrong
    agree, of = count.removesuffix(" agree").split(" of ")
    assert agree == of != "0"
