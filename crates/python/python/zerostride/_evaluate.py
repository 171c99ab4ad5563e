"""Owns ``evaluate``: the evaluation of a formula in a string, or of an expression over files. It does not
know the language of formulas (``_formula.py``)."""

import functools
import inspect
import os

from . import _zerostride
from ._bytes import number_of_bytes
from ._files import told_on_a_line
from ._formula import Formula
from ._fuse import fuse
from ._gradients import Gradient


def evaluate(expression, out=None, *, max_memory=None, force=False, progress=False, **arrays):
    """Computes a formula in one pass, without intermediate arrays; ``out`` takes the result.

    The formula is a string in Python's syntax: operators, indexing, ``pi``, ``e``, ``inf``, ``nan``, and by name every function
    and method of this module that computes with arrays. ``max(x, axis)`` and ``min(x, axis)`` are numexpr's, which return values
    only. Nothing else can run, whatever the string contains. Arrays and numbers are keyword arguments. In place of the string
    there can be a function, which gets them by name, or an expression made of files that are ``open``, or a tuple, list or dict
    of those.

    >>> import zerostride as zs
    >>> zs.evaluate("a*x + b", a=2, x=zs.tensor([1., 2.]), b=zs.tensor([[10.], [20.]]))
    tensor([[12., 14.],
            [22., 24.]])

    ``out`` is an array or the path of a file: npy, npz or safetensors, by its ending. A function may return several arrays, in a
    tuple, list or dict; ``out`` has its form then, with an array or a path for each. A file appears when all results are
    complete, or not at all; one that exists is replaced only with ``force``. Files are read and written in pieces that together
    take at most ``max_memory`` (``"256 MiB"``; by default half of the available memory), and several results read them
    together. On a GPU ``max_memory`` bounds what results and temporaries take of its memory, and there is no bound by default.
    ``progress`` is a function that is called after each piece with the bytes done and the bytes in all, or ``True`` for a line
    on stderr.
    """
    if not isinstance(force, bool):
        raise TypeError(f"force says whether a file may be replaced: it is True or False, and no array, not {type(force).__name__}")
    targets = [] if out is None else [place if _is_path(place) else _zerostride._target(place) for place in _flat(out)]
    if isinstance(expression, str):
        function, positional, named = _compiled(expression, tuple(arrays)), arrays.values(), {}
    elif isinstance(expression, (_zerostride.Expr, tuple, list, dict)):
        function, positional, named = fuse(lambda *_: expression), _flat(expression), {}
    elif callable(expression):
        function = expression if isinstance(expression, _zerostride.Fused) else fuse(expression)
        # Gradients are those of positional arguments.
        bound = inspect.signature(function).bind(**arrays) if isinstance(function, Gradient) else None
        positional, named = (bound.args, bound.kwargs) if bound else ((), arrays)
    else:
        raise TypeError(f"a formula is a string, a function, or what was made of open files, not {type(expression).__name__}")
    if any(map(_is_path, targets)) or max_memory is not None or progress:
        watch = told_on_a_line if progress is True else progress or None
        limit = number_of_bytes("max_memory", max_memory)
        result = function._stream(functools.partial(_paths, out, targets), limit, force, watch, *positional, **named)
    else:
        result = function(*positional, **named)
    if out is None:
        return result
    written = [(value, target) for value, target in zip(_in_form_of(out, result), targets, strict=True) if not _is_path(target)]
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


def _is_path(place):
    return isinstance(place, (str, os.PathLike))


def _flat(form):
    """The arrays and paths of a tuple, list or dict, or of one alone, in their order."""
    if isinstance(form, dict):
        form = tuple(form.values())
    if not isinstance(form, (tuple, list)):
        return [form]
    return [place for item in form for place in _flat(item)]


def _paths(out, targets, result):
    """For each array of a result the file that it is written to, or None."""
    if out is None:
        return [None] * len(_flat(result))
    paths = [os.path.abspath(target) for target in targets if _is_path(target)]
    twice = [path for path in paths if paths.count(path) > 1]
    if twice:
        raise ValueError(f"two results are written to {twice[0]}: give each a file of its own")
    for value, target in zip(_in_form_of(out, result), targets):
        if not _is_path(target) and not _fits(value, target) and hasattr(value, "dtype"):
            # What cannot be written raises before a file appears.
            _zerostride._stretched(value, target)
            _zerostride._write(_zerostride.zeros(0, dtype=value.dtype), _zerostride.zeros(0, dtype=target.dtype))
    return [target if _is_path(target) else None for target in targets]


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
    if isinstance(value, (tuple, list)):
        return f"a {type(value).__name__} of {len(value)}"
    return "one file" if _is_path(value) else "one array"


def _fits(value, target):
    """Whether a result can be written to a target as it is."""
    shape, dtype = getattr(value, "shape", ()), getattr(value, "dtype", None)
    if not isinstance(value, _zerostride.Expr) and dtype is not None:
        dtype = _zerostride.asarray(value).dtype
    return tuple(shape) == tuple(target.shape) and (dtype is None or _zerostride.can_cast(dtype, target.dtype))


@functools.lru_cache(maxsize=256)
def _compiled(expression, names):
    return fuse(Formula(expression, names).function(), rules="torch")
