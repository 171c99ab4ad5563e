"""Owns the protocols by which NumPy's and torch's own functions accept tensors and traced arrays. It does not
know how anything is computed.

A NumPy function of tensors is computed by NumPy on the same memory, and its arrays and scalars are returned
as tensors. If NumPy cannot hold the elements (traced arrays, arrays in files, bfloat16), an equivalent
function of this package computes, if there is one. NumPy is not imported before it calls.
"""

import collections.abc
import functools
import inspect
import sys

from . import _zerostride as zs
from . import _dask, _lazy, array_api

# NumPy's ufuncs whose names differ from those in the table of operations.
_UFUNCS = {
    "power": "pow", "invert": "bitwise_not", "left_shift": "bitwise_left_shift", "right_shift": "bitwise_right_shift",
    "equal": "eq", "conjugate": "conj_physical", "rint": "round", "radians": "deg2rad", "degrees": "rad2deg", "fabs": "abs",
}  # fmt: skip
# NumPy's functions that equal the method `reduce` of a ufunc.
_REDUCTIONS = {
    "add": "sum", "multiply": "prod", "maximum": "max", "minimum": "min", "logical_and": "all", "logical_or": "any",
}  # fmt: skip
# The ufuncs that Python's operators call if a NumPy array or scalar is on the left of a tensor. `matmul` is
# none: PyTorch's does not promote.
_OPERATORS = {
    "add", "subtract", "multiply", "divide", "floor_divide", "remainder", "power", "left_shift", "right_shift",
    "bitwise_and", "bitwise_or", "bitwise_xor", "equal", "not_equal", "less", "less_equal", "greater", "greater_equal",
}  # fmt: skip
# NumPy's functions of several operands that broadcast and are no ufuncs.
_BROADCASTING = {"where", "clip", "isclose", "allclose"}
# NumPy's functions that hand on the array that they are given: NumPy calls them here only for their `like=`.
_AS_ARRAY = {"asarray", "asanyarray", "array", "ascontiguousarray", "asfortranarray", "require"}
# NumPy's characters of the dtypes that tensors have, too.
_DTYPES = frozenset("?bBhHiIlLqQefdFD")


# NumPy's functions for arrays that NumPy cannot hold, where the function of the same name in the array API
# has other parameters or results. An option that one of them does not have is not supported.


def _is_exact(x):
    return not (x.dtype.is_floating_point or x.dtype.is_complex)


def _averaged(a, dtype):
    """The array in the dtype in which NumPy averages it."""
    return a.to("float64" if dtype is None and _is_exact(a) else a.dtype if dtype is None else dtype)


def _over(function, a, axis, keepdims, **options):
    """A reduction, where ``axis=()`` means no dimension, as in NumPy: over a new one of size 1. In PyTorch it
    means all."""
    if isinstance(axis, (tuple, list)) and not axis:
        return function(zs.unsqueeze(a, -1), -1, **options)
    return function(a, axis, keepdim=keepdims, **options)


def _norm(x, ord=None, axis=None, keepdims=False):
    """Norms of vectors, and the Frobenius norm; the other norms of matrices are left to NumPy."""
    ndim = x.ndim if axis is None else len(axis) if isinstance(axis, tuple) else 1
    if ord is None or (ndim == 2 and ord == "fro"):
        ord = 2
    elif ndim != 1 or isinstance(ord, str):
        return NotImplemented
    return zs.norm(_averaged(x, None), ord, axis, keepdims)


def _mean(a, axis=None, dtype=None, *, keepdims=False):
    return _over(zs.mean, _averaged(a, dtype), axis, keepdims)


def _spread(function):
    def spread(a, axis=None, dtype=None, *, ddof=0, correction=0, keepdims=False):
        return _over(function, _averaged(a, dtype), axis, keepdims, correction=ddof or correction)

    return spread


def _nan_total(function, neutral):
    def total(a, axis=None, dtype=None, *, keepdims=False):
        a = a if _is_exact(a) else zs.where(zs.isnan(a), neutral, a)
        return function(a, axis=axis, dtype=dtype, keepdims=keepdims)

    return total


def _nan_extreme(function, neutral):
    """The extreme of the elements that are not NaN; NaN if there are none."""

    def extreme(a, axis=None, *, keepdims=False):
        if _is_exact(a):
            return _over(function, a, axis, keepdims)
        absent = zs.isnan(a)
        found = _over(function, zs.where(absent, neutral, a), axis, keepdims)
        return zs.where(_over(zs.all, absent, axis, keepdims), float("nan"), found)

    return extreme


def _nanmean(a, axis=None, dtype=None, *, keepdims=False):
    a = _averaged(a, dtype)
    counted = array_api.sum(~zs.isnan(a), axis=axis, keepdims=keepdims)
    return _OWN["nansum"](a, axis, keepdims=keepdims) / counted


