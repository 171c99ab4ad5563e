"""The Python array API standard 2025.12 as a namespace: ``x.__array_namespace__()``.

A function of the standard is the package's where that has the signature and result of the standard. The functions written here
differ from PyTorch's: ``sort`` returns one array, ``std`` divides by ``n``, ``sum`` of unsigned integers is unsigned. Functions
of several arrays promote as the standard says, by which a 0-d array has the weight of any other; operators of tensors are
PyTorch's. ``linalg`` and ``fft`` are NumPy's, on the memory of tensors, and so are names outside the standard's main namespace.
"""

import builtins
import functools
import importlib
from math import e, inf, nan, pi

from . import _results, _sets
from . import _zerostride as zs
from ._limits import finfo, iinfo
from ._zerostride import (
    abs, acos, acosh, asin, asinh, atan, atanh, bool, ceil, complex64, complex128, conj, cos, cosh, exp, expm1, float32, float64,
    floor, imag, int8, int16, int32, int64, isfinite, isinf, isnan, log, log1p, log2, log10, logical_not, matrix_transpose,
    negative, positive, real, reciprocal, signbit, sin, sinh, sqrt, square, tan, tanh, trunc, uint8, uint16, uint32, uint64,
)  # fmt: skip

__array_api_version__ = "2025.12"
newaxis = None
bitwise_invert = zs.bitwise_not

_SIGNED = (int8, int16, int32, int64)
_UNSIGNED = (uint8, uint16, uint32, uint64)
_KINDS = {
    "bool": (bool,),
    "signed integer": _SIGNED,
    "unsigned integer": _UNSIGNED,
    "integral": _SIGNED + _UNSIGNED,
    "real floating": (float32, float64),
    "complex floating": (complex64, complex128),
    "numeric": (*_SIGNED, *_UNSIGNED, float32, float64, complex64, complex128),
}


def __getattr__(name):
    if name in ("linalg", "fft"):
        return importlib.import_module(f"{__package__}._{name}")
    import numpy

    found = getattr(numpy, name, None)
    if found is None or name.startswith("_"):
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}, nor has NumPy")
    return found


# Promotion.


def _met(*operands):
    """Arrays in the dtype that they promote to, whatever their dimensions; bare numbers take that of arrays anyway."""
    dtypes = {operand.dtype for operand in operands if isinstance(operand, (zs.Tensor, zs.Expr))}
    if len(dtypes) < 2:
        return operands
    dtype = functools.reduce(zs.promote_types, dtypes)
    return tuple(operand.to(dtype) if isinstance(operand, (zs.Tensor, zs.Expr)) else operand for operand in operands)


def _promoting(function):
    """A function of two arrays that promotes them as the standard says."""

    def promoting(x1, x2, /):
        return function(*_met(x1, x2))

    promoting.__name__ = promoting.__qualname__ = function.__name__
    promoting.__doc__ = function.__doc__
    return promoting


add, atan2, bitwise_and, bitwise_left_shift, bitwise_or, bitwise_right_shift, bitwise_xor, copysign, divide, equal, floor_divide, \
    greater, greater_equal, hypot, less, less_equal, logaddexp, logical_and, logical_or, logical_xor, matmul, maximum, minimum, \
    multiply, nextafter, not_equal, pow, remainder, subtract = map(_promoting, (
        zs.add, zs.atan2, zs.bitwise_and, zs.bitwise_left_shift, zs.bitwise_or, zs.bitwise_right_shift, zs.bitwise_xor, zs.copysign,
        zs.divide, zs.eq, zs.floor_divide, zs.greater, zs.greater_equal, zs.hypot, zs.less, zs.less_equal, zs.logaddexp,
        zs.logical_and, zs.logical_or, zs.logical_xor, zs.matmul, zs.maximum, zs.minimum, zs.multiply, zs.nextafter, zs.not_equal,
        zs.pow, zs.remainder, zs.subtract,
    ))  # fmt: skip


# Inspection.


class _Info:
    """What this implementation of the standard offers."""

    def capabilities(self):
        return {"boolean indexing": True, "data-dependent shapes": True, "max dimensions": 64}

    def default_device(self):
        return "cpu"

    def devices(self):
        return ("cpu",)

    def default_dtypes(self, *, device=None):
        _check_device(device)
        return {"real floating": float32, "complex floating": complex64, "integral": int64, "indexing": int64}

    def dtypes(self, *, device=None, kind=None):
        _check_device(device)
        kinds = _KINDS if kind is None else (kind,) if isinstance(kind, str) else kind
        return {dtype.name: dtype for kind in kinds for dtype in _KINDS[kind]}


def __array_namespace_info__():
    return _Info()


def _check_device(device):
    if device not in (None, "cpu"):
        raise ValueError(f"arrays are on the device 'cpu', not on {device!r}")


