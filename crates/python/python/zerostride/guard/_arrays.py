"""Owns the eye on NumPy, JAX and every other array: what rewritten code (``_rewrite.py``) calls before it computes.

Operations are performed by C functions in the program's own frame, so that tracebacks show the program's lines alone.
"""

import functools
import operator
import sys

from . import _shapes, _watch

PLAIN, SEQUENCE, ARRAY = range(3)

_ELSEWHERE = {"torch", "pandas", "xarray", "polars", "sympy", "astropy", "pint", "unittest", "ibis", "pyspark"}
"""Whose objects have shapes, but are seen by another eye, align by label, or are no arrays."""

LIBRARIES = {"numpy", "scipy", "jax", "jaxlib", "optax", "cupy", "zerostride", "array_api_strict", "dask", "numpyro", "distrax",
             "tensorflow", "tensorflow_probability", "mlx", "ml_dtypes", "keras"}  # fmt: skip
"""Whose functions broadcast their operands; functions of the program are rewritten themselves."""


class _Kinds(dict):
    """For each type whether it is an array; known after the first time, at the cost of a dictionary."""

    def __missing__(self, kind):
        root = kind.__module__.partition(".")[0] if isinstance(kind.__module__, str) else ""
        is_matrix = any(base.__name__ in ("matrix", "spmatrix", "_spbase", "generic") for base in kind.__mro__)
        if kind in (list, tuple):
            found = SEQUENCE
        elif root in _ELSEWHERE or is_matrix or not (hasattr(kind, "shape") and hasattr(kind, "dtype")):
            found = PLAIN
        else:
            found = ARRAY
        self[kind] = found
        return found


KINDS = _Kinds()


def look(a, b):
    """The operands of an operator, looked at."""
    if KINDS[type(a)] + KINDS[type(b)] > ARRAY:
        _compare((a, b), None)
    return a, b


def ask(call):
    """A call, with its arguments in it, looked at."""
    given = call.args
    owner = getattr(call.func, "__self__", None)
    if owner is not None and KINDS[type(owner)] == ARRAY:
        given = (owner, *given)
    if call.keywords:
        given = (*given, *(value for name, value in call.keywords.items() if name not in ("out", "size", "shape", "axis", "dim")))
    elif owner is None and len(given) < 2:
        return call
    if _is_library(call.func):
        _compare((*given, *_parameters(owner)), call.func)
    return call


def store(target, index, value):
    """A value that is assigned to elements, looked at."""
    if KINDS[type(value)] and KINDS[type(target)] == ARRAY and len(_shape(value)) and len(target.shape) > 1:
        try:
            shape = tuple(target[index].shape)
        except Exception:  # noqa: BLE001: the assignment itself says what is wrong
            return value
        _tell("setitem", (shape, _shape(value)), target, 2)
    return value


def _compare(operands, function):
    shapes = tuple(_shape(operand) for operand in operands if KINDS[type(operand)])
    shapes = tuple(shape for shape in shapes if shape)
    if len(set(shapes)) > 1 and _watch.is_wanted(shapes):
        arrays = [operand for operand in operands if KINDS[type(operand)] == ARRAY]
        if arrays:
            # Of NumPy's arrays and another library's, the other library computes.
            _tell(getattr(function, "__name__", None), shapes, max(arrays, key=lambda array: _library(array) != "numpy"), 3)


def _tell(name, shapes, array, depth):
    is_spread = name == "setitem" and _shapes.is_spread(*shapes)
    if name == "setitem" and not is_spread and not (_watch.every and shapes[0] != shapes[1]):
        return
    frame = sys._getframe(depth)
    root = _library(array)
    _watch.seen(f"{root}.{name or _operator(frame)}", shapes, int(getattr(array.dtype, "itemsize", 1)), frame)


def _library(array):
    root = (type(array).__module__ or "").partition(".")[0]
    return "jax" if root == "jaxlib" else root


def _operator(frame):
    """The name of the operator that a frame is at."""
    from . import _rewrite, _text

    place = _text.Place.of(frame)
    operation = getattr(place.node, "op", None) or getattr(place.node, "ops", [None])[0] if place else None
    name = _rewrite.OPERATORS.get(type(operation), "operator")
    return _OPERATIONS.get(name, name)


def _shape(operand):
    if KINDS[type(operand)] == ARRAY:
        return tuple(operand.shape)
    shape = []
    while isinstance(operand, (list, tuple)) and len(operand):
        shape.append(len(operand))
        operand = operand[0]
    if KINDS[type(operand)] == ARRAY:
        shape.extend(operand.shape)
    return tuple(shape) if not isinstance(operand, str) else ()


def _parameters(owner):
    """The arrays that a distribution holds: those that it was made with."""
    return (*owner.args, *owner.kwds.values()) if hasattr(owner, "kwds") else ()


def _is_library(function):
    owner = getattr(function, "__self__", None)
    module = type(owner).__module__ if owner is not None and not isinstance(owner, type(sys)) else getattr(function, "__module__", None)
    if module is None:
        module = type(function).__module__
    return isinstance(module, str) and module.partition(".")[0] in LIBRARIES


_OPERATIONS = {
    "truediv": "div", "floordiv": "floor_divide", "mod": "remainder", "or_": "bitwise_or", "xor": "bitwise_xor",
    "and_": "bitwise_and", "lshift": "bitwise_left_shift", "rshift": "bitwise_right_shift",
}  # fmt: skip
"""Operations that have other names than their operators."""

NAMES = {
    "_@look": look,
    "_@ask": ask,
    "_@store": store,
    "_@partial": functools.partial,
    "_@slice": slice,
    **{f"_@{name}": getattr(operator, name) for name in (
        "add", "sub", "mul", "truediv", "floordiv", "mod", "pow", "lshift", "rshift", "or_", "xor", "and_",
        "iadd", "isub", "imul", "itruediv", "ifloordiv", "imod", "ipow", "ilshift", "irshift", "ior", "ixor", "iand",
        "eq", "ne", "lt", "le", "gt", "ge")},
}  # fmt: skip
"""What rewritten code calls, by names that no program can have."""