def _clip(a, a_min=None, a_max=None, *, min=None, max=None):
    import numpy

    min, max = a_min if min is None else min, a_max if max is None else max
    if a.dtype.kind in "iu":
        # Python's integers that the dtype does not have may limit nothing.
        info = numpy.iinfo(a.dtype)
        min = None if type(min) is int and min <= info.min else min
        max = None if type(max) is int and max >= info.max else max
    if min is None and max is None:
        return a
    given = [operand for operand in (a, min, max) if operand is not None]
    dtype = _promoted(lambda *seen: numpy.result_type(*(one(0) if isinstance(one, type) else one for one in seen)), *given)
    return zs.clamp(*(one if one is None or dtype is None else _cast(one, dtype) for one in (a, min, max)))


def _round(a, decimals=0):
    if a.dtype.is_complex:
        return zs.complex(zs.round(zs.real(a), decimals=decimals), zs.round(zs.imag(a), decimals=decimals))
    if a.dtype.is_floating_point or (a.dtype is zs.bool and decimals):
        return zs.round(a, decimals=decimals)
    if a.dtype is zs.bool:
        return a.to(zs.float16)
    return zs.round(a) if decimals >= 0 else zs.round(a.double(), decimals=decimals).to(a.dtype)


def _place(function):
    def place(a, axis=None, *, keepdims=False):
        return function(a.to(zs.uint8) if a.dtype is zs.bool else a, axis, keepdim=keepdims)

    return place


def _where(condition, x, y):
    import numpy

    dtype = _promoted(lambda *seen: numpy.add.resolve_dtypes((*seen, None))[-1], x, y)
    if not (hasattr(x, "dtype") or hasattr(y, "dtype")):
        x = numpy.asarray(x, dtype)  # The dtype of two bare numbers is NumPy's, too.
    condition = condition.to(zs.bool) if isinstance(condition, (zs.Tensor, zs.Expr)) else numpy.asarray(condition, bool)
    return zs.where(condition, *(value if dtype is None else _cast(value, dtype) for value in (x, y)))


def _is_close(a, b, rtol=1e-5, atol=1e-8, equal_nan=False):
    import numpy

    dtype = _promoted(lambda *seen: numpy.add.resolve_dtypes((*seen, None))[-1], a, b)
    operands = (a, b) if dtype is None else (_cast(a, dtype), _cast(b, dtype))
    return zs.isclose(*operands, rtol=rtol, atol=atol, equal_nan=equal_nan)


def _multiplied(product, *factors):
    """The product of arrays and numbers that promote as in NumPy. PyTorch's takes one dtype, and no bools: here
    the product of bools is whether any of the products that it sums is true."""
    import numpy

    dtype = _promoted(numpy.result_type, *factors)
    is_traced = any(isinstance(factor, zs.Expr) for factor in factors)
    if not is_traced:
        factors = [zs.asarray(factor) for factor in factors]
    if dtype is not None:
        convert = _cast if is_traced else _converted
        factors = [convert(factor, "int64" if dtype == bool else dtype) for factor in factors]
    result = product(*(factor if isinstance(factor, zs.Expr) else zs.asarray(factor) for factor in factors))
    return result if dtype is None else _converted(result, dtype)


def _einsum(*operands, optimize=False):
    places = [place for place, operand in enumerate(operands) if hasattr(operand, "dtype")]

    def product(*factors):
        given = dict(zip(places, factors, strict=True))
        return zs.einsum(*(given.get(place, operand) for place, operand in enumerate(operands)))

    return _multiplied(product, *(operands[place] for place in places))


def _tensordot(a, b, axes=2):
    return _multiplied(lambda a, b: array_api.tensordot(a, b, axes=axes), a, b)


def _dot(a, b):
    def product(a, b):
        return array_api.tensordot(a, b, axes=(-1, -1 if b.ndim == 1 else -2)) if a.ndim and b.ndim else a * b

    return _multiplied(product, a, b)


def _inner(a, b):
    return _multiplied(lambda a, b: array_api.tensordot(a, b, axes=(-1, -1)) if a.ndim and b.ndim else a * b, a, b)


def _outer(a, b):
    return _multiplied(lambda a, b: zs.outer(a.reshape(-1), b.reshape(-1)), a, b)


def _vdot(a, b):
    return _multiplied(lambda a, b: array_api.vecdot(a.reshape(-1), b.reshape(-1)), a, b)


def _kron(a, b):
    def product(a, b):
        ndim = max(a.ndim, b.ndim)
        a, b = (x.reshape((1,) * (ndim - x.ndim) + x.shape) for x in (a, b))
        blocks = a.reshape([size for dim in a.shape for size in (dim, 1)]) * b.reshape([size for dim in b.shape for size in (1, dim)])
        return blocks.reshape([m * n for m, n in zip(a.shape, b.shape, strict=True)])

    return _multiplied(product, a, b)


