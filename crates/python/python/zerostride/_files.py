"""Owns ``open``, and the progress line of evaluations over files. It does not know how files are read."""

import sys

from . import _zerostride


def open(path):
    """An array in a file (npy, npz, safetensors), of which the header is read now and elements when they are needed.

    ``a.npz:x`` and ``m.safetensors:weight`` name one array of several. The result is an operand of ``evaluate`` and of fused
    functions, even if it is larger than memory. Other operations on it are deferred until ``evaluate``, too.

    >>> import numpy as np, zerostride as zs
    >>> np.save("x.npy", np.arange(6.0).reshape(2, 3))
    >>> x = zs.open("x.npy")
    >>> x
    Source("x.npy", shape=[2, 3], dtype=float64)
    >>> zs.evaluate((x - x.mean(0)) / x.std(0), out="y.npy", force=True)
    'y.npy'
    >>> np.load("y.npy").shape, x[1].tolist()
    ((2, 3), [3.0, 4.0, 5.0])
    """
    return _zerostride.Source(path)


def told_on_a_line(done, total):
    """Writes the percentage done to stderr, always on the same line."""
    end = "\n" if done >= total else ""
    print(f"\r{100 * done // max(total, 1):3} % of {total / 1e9:.1f} GB", end=end, file=sys.stderr, flush=True)
