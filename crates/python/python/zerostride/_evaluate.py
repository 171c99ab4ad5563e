"""Owns ``evaluate``: a formula in a string. Python reads it; only what is listed here may stand in it."""

import ast
import functools

from . import _zerostride
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


def evaluate(expression, out=None, **arrays):
    """Computes a formula in one pass, without intermediate arrays; ``out`` takes the result.

    The formula is Python's: operators, indexing, every function and method of this module by name, ``pi``, ``e``, ``inf``
    and ``nan``. Nothing else runs, whatever the string says. Arrays and numbers are keyword arguments.

    >>> import zerostride as zs
    >>> zs.evaluate("a*x + b", a=2, x=zs.tensor([1., 2.]), b=zs.tensor([[10.], [20.]]))
    tensor([[12., 14.],
            [22., 24.]])
    """
    result = _compiled(expression, tuple(arrays))(*arrays.values())
    if out is None:
        return result
    target = _zerostride.asarray(out)
    _zerostride.add(result, 0, out=target) if target.dtype is _zerostride.bool else target.copy_(result)
    return out


@functools.lru_cache(maxsize=256)
def _compiled(expression, names):
    tree = ast.parse(expression.strip(), "<expression>", mode="eval")
    for node in ast.walk(tree):
        _check(expression, node, names)
    arguments = ast.arguments(posonlyargs=[], args=[ast.arg(name) for name in names], kwonlyargs=[], kw_defaults=[], defaults=[])
    function = ast.Expression(ast.Lambda(arguments, tree.body))
    code = compile(ast.fix_missing_locations(function), "<expression>", "eval")
    return fuse(eval(code, {"__builtins__": {}, **_CONSTANTS, **_FUNCTIONS}))  # noqa: S307: what it may say is checked


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