def _angle(z):
    import numpy

    return zs.angle(z) if z.dtype.is_complex else numpy.arctan2(0, z)


def _result_type(*operands):
    import numpy

    dtypes = (operand.dtype if isinstance(operand, (zs.Tensor, zs.Expr)) else operand for operand in operands)
    return numpy.result_type(*(numpy.dtype(one) if isinstance(one, zs.dtype) else one for one in dtypes))


def _running(function):
    def running(a, axis=None, dtype=None):
        return function(a.reshape(-1) if axis is None else a, axis=axis or 0, dtype=dtype)

    return running


def _ptp(a, axis=None, *, keepdims=False):
    return zs.sub(*(_over(function, a, axis, keepdims) for function in (zs.amax, zs.amin)))


def _diagonal(a, offset=0, axis1=0, axis2=1):
    return zs.diagonal(a, offset, axis1, axis2)


def _trace(a, offset=0, axis1=0, axis2=1, dtype=None):
    return array_api.sum(_diagonal(a, offset, axis1, axis2), axis=-1, dtype=dtype)


def _for_opt_einsum(product):
    """PyTorch's function, which opt_einsum finds by its name in the package of an array and calls for NumPy's:
    what it refuses promotes if called from there. xarray's `dot` and `weighted` call it so, with masks and
    weights."""

    @functools.wraps(product)
    def called(*arguments, **keywords):
        try:
            return product(*arguments, **keywords)
        except RuntimeError:
            if sys._getframe(1).f_globals.get("__name__") != "opt_einsum.contract":
                raise
            return _OWN[product.__name__](*arguments, **keywords)

    called.__module__ = __name__  # where pickle finds it
    return called


einsum, tensordot = map(_for_opt_einsum, (zs.einsum, zs.tensordot))

# The products that are ufuncs.
_PRODUCTS = {
    "matmul": zs.matmul, "vecdot": array_api.vecdot, "matvec": lambda a, v: zs.matmul(a, v[..., None])[..., 0],
    "vecmat": lambda v, a: zs.matmul(v.conj()[..., None, :], a)[..., 0, :],
}  # fmt: skip

_OWN = {
    "mean": _mean, "std": _spread(zs.std), "var": _spread(zs.var), "nansum": _nan_total(array_api.sum, 0),
    "nanprod": _nan_total(array_api.prod, 1), "nanmax": _nan_extreme(zs.amax, float("-inf")),
    "nanmin": _nan_extreme(zs.amin, float("inf")), "nanmean": _nanmean, "clip": _clip, "where": _where,
    "amax": array_api.max, "amin": array_api.min, "concatenate": array_api.concat, "copy": lambda a: zs.clone(a),
    "round": _round, "argmax": _place(zs.argmax), "argmin": _place(zs.argmin), "transpose": lambda a, axes=None: a.T if axes is None else a.permute(axes),
    "ravel": lambda a: zs.reshape(a, -1), "squeeze": lambda a, axis=None: zs.squeeze(a) if axis is None else array_api.squeeze(a, axis),
    "swapaxes": zs.swapaxes, "angle": _angle, "result_type": _result_type, "sinc": lambda x: zs.sinc(_averaged(x, None)), "i0": lambda x: zs.i0(_averaged(x, None)),
    "nan_to_num": zs.nan_to_num, "isclose": _is_close, "imag": lambda a: a.imag, "hstack": zs.hstack, "vstack": zs.vstack, "dstack": zs.dstack,
    "einsum": _einsum, "tensordot": _tensordot, "dot": _dot, "inner": _inner, "outer": _outer, "vdot": _vdot, "kron": _kron, "argwhere": zs.argwhere, "shape": lambda a: a.shape, "ndim": lambda a: a.ndim,
    "size": lambda a, axis=None: a.numel() if axis is None else a.shape[axis], "cumsum": _running(array_api.cumulative_sum),
    "take": lambda a, indices, axis=None: array_api.take(a.reshape(-1) if axis is None else a, indices, axis=axis or 0),
    "cumprod": _running(array_api.cumulative_prod), "ptp": _ptp, "trace": _trace, "diagonal": _diagonal,
    "linalg.norm": _norm,
}  # fmt: skip
_OWN["around"] = _OWN["round"]


