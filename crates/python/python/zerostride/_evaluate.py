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

    A function may return several arrays, in a tuple, list or dict; ``out`` has its form then, with an array for each.
    Otherwise ``out`` is an array or the path of a file: npy, npz or safetensors, by its ending. The file appears when it is complete,
    or not at all; one that exists is replaced only with ``force``. Files are read and written in pieces that together take at
    most ``max_memory`` (``"256 MiB"``; by default half of the available memory). ``progress`` is a function that is called
    after each piece with the bytes done and the bytes in all, or ``True`` for a line on stderr.
    """
    if not isinstance(force, bool):
        raise TypeError(f"force says whether a file may be replaced: it is True or False, and no array, not {type(force).__name__}")
    is_path = isinstance(out, (str, os.PathLike))
    targets = [] if is_path or out is None else [_zerostride._target(array) for array in _flat(out)]
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
    written = list(zip(_in_form_of(out, result), targets, strict=True))
    if any(hasattr(value, "__dask_graph__") for value, _ in written):
        raise TypeError("out takes what is computed now, and dask arrays are computed when they are asked for: write result.store(out)")
    if len(written) > 1:
        # An argument that is returned as it is may be written to before it is read.
        given = {id(argument) for argument in (*positional, *named.values())}
        written = [(_zerostride.asarray(value, copy=True) if id(value) in given else value, target) for value, target in written]
    # What cannot be written raises before anything is.
    for value, target in sorted(written, key=lambda pair: _fits(*pair)):
        _zerostride._write(value, target)
    return out


def _flat(out):
    """The arrays of a target, in their order."""
    if isinstance(out, dict):
        out = tuple(out.values())
    if not isinstance(out, (tuple, list)):
        if isinstance(out, (str, os.PathLike)):
            raise TypeError("of several results each is written to an array; a file takes the only result of a function")
        return [out]
    return [array for item in out for array in _flat(item)]


def _in_form_of(out, result):
    """The arrays of a result, which has the form of its target, in their order."""
    forms = [type(form) if isinstance(form, (tuple, list, dict)) else None for form in (out, result)]
    keys = [list(form) if isinstance(form, dict) else len(form) if kind else None for form, kind in zip((out, result), forms)]
    if (dict in forms and forms != [dict, dict]) or (None in forms and forms != [None, None]) or keys[0] != keys[1]:
        raise TypeError(f"out has not the form of the result: {_form(out)} for {_form(result)}")
    if forms == [None, None]:
        return [result]
    pairs = zip(out.values(), result.values()) if dict in forms else zip(out, result)
    return [array for pair in pairs for array in _in_form_of(*pair)]


def _form(value):
    """What of several arrays is told in an error."""
    if isinstance(value, dict):
        return f"a dict with the keys {list(value)}"
    return f"a {type(value).__name__} of {len(value)}" if isinstance(value, (tuple, list)) else "one array"


def _fits(value, target):
    """Whether a result can be written to a target."""
    shape, dtype = getattr(value, "shape", ()), getattr(value, "dtype", None)
    return tuple(shape) == tuple(target.shape) and (dtype is None or _zerostride.can_cast(_zerostride.asarray(value).dtype, target.dtype))


@functools.lru_cache(maxsize=256)
def _compiled(expression, names):
    return fuse(Formula(expression, names).function())