# Creation.


def arange(start, /, stop=None, step=1, *, dtype=None, device=None):
    _check_device(device)
    start, stop = (0, start) if stop is None else (start, stop)
    # The standard has an empty array where PyTorch raises an error.
    if (stop - start) * step < 0:
        stop = start + 0 * stop
    return zs.arange(start, stop, step, dtype=dtype)


def asarray(obj, /, *, dtype=None, device=None, copy=None):
    _check_device(device)
    return zs.asarray(obj, dtype=dtype, copy=copy)


def empty(shape, *, dtype=None, device=None):
    return zeros(shape, dtype=dtype, device=device)


def empty_like(x, /, *, dtype=None, device=None):
    return zeros_like(x, dtype=dtype, device=device)


def eye(n_rows, n_cols=None, /, *, k=0, dtype=None, device=None):
    result = zeros((n_rows, n_rows if n_cols is None else n_cols), dtype=dtype, device=device)
    if -result.shape[0] < k < result.shape[1]:
        result.diagonal(k).fill_(1)
    return result


def from_dlpack(x, /, *, device=None, copy=None):
    _check_device(device)
    return zs.from_dlpack(x, copy=copy)


def full(shape, fill_value, *, dtype=None, device=None):
    _check_device(device)
    return zs.full(shape, fill_value, dtype=dtype)


def full_like(x, /, fill_value, *, dtype=None, device=None, shape=None):
    """The standard's, and NumPy's `shape`, which Cubed passes."""
    _check_device(device)
    return zs.full(x.shape if shape is None else shape, fill_value, dtype=dtype or x.dtype)


def linspace(start, stop, /, num, *, dtype=None, device=None, endpoint=True):
    _check_device(device)
    if dtype is None and (isinstance(start, complex) or isinstance(stop, complex)):
        dtype = complex64
    if endpoint:
        return zs.linspace(start, stop, num, dtype=dtype)
    return zs.linspace(start, stop, num + 1, dtype=dtype)[:num]


def meshgrid(*arrays, indexing="xy"):
    return tuple(zs.meshgrid(*arrays, indexing=indexing)) if arrays else ()


def ones(shape, *, dtype=None, device=None):
    _check_device(device)
    return zs.ones(shape, dtype=dtype)


def ones_like(x, /, *, dtype=None, device=None):
    _check_device(device)
    return zs.ones_like(x, dtype=dtype)


def tril(x, /, *, k=0):
    return zs.tril(x, k)


def triu(x, /, *, k=0):
    return zs.triu(x, k)


def zeros(shape, *, dtype=None, device=None):
    _check_device(device)
    return zs.zeros(shape, dtype=dtype)


def zeros_like(x, /, *, dtype=None, device=None):
    _check_device(device)
    return zs.zeros_like(x, dtype=dtype)


# Data types.


def astype(x, dtype, /, *, copy=True, device=None):
    _check_device(device)
    return zs.astype(x, dtype, copy=copy)


def can_cast(from_, to, /):
    """Whether promotion allows the conversion; ``zs.can_cast`` is about PyTorch's in-place operations."""
    from_ = from_ if isinstance(from_, zs.dtype) else from_.dtype
    try:
        return zs.promote_types(from_, to) is to
    except RuntimeError:
        return False


def isdtype(dtype, kind):
    if isinstance(kind, tuple):
        return builtins.any(isdtype(dtype, one) for one in kind)
    if isinstance(kind, str):
        if kind not in _KINDS:
            raise ValueError(f"{kind!r} is no kind of dtype; the kinds are {', '.join(map(repr, _KINDS))}")
        return dtype in _KINDS[kind]
    return dtype is kind


def result_type(*arrays_and_dtypes):
    """The dtype of what they promote to, arrays without dimensions among them; bare numbers count less."""
    dtypes = [one if isinstance(one, zs.dtype) else one.dtype for one in arrays_and_dtypes if hasattr(one, "dtype")]
    numbers = [one for one in arrays_and_dtypes if not hasattr(one, "dtype")]
    if not dtypes:
        return zs.result_type(*numbers)
    dtype = functools.reduce(zs.promote_types, dtypes)
    return zs.result_type(zs.zeros(1, dtype=dtype), *numbers)


# Element by element.


def clip(x, /, min=None, max=None):
    return positive(x) if min is None and max is None else astype(zs.clamp(x, min, max), x.dtype, copy=False)


def round(x, /):
    return zs.complex(zs.round(real(x)), zs.round(imag(x))) if x.dtype.is_complex else zs.round(x)


def sign(x, /):
    """The sign; NaN for NaN, for which PyTorch returns 0."""
    result = zs.sgn(x)
    return where(isnan(x), x, result) if x.dtype.is_floating_point else result