def _promoted(rule, *operands):
    """The result of one of NumPy's promotion rules for operands, as dtypes and the classes of bare numbers;
    ``None`` if an operand has a dtype that is not NumPy's."""
    import numpy

    def seen(operand):
        if type(operand) in (int, float, complex):
            return type(operand)
        return numpy.dtype(operand.dtype) if hasattr(operand, "dtype") else numpy.asarray(operand).dtype

    # NumPy has bfloat16 only while ml_dtypes, which comes with JAX, is imported.
    if any(getattr(operand, "dtype", None) is zs.bfloat16 for operand in operands):
        return None
    try:
        dtypes = [seen(operand) for operand in operands]
    except TypeError:
        return None
    return rule(*dtypes)


def _cast(operand, dtype):
    """An operand converted to a NumPy dtype. A bare number takes the other operands' dtype anyway, and is only rounded to it."""
    import numpy

    if type(operand) in (int, float, complex):
        with numpy.errstate(all="ignore"):
            rounded = numpy.dtype(dtype).type(operand).item()
        is_large = type(operand) is int and operand.bit_length() > 63
        return rounded if is_large or rounded != operand else operand
    return _converted(zs._traced(operand if hasattr(operand, "dtype") else numpy.asarray(operand)), dtype)


def _converted(result, dtype):
    """A result converted to a NumPy dtype: a tensor where nothing is traced."""
    wanted = _own_dtype(dtype)
    return result if result.dtype is wanted else zs.astype(result, wanted)


@functools.cache
def _own_dtype(dtype):
    """The dtype of tensors that is NumPy's; NumPy's itself if there is none."""
    import numpy

    return getattr(zs, numpy.dtype(dtype).name, dtype)


def _heaviside(a, values):
    """The step of NaN is NaN in NumPy, and 0 elsewhere. A bare number has the other operand's dtype."""
    (dtype, *_) = (operand.dtype for operand in (a, values) if hasattr(operand, "dtype"))
    a, values = (operand if hasattr(operand, "dtype") else zs.full((), operand, dtype=dtype) for operand in (a, values))
    return zs.where(zs.isnan(a), a, zs.heaviside(a, values))


def _remainder(a, b):
    """A remainder of 0 has the sign of the divisor in NumPy, too."""
    return zs.copysign(zs.remainder(a, b), b)


def _bare(value):
    """A number of elements without its method, which NumPy takes for a number like any other."""
    return int(value) if type(value) is _Size else value


def _without_sizes(value):
    """Arguments with their numbers of elements as numbers like any other."""
    if type(value) in (tuple, list):
        return type(value)(map(_without_sizes, value))
    return {name: _without_sizes(item) for name, item in value.items()} if type(value) is dict else _bare(value)


def _divided(own, a, b):
    """An integer divided by 0 is 0 in NumPy; elsewhere an error."""
    if type(b) is int:
        if b != 0:
            return own(a, b)
        b = zs.zeros((), dtype=a.dtype)
    is_zero = zs.eq(b, 0)
    return zs.where(is_zero, 0, own(a, zs.where(is_zero, 1, b)))


def _made_unsigned(*operands):
    """Integers with and without a sign that are to be compared, of the widest dtype: if one is negative, both are replaced
    by such as compare alike."""
    (signed,) = (operand for operand in operands if operand.dtype == zs.int64)
    is_negative = zs.lt(signed, 0)
    return [_cast(zs.where(is_negative, int(operand is not signed), operand), "uint64") for operand in operands]


def _own_ufunc(ufunc, method, inputs, keywords):
    """The result of a ufunc of arrays that NumPy cannot hold; ``NotImplemented`` if this package has no
    equivalent."""
    import numpy

    name, inputs = ufunc.__name__, tuple(map(_bare, inputs))
    if method == "reduce" and name in _REDUCTIONS:
        return _own_function(getattr(numpy, _REDUCTIONS[name]), inputs, {"axis": 0} | keywords)
    name = _UFUNCS.get(name, name)
    own = _PRODUCTS.get(name) or vars(array_api).get(name) or getattr(zs, name, None)
    own = _heaviside if name == "heaviside" else own
    given = {word: value for word, value in keywords.items() if value is not None and not (word == "where" and value is True)}
    dtype = given.pop("dtype", None)
    if method != "__call__" or own is None or given or ufunc.nout > 1:
        return NotImplemented
    wanted = {} if dtype is None else {"signature": (*[None] * ufunc.nin, numpy.dtype(dtype))}
    if name in _PRODUCTS and dtype is None:
        return _multiplied(own, *inputs)
    dtypes = _promoted(lambda *seen: ufunc.resolve_dtypes((*seen, None), **wanted), *inputs)
    if name in ("absolute", "floor", "ceil", "trunc") and dtypes == (bool, bool):
        return inputs[0]
    if dtypes is None:
        return own(*inputs)
    operands = []
    for operand, dtype in zip(inputs, dtypes, strict=False):
        try:
            operands.append(_cast(operand, dtype))
        except OverflowError:
            if dtypes[-1] != bool:
                raise
            # A comparison with an integer that the other's dtype does not have.
            operands.append(float("inf") if operand > 0 else float("-inf"))
    kinds = {dtype.kind for dtype in dtypes[:-1]}
    if kinds == {"i", "u"}:
        operands = _made_unsigned(*operands)
    elif kinds == {"f"} and name == "remainder":
        own = _remainder
    elif kinds <= {"i", "u"} and name in ("floor_divide", "remainder", "fmod"):
        own = functools.partial(_divided, own)
    elif kinds <= {"i", "u"} and name == "pow" and not isinstance(inputs[1], zs.Expr) and (numpy.asarray(inputs[1]) < 0).any():
        raise ValueError("Integers to negative integer powers are not allowed.")
    return _converted(own(*operands), dtypes[-1])


