"""Owns ``evaluate``: a formula in a string. Python reads it; only what is listed here may stand in it."""

import ast
import functools
import os

from . import _zerostride
from ._bytes import number_of_bytes
from ._files import told_on_a_line
from ._fuse import fuse

_CONSTANTS = {"inf": float("inf"), "nan": float("nan"), "pi": 3.141592653589793, "e": 2.718281828459045}
_FUNCTIONS = {
    name: function for name, function in vars(_zerostride).items() if type(function) is type(_zerostride.add)
} | {name: getattr(_zerostride, name) for name in _zerostride.__all__ if type(getattr(_zerostride, name)) is _zerostride.dtype}
_ATTRIBUTES = {"T", "mT", "shape", "ndim", "dtype"}
_NODES = (
    ast.Expression, ast.BinOp, ast.UnaryOp, ast.Compare, ast.Call, ast.keyword, ast.Name, ast.Attribute, ast.Constant,
    ast.Subscript, ast.Slice, ast.Tuple, ast.List, ast.Load, ast.operator, ast.unaryop, ast.cmpop,
)  # fmt: skip
_REFUSED = (ast.Not, ast.Is, ast.IsNot, ast.In, ast.NotIn)


def evaluate(expression, out=None, *, max_memory=None, force=False, progress=False, **arrays):
    """Computes a formula in one pass, without intermediate arrays; ``out`` takes the result.

    The formula is a string of Python: operators, indexing, every function and method of this module by name, ``pi``, ``e``,
    ``inf`` and ``nan``. Nothing else runs, whatever the string says. Arrays and numbers are keyword arguments. A function,
    which gets them by name, and what was made of files that are ``open`` may stand for the string.

    >>> import zerostride as zs
    >>> zs.evaluate("a*x + b", a=2, x=zs.tensor([1., 2.]), b=zs.tensor([[10.], [20.]]))
    tensor([[12., 14.],
            [22., 24.]])

    ``out`` is an array or the path of a file: npy, npz or safetensors, by its ending. The file appears when it is complete,
    or not at all; one that exists is replaced only with ``force``. Files are read and written in pieces that take at most
    ``max_memory`` (``"256 MiB"``; by default half of what is available) together. ``progress`` is a function that is called
    with the bytes that are done and all of them after each piece, or ``True`` for a line on stderr.
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
    _zerostride._write(result, target)
    return out


@functools.lru_cache(maxsize=256)
def _compiled(expression, names):
    tree = ast.parse(expression.strip(), "<expression>", mode="eval")
    for node in ast.walk(tree):
        _check(expression, node, names)
    arguments = ast.arguments(posonlyargs=[], args=[ast.arg(name) for name in names], kwonlyargs=[], kw_defaults=[], defaults=[])
    function = ast.Expression(ast.Lambda(arguments, tree.body))
    code = compile(ast.fix_missing_locations(function), "<expression>", "eval")
    # Native functions import by it what they need; no formula can name it.
    builtins = {"__import__": __import__}
    return fuse(eval(code, {"__builtins__": builtins, **_CONSTANTS, **_FUNCTIONS}))  # noqa: S307: what it may say is checked


def _check(expression, node, names):
    match node:
        case ast.Name(name) if name not in names and name not in _FUNCTIONS and name not in _CONSTANTS:
            problem = f"`{name}` has no value: pass it as a keyword argument"
        case ast.Attribute(attr=name) if name not in _ATTRIBUTES and not _is_method(name):
            problem = f"there is no method `{name}`"
        case ast.Compare(ops=[_, _, *_]):
            problem = "comparisons do not chain: write (a < b) & (b < c)"
        case ast.Constant(value) if not isinstance(value, (bool, int, float, complex, str, type(None), type(...))):
            problem = f"{value!r} has no meaning here"
        case ast.Starred() | ast.keyword(arg=None):
            problem = "* has no meaning here"
        case _ if isinstance(node, _NODES) and not isinstance(node, _REFUSED):
            return
        case _:
            problem = f"{type(node).__name__} has no meaning here: write operators, functions and indices"
    place = getattr(node, "col_offset", 0)
    raise SyntaxError(problem, ("<expression>", 1, place + 1, expression.strip(), 1, getattr(node, "end_col_offset", place) + 1))


def _is_method(name):
    return not name.startswith("_") and type(vars(_zerostride.Expr).get(name)) is type(vars(_zerostride.Expr)["add"])