# Linear algebra.


def _check_summed(name, sizes1, sizes2):
    """The standard stretches no dimension that a product sums over; PyTorch does."""
    if list(sizes1) != list(sizes2):
        raise ValueError(f"{name}() sums over dimensions of the same sizes, and not over {list(sizes1)} and {list(sizes2)}")


def tensordot(x1, x2, /, *, axes=2):
    if isinstance(axes, int):
        _check_summed("tensordot", x1.shape[x1.ndim - axes :], x2.shape[:axes])
    else:
        dims1, dims2 = ((dims,) if isinstance(dims, int) else dims for dims in axes)
        _check_summed("tensordot", [x1.shape[dim] for dim in dims1], [x2.shape[dim] for dim in dims2])
    return zs.tensordot(*_met(x1, x2), axes)


def vecdot(x1, x2, /, *, axis=-1):
    _check_summed("vecdot", x1.shape[axis:][:1], x2.shape[axis:][:1])
    return zs.vecdot(*_met(x1, x2), dim=axis)


# Shapes.


def broadcast_arrays(*arrays):
    return tuple(zs.broadcast_tensors(*arrays))


def broadcast_shapes(*shapes):
    try:
        return tuple(zs.broadcast_shapes(*shapes))
    except RuntimeError as error:
        raise ValueError(str(error)) from error


def broadcast_to(x, /, shape):
    return zs.broadcast_to(x, shape)


def concat(arrays, /, *, axis=0):
    return zs.cat([x.reshape(-1) for x in arrays] if axis is None else arrays, axis or 0)


def expand_dims(x, /, axis=0):
    if not isinstance(axis, (tuple, list)):
        return zs.unsqueeze(x, axis)
    ndim = x.ndim + len(axis)
    dims = sorted(dim + ndim if dim < 0 else dim for dim in axis)
    if len(set(dims)) < len(dims) or not builtins.all(0 <= dim < ndim for dim in dims):
        raise ValueError(f"the axes {axis} are not {len(axis)} different dimensions of {ndim}")
    for dim in dims:
        x = zs.unsqueeze(x, dim)
    return x


def flip(x, /, *, axis=None):
    return zs.flip(x, tuple(range(x.ndim)) if axis is None else axis)


def moveaxis(x, source, destination, /):
    return zs.movedim(x, source, destination)


def permute_dims(x, /, axes):
    return zs.permute(x, axes)


def repeat(x, repeats, /, *, axis=None):
    counts = repeats if isinstance(repeats, int) else astype(zs.asarray(repeats), int64)
    return zs.repeat_interleave(x, counts, axis)


def reshape(x, /, shape, *, copy=None):
    if copy is False:
        return x.view(shape)
    result = zs.reshape(x, shape)
    return zs.clone(result) if copy and result.data_ptr() == x.data_ptr() else result


def roll(x, /, shift, *, axis=None):
    if not isinstance(shift, (tuple, list)) and isinstance(axis, tuple):
        shift = (shift,) * len(axis)
    return zs.roll(x, shift, axis)


def squeeze(x, /, axis):
    for dim in axis if isinstance(axis, tuple) else (axis,):
        if -x.ndim <= dim < x.ndim and x.shape[dim] != 1:
            raise ValueError(f"dimension {dim} of an array of shape {x.shape} is not 1: it cannot be squeezed")
    return zs.squeeze(x, axis)


def stack(arrays, /, *, axis=0):
    return zs.stack(arrays, axis)


def tile(x, repetitions, /):
    return zs.tile(x, repetitions)


def unstack(x, /, *, axis=0):
    return zs.unbind(x, axis)


# Searching and counting.


def argmax(x, /, *, axis=None, keepdims=False):
    return zs.argmax(x, axis, keepdim=keepdims)


def argmin(x, /, *, axis=None, keepdims=False):
    return zs.argmin(x, axis, keepdim=keepdims)


def count_nonzero(x, /, *, axis=None, keepdims=False):
    return sum(zs.ne(x, 0), axis=axis, keepdims=keepdims)


def nonzero(x, /):
    if x.ndim == 0:
        raise ValueError("nonzero() of an array without dimensions")
    return zs.nonzero(x, as_tuple=True)


def searchsorted(x1, x2, /, *, side="left", sorter=None):
    x1, x2 = _met(x1, x2)
    return zs.searchsorted(x1, x2, side=side, sorter=sorter)


def where(condition, x1=None, x2=None, /):
    """The standard's; of a condition alone the indices at which it holds, as NumPy's, which scikit-learn calls."""
    if x1 is None and x2 is None:
        return nonzero(condition)
    return zs.where(condition, *_met(x1, x2))