_signature = functools.cache(inspect.signature)


def _own_function(function, arguments, keywords):
    """The result of a NumPy function of arrays that NumPy cannot hold; ``NotImplemented`` if there is no
    equivalent."""
    import numpy

    name = f"{function.__module__}.{function.__name__}".removeprefix("numpy.")
    own = _OWN.get(name) or vars(array_api).get(name)
    if own is None:
        return NotImplemented
    signature = _signature(function)
    positional, named = [], {}
    for word, value in signature.bind(*arguments, **keywords).arguments.items():
        parameter, value = signature.parameters[word], _bare(value)
        if parameter.kind is parameter.VAR_POSITIONAL:
            positional += value
        elif parameter.kind is parameter.VAR_KEYWORD:
            named |= value
        elif parameter.default is parameter.empty:
            positional.append(value)
        elif value is not parameter.default and value is not None and not (word == "where" and value is True):
            named[word] = value if word != "dtype" or isinstance(value, zs.dtype) else numpy.dtype(value)
    try:
        _signature(own).bind(*positional, **named)
    except TypeError:
        return NotImplemented
    return own(*positional, **named)


def _is_elsewhere(value):
    """Whether an argument contains an array that NumPy cannot hold."""
    if isinstance(value, zs.Tensor):
        return value.dtype is zs.bfloat16
    parts = value.values() if isinstance(value, dict) else value if isinstance(value, (list, tuple)) else ()
    return isinstance(value, zs.Expr) or any(map(_is_elsewhere, parts))


def _lend(value, lent):
    """An argument with its tensors replaced by NumPy arrays on their memory; each array and its tensor are
    added to `lent`."""
    import numpy

    if isinstance(value, numpy.ndarray):
        lent.append((value, value))
    elif isinstance(value, (zs.Tensor, zs.Expr)):
        array = value.numpy()
        # A write to one element of an expanded tensor changes others, too.
        if any(stride == 0 and size > 1 for stride, size in zip(array.strides, array.shape, strict=True)):
            array.flags.writeable = False
        lent.append((array, value))
        return array
    elif isinstance(value, dict):
        return {name: _lend(part, lent) for name, part in value.items()}
    elif isinstance(value, collections.abc.Sequence) and not isinstance(value, (str, bytes, bytearray, memoryview, range)):
        parts = [_lend(part, lent) for part in value]
        if any(part is not old for part, old in zip(parts, value, strict=True)):
            return tuple(parts) if isinstance(value, tuple) else parts
    return value


def _returned(result, lent):
    """NumPy's result with arrays and scalars replaced by tensors; arrays that were arguments are returned as
    those."""
    import numpy

    for array, given in lent:
        if result is array:
            return given
    if type(result) is numpy.ndarray or isinstance(result, numpy.generic):
        ours = result.dtype.char in _DTYPES and result.dtype.isnative
        return zs.from_numpy(numpy.asarray(result)) if ours else result
    if isinstance(result, (list, tuple)):
        parts = [_returned(part, lent) for part in result]
        return result._make(parts) if hasattr(result, "_make") else type(result)(parts)
    return result


def _in_numpy(name, function, arguments, keywords):
    """Calls a NumPy function on the memory of tensors; arrays in files are read."""
    lent = []
    try:
        arguments, keywords = _lend(arguments, lent), _lend(keywords, lent)
    except zs.TraceError:
        options = f" with {', '.join(keywords)}" if keywords else ""
        raise zs.TraceError(
            f"{name}{options} is computed by NumPy on elements, which a traced function does not know yet: "
            "write it with the functions of zerostride, or call it outside of the function"
        ) from None
    # If only NumPy looks into an object with tensors, it would call this function again.
    if all(array is given for array, given in lent):
        function = getattr(function, "_implementation", function)
    return _returned(function(*arguments, **keywords), lent)


