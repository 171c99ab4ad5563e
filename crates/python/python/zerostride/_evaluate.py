"""Owns ``evaluate``: the evaluation of a formula in a string, or of an expression over files. It does not
know the language of formulas (``_formula.py``)."""

import functools
import os

from . import _zerostride
from ._bytes import number_of_bytes
from ._files import told_on_a_line
from ._formula import Formula
from ._fuse import fuse


def evaluate(expression, out=None, *, max_memory=None, force=False, progress=False, **arrays):
    """Computes a formula in one pass, without intermediate arrays; ``out`` takes the result.

    The formula is a string in Python's syntax: operators, indexing, ``pi``, ``e``, ``inf``, ``nan``, and by name every function
    and method of this module that computes with arrays. ``max(x, axis)`` and ``min(x, axis)`` are numexpr's, which return values
    only. Nothing else can run, whatever the string contains. Arrays and numbers are keyword arguments. In place of the string
    there can be a function, which gets them by name, or an expression made of files that are ``open``.

    >>> import zerostride as zs
    >>> zs.evaluate("a*x + b", a=2, x=zs.tensor([1., 2.]), b=zs.tensor([[10.], [20.]]))
    tensor([[12., 14.],
            [22., 24.]])

    ``out`` is an array or the path of a file: npy, npz or safetensors, by its ending. The file appears when it is complete,
    or not at all; one that exists is replaced only with ``force``. Files are read and written in pieces that together take at
    most ``max_memory`` (``"256 MiB"``; by default half of the available memory). ``progress`` is a function that is called
    after each piece with the bytes done and the bytes in all, or ``True`` for a line on stderr.
    """
    if not isinstance(force, bool):
        raise TypeError(f"force says whether a file may be replaced: it is True or False, and no array, not {type(force).__name__}")
    is_path = isinstance(out, (str, os.PathLike))
    target = None if is_path or out is None else _zerostride._target(out)
    if isinstance(expression, str):
        function, positional, named = _compiled(expression, tuple(arrays)), arrays.values(), {}
    elif isinstance(expression, _zerostride.Expr):
        function, positional, named = fuse(lambda result: result), (expression,), {}
    elif callable(expression):
        function = expression if isinstance(expression, _zerostride.Fused) else fuse(expression)
        positional, named = (), arrays
    else:
        raise TypeError(f"a formula is a string, a function, or what was made of open files, not {type(expression).__name__}")
    if is_path or max_memory is not None or progress:
        watch = told_on_a_line if progress is True else progress or None
        limit = number_of_bytes("max_memory", max_memory)
        result = function._stream(out if is_path else None, limit, force, watch, *positional, **named)
    else:
        result = function(*positional, **named)
    if is_path or out is None:
        return out if is_path else result
    if hasattr(result, "__dask_graph__"):
        raise TypeError("out takes what is computed now, and dask arrays are computed when they are asked for: write result.store(out)")
    _zerostride._write(result, target)
    return out


@functools.lru_cache(maxsize=256)
def _compiled(expression, names):
    return fuse(Formula(expression, names).function())