def take(x, indices, /, *, axis=None):
    if axis is None and x.ndim != 1:
        raise ValueError("take() needs an axis of an array that is no vector")
    axis = (axis or 0) % x.ndim
    return x[(slice(None),) * axis + (indices,)]


def take_along_axis(x, indices, /, *, axis=-1):
    return zs.take_along_dim(x, indices, axis)


# Sets.


def isin(x1, x2, /, *, invert=False):
    return _sets.isin(*_met(x1, x2), invert=invert)


def unique_all(x, /):
    return zs.unique_all(x)


def unique_counts(x, /):
    return _results.unique_counts(*zs.unique(x, return_counts=True))


def unique_inverse(x, /):
    return _results.unique_inverse(*zs.unique(x, return_inverse=True))


def unique_values(x, /):
    return zs.unique(x)


# Sorting.


def argsort(x, /, *, axis=-1, descending=False, stable=True):
    return zs.argsort(x, axis, descending=descending)


def sort(x, /, *, axis=-1, descending=False, stable=True):
    return zs.sort(x, axis, descending=descending).values


# Statistics.


def _total_dtype(x, dtype):
    """The dtype of sums and products: integers at least as wide as the default one, unsigned ones unsigned.
    """
    if dtype is not None or x.dtype.is_floating_point or x.dtype.is_complex:
        return x.dtype if dtype is None else dtype
    return uint64 if x.dtype in _UNSIGNED else int64


def _total(function, x, axis, dtype, keepdims):
    dtype = _total_dtype(x, dtype)
    if isinstance(axis, (tuple, list)) and not axis:
        return astype(x, dtype)
    return astype(function(astype(x, dtype, copy=False), axis, keepdim=keepdims), dtype, copy=False)


def sum(x, /, *, axis=None, dtype=None, keepdims=False):
    return _total(zs.sum, x, axis, dtype, keepdims)


def prod(x, /, *, axis=None, dtype=None, keepdims=False):
    return _total(zs.prod, x, axis, dtype, keepdims)


def _running(function, x, axis, dtype, include_initial, initial):
    if axis is None:
        if x.ndim > 1:
            raise ValueError("a running total of an array of several dimensions needs an axis")
        axis = 0
    dtype = _total_dtype(x, dtype)
    x = astype(x, dtype, copy=False)
    if include_initial:
        shape = [1 if dim == axis % x.ndim else size for dim, size in enumerate(x.shape)]
        x = zs.cat([zs.full(shape, initial, dtype=dtype), x], axis)
    return astype(function(x, axis), dtype, copy=False)


def cumulative_prod(x, /, *, axis=None, dtype=None, include_initial=False):
    return _running(zs.cumprod, x, axis, dtype, include_initial, 1)


def cumulative_sum(x, /, *, axis=None, dtype=None, include_initial=False):
    return _running(zs.cumsum, x, axis, dtype, include_initial, 0)


def _over(function, x, axis, keepdims, **options):
    """A reduction, where ``axis=()`` means no dimension: over a new one of size 1. In PyTorch it means all.
    """
    if isinstance(axis, (tuple, list)) and not axis:
        return function(zs.unsqueeze(x, -1), -1, **options)
    return function(x, axis, keepdim=keepdims, **options)


def max(x, /, *, axis=None, keepdims=False):
    return _over(zs.amax, x, axis, keepdims)


def _averaged(x):
    """Integers and bools, of which the standard says nothing, as the floats that NumPy averages."""
    return x if x.dtype.is_floating_point or x.dtype.is_complex else x.to(zs.float64)


def mean(x, /, *, axis=None, dtype=None, keepdims=False):
    return _over(zs.mean, _averaged(x) if dtype is None else astype(x, dtype, copy=False), axis, keepdims)


def min(x, /, *, axis=None, keepdims=False):
    return _over(zs.amin, x, axis, keepdims)


def std(x, /, *, axis=None, correction=0.0, keepdims=False):
    return _over(zs.std, _averaged(x), axis, keepdims, correction=correction)


def var(x, /, *, axis=None, correction=0.0, keepdims=False):
    return _over(zs.var, _averaged(x), axis, keepdims, correction=correction)


# Utilities.


def _check_no_out(name, out):
    """The standard has no `out`; NumPy's callers, as xarray, hand on that they have none."""
    if out is not None:
        raise TypeError(f"{name}() of the array API has no out=: zerostride.{name}() has")


def all(x, /, *, axis=None, keepdims=False, out=None):
    _check_no_out("all", out)
    return _over(zs.all, astype(x, bool, copy=False), axis, keepdims)


def any(x, /, *, axis=None, keepdims=False, out=None):
    _check_no_out("any", out)
    return _over(zs.any, astype(x, bool, copy=False), axis, keepdims)


def diff(x, /, n=1, *, axis=-1, prepend=None, append=None):
    return zs.diff(x, n, axis, prepend, append)