def _report(name, arguments):
    """Reports a broadcast that NumPy is about to make to policies and audits."""
    arrays = [value for value in arguments if hasattr(value, "shape") and hasattr(value, "itemsize")]
    if len({tuple(array.shape) for array in arrays}) > 1:
        zs._report(f"numpy.{name}", [list(array.shape) for array in arrays], max(array.itemsize for array in arrays))


def _array_ufunc(self, ufunc, method, *inputs, out=(), **keywords):
    """NumPy's ufuncs on tensors and traced arrays."""
    import numpy

    name = ufunc.__name__
    plain = method == "__call__" and not out and not keywords
    if plain and name == "divmod" and _is_elsewhere(inputs):
        return numpy.floor_divide(*inputs), numpy.remainder(*inputs)
    foreign = isinstance(inputs[0], (numpy.ndarray, numpy.generic)) and inputs[0].dtype.char in _DTYPES
    if plain and foreign and name in _OPERATORS and not (zs._are_numpys() and _is_elsewhere(inputs)):
        return getattr(zs, _UFUNCS.get(name, name))(*inputs)
    keywords |= {"out": out} if out else {}
    if _is_elsewhere((*inputs, *out)):
        result = zs._by_torchs_rules(_own_ufunc, ufunc, method, inputs, keywords)
        if result is not NotImplemented:
            return result
    elif method == "__call__" and ufunc.signature is None:
        _report(name, inputs)
    called = f"numpy.{name}" if method == "__call__" else f"numpy.{name}.{method}"
    return _in_numpy(called, getattr(ufunc, method), inputs, keywords)


def _has_fields(dtype):
    import numpy

    return dtype is not None and numpy.dtype(dtype).fields is not None


def _array_function(self, function, types, arguments, keywords):
    """NumPy's functions on tensors and traced arrays."""
    if _is_elsewhere((arguments, keywords)):
        result = zs._by_torchs_rules(_own_function, function, arguments, keywords)
        if result is not NotImplemented:
            # What only has the form of an array, as `zeros_like`, has elements, and remains NumPy's.
            return result.numpy() if isinstance(result, zs.Tensor) and zs._are_numpys() else result
    elif function.__name__ in _BROADCASTING:
        _report(function.__name__, arguments)
    elif function.__name__.endswith("_like") and _has_fields(keywords.get("dtype")):
        # dask asks so whether an array's type has fields, and does without.
        raise TypeError(f"a tensor has no fields, so that numpy.{function.__name__}(tensor, dtype=...) cannot be one")
    elif function.__name__ in _AS_ARRAY and not isinstance(arguments[0], zs.Tensor):
        return zs.asarray(function(*arguments, **keywords))
    return _in_numpy(f"{function.__module__}.{function.__name__}", function, arguments, keywords)


def operator(name, *operands):
    """Python's operator on traced arrays by NumPy's rules: its ufunc."""
    import numpy

    if name == "pow" and type(operands[1]) is int and operands[1] == 2:
        return numpy.square(operands[0])
    ufunc = getattr(numpy, _lazy.UFUNCS.get(name, name))
    result = _own_ufunc(ufunc, "__call__", operands, {})
    return ufunc(*operands) if result is NotImplemented else result


def _in_place(name):
    """Python's in-place operator on a traced array, which makes a new one: of the same dtype and shape by NumPy's rules."""

    def operated(self, other):
        import numpy

        if not zs._are_numpys():
            return NotImplemented
        result = zs._by_torchs_rules(operator, name, self, other)
        ufunc = getattr(numpy, _lazy.UFUNCS.get(name, name))
        # An error if NumPy does not write such a result to such an array.
        _promoted(lambda *seen: ufunc.resolve_dtypes((*seen, seen[0])), self, other)
        if result.shape != self.shape:
            raise ValueError(f"non-broadcastable output operand with shape {self.shape} doesn't match the broadcast shape {result.shape}")
        return _converted(result, self.dtype)

    return operated


# Python's in-place operators, and the operations that they are.
_IN_PLACE = {
    "add": "add", "sub": "sub", "mul": "mul", "truediv": "div", "floordiv": "floor_divide", "mod": "remainder", "pow": "pow",
    "and": "bitwise_and", "or": "bitwise_or", "xor": "bitwise_xor", "lshift": "bitwise_left_shift", "rshift": "bitwise_right_shift",
    "matmul": "matmul",
}  # fmt: skip


def _divmod(a, b):
    import numpy

    return numpy.divmod(a, b) if zs._are_numpys() else NotImplemented


def _of_numpys_array(self, name):
    """A method that NumPy's arrays have and tensors do not."""
    found = method(name) if zs._are_numpys() and not name.startswith("_") else None
    if found is None:
        raise AttributeError(f"a traced array has no attribute {name!r}", name=name, obj=self)
    return functools.partial(found, self)


@functools.cache
def method(name):
    """The method of NumPy's arrays of that name, on traced ones; ``None`` if they have none that is NumPy's function."""
    import numpy

    function = getattr(numpy, name, None) if hasattr(numpy.ndarray, name) else None
    own = _OWN.get(name) or vars(array_api).get(name)

    def reduced(a, *axis, **options):
        """Without NumPy's binding of arguments, which takes longer than all else."""
        is_plain = len(axis) < 2 and options.keys() <= ({"keepdims"} if axis else {"axis", "keepdims"})
        return own(a, **({"axis": axis[0]} if axis else {}), **options) if is_plain else function(a, *axis, **options)

    match name:
        case "sum" | "prod" | "mean" | "std" | "var" | "max" | "min" | "all" | "any" | "argmax" | "argmin":
            return reduced
        case "reshape" | "transpose":
            return lambda a, *sizes, **options: function(a, *(sizes if len(sizes) < 2 else [sizes]), **options)
        case "conj" | "conjugate":
            return lambda a: function(a) if a.dtype.is_complex else a
        case "flatten":
            return numpy.ravel
    return function


def _array_wrap(self, array, context=None, return_scalar=False):
    """For NumPy: the result that it computed in an array in place of the tensor, as a tensor."""
    return _returned(array, ())


def _torch_norm(input, p="fro", dim=None, keepdim=False, dtype=None):
    """``torch.norm``: the Frobenius norm is that of all elements of a matrix as one vector."""
    if isinstance(p, str) and p != "fro":
        raise zs.TraceError(f"the norm {p!r} needs singular values, which a traced function cannot compute: call it outside")
    return zs.norm(input if dtype is None else input.to(dtype), p, dim, keepdim)


def _torch_matrix_norm(A, ord="fro", dim=(-2, -1), keepdim=False, dtype=None):
    if ord != "fro":
        raise zs.TraceError(f"a traced function cannot compute the matrix norm {ord!r}: call it outside, or take sums and maxima")
    return _torch_norm(A, 2, dim, keepdim, dtype)


def _torch_any_norm(A, ord=None, dim=None, keepdim=False, dtype=None):
    """``torch.linalg.norm``: that of vectors or of matrices, by the dimensions."""
    ranks = A.ndim if dim is None else len(dim) if isinstance(dim, (tuple, list)) else 1
    if ord is None or ranks == 1:
        return _torch_norm(A, 2 if ord is None else ord, dim, keepdim, dtype)
    return _torch_matrix_norm(A, ord, (-2, -1) if dim is None else dim, keepdim, dtype)


# Torch's functions that are no rows of the tables, or have another name or parameters there.
_TORCH = {
    "norm": _torch_norm, "linalg_vector_norm": lambda x, ord=2, *rest, **options: _torch_norm(x, ord, *rest, **options),
    "linalg_norm": _torch_any_norm, "linalg_matrix_norm": _torch_matrix_norm, "log_sigmoid": zs.logsigmoid, "_threshold": zs.threshold,
    "cdist": lambda x1, x2, p=2.0, compute_mode=None: zs.cdist(x1, x2, p),
}  # fmt: skip


def _torch_function(cls, function, types, arguments=(), keywords=None):
    """torch's functions on traced arrays: those of the same name here."""
    name = getattr(function, "__name__", "")
    own = _TORCH.get(name) or getattr(zs, name, None)
    # Options that only concern torch, and options with their default.
    defaults = {"inplace": False, "out": None}
    given = {word: value for word, value in (keywords or {}).items() if word[0] != "_" and value is not defaults.get(word, ...)}
    if own is None or "inplace" in given:
        what = f"torch.{name}(inplace=True) writes to an array" if own else f"torch.{name} has no counterpart in zerostride"
        raise zs.TraceError(f"{what}, which a traced function cannot use: write it with what zerostride has, or call it outside")
    return own(*arguments, **given)


def _array_namespace(self, *, api_version=None):
    """The array API standard as functions on tensors."""
    from . import array_api

    if api_version not in (None, "2021.12", "2022.12", "2023.12", "2024.12", "2025.12"):
        raise ValueError(f"the array API is that of 2025.12, not of {api_version!r}")
    return array_api


def _to_device(self, device, /, *, stream=None):
    """The tensor on a device: the tensor itself if it is there.

    >>> zs.zeros(2).to_device("cpu")
    tensor([0., 0.])
    """
    if stream is not None:
        raise ValueError("work on a GPU is on its default stream")
    return self if device == self.device else self.to(device)


def _numpy_dtype(self):
    """NumPy's dtype of the same name, so that ``numpy.dtype`` accepts this one."""
    import numpy

    return numpy.dtype(self.name)


def _is_same_dtype(self, other):
    """Whether the other is this dtype, or what NumPy accepts for it: one of its dtypes, a class of numbers,
    or a name."""
    if isinstance(other, zs.dtype) or other is None:
        return self is other
    try:
        import numpy

        return isinstance(other, (numpy.dtype, type, str)) and _numpy_dtype(self) == numpy.dtype(other)
    except (ImportError, TypeError, ValueError):
        return False


def _hash_of_dtype(self):
    """The hash of NumPy's scalar class, which the dtype is equal to: `numpy.isdtype` looks it up in a set of
    these."""
    try:
        return hash(self.name if self is zs.bfloat16 else _numpy_dtype(self).type)
    except ImportError:
        return hash(self.name)


def _of_numpy_dtype(self, name):
    """What else NumPy's dtype of the same name has, as programs expect that found its class (``dtype.__class__``)."""
    if name.startswith("__") or self is zs.bfloat16:
        raise AttributeError(f"a zerostride.dtype has no attribute {name!r}")
    return getattr(_numpy_dtype(self), name)


def _kind(self):
    """The letter of NumPy's kind of dtype."""
    return "f" if self.is_floating_point else "c" if self.is_complex else self.name[0]


class _Size(int):
    """The number of elements, as NumPy and the array API have it; called, the sizes of dimensions, as PyTorch has it.

    NumPy takes numbers of classes derived from ``int`` for arrays of int64: its functions get the number alone.
    """

    def __call__(self, dim=None):
        return self.sizes(dim)

    def __array_ufunc__(self, ufunc, method, *inputs, **keywords):
        return getattr(ufunc, method)(*map(_bare, inputs), **keywords)

    def __array_function__(self, function, types, arguments, keywords):
        return function(*_without_sizes(arguments), **_without_sizes(keywords))

    def __reduce__(self):
        return int, (int(self),)


def _size(sizes):
    """The property whose value is also the method `sizes`."""

    def size(self):
        found = _Size(self.numel())
        found.sizes = sizes.__get__(self)
        return found

    return property(size, doc=sizes.__doc__)


def _copy(self, order="C"):
    """A copy of the elements, as NumPy's method: row-major, column-major (``F``), or in the order in memory (``K``).

    >>> x = zs.tensor([[1, 2], [3, 4]])
    >>> x.copy(order="F").stride()
    (1, 2)
    """
    if order not in ("C", "F", "K"):
        raise ValueError(f"copy(): order is 'C', 'F' or 'K', not {order!r}")
    row_major = {"memory_format": "torch.contiguous_format"}
    if order == "K" or (order == "F" and isinstance(self, zs.Expr)):
        return self.clone()
    reversed_dims = tuple(range(self.ndim))[::-1]
    return self.clone(**row_major) if order == "C" else self.permute(reversed_dims).clone(**row_major).permute(reversed_dims)


def _needs_elements(name, member):
    """An attribute of tensors for an array without elements: an error if traced; if in a file, it is read."""
    if not callable(member):
        return property(lambda self: getattr(self._elements(name), name))

    def method(self, *arguments, **keywords):
        return getattr(self._elements(f"{name}()"), name)(*arguments, **keywords)

    return method


def install():
    """Adds the protocols to the classes, and the attributes of tensors to traced arrays."""
    for cls in (zs.Tensor, zs.Expr):
        cls.__array_ufunc__ = _array_ufunc
        cls.__array_function__ = _array_function
        cls.__array_priority__ = 1000
        cls.__array_namespace__ = _array_namespace
        cls.to_device = _to_device
        cls.size = _size(cls.size)
        cls.copy = _copy
    zs.Tensor.__array_wrap__ = _array_wrap
    zs.Tensor.__dask_tokenize__ = _dask.token
    zs.dtype.dtype = property(_numpy_dtype)
    zs.dtype.__eq__ = _is_same_dtype
    zs.dtype.__hash__ = _hash_of_dtype
    zs.dtype.kind = property(_kind)
    zs.dtype.__getattr__ = _of_numpy_dtype
    zs.dtype.type = property(lambda self: _numpy_dtype(self).type)
    zs.Expr.__divmod__, zs.Expr.__rdivmod__ = _divmod, lambda self, other: _divmod(other, self)
    zs.Expr.__getattr__ = _of_numpys_array
    for name, operation in _IN_PLACE.items():
        setattr(zs.Expr, f"__i{name}__", _in_place(operation))
    zs.Expr.__torch_function__ = classmethod(_torch_function)
    for name, member in vars(zs.Tensor).items():
        # Without an in-place method Python's in-place operators compute a new value. Only tensors have
        # memory.
        if not hasattr(zs.Expr, name) and not name.startswith("__i") and name not in ("__buffer__", "__release_buffer__"):
            setattr(zs.Expr, name, _needs_elements(name, member))
