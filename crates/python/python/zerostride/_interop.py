"""Owns what NumPy's and torch's own functions do with tensors and traced arrays: the protocols by which they ask.

NumPy is not imported: its functions come by name.
"""

from . import _zerostride as zs

# NumPy's ufuncs whose names are not those of the op table.
_UFUNCS = {
    "power": "pow", "invert": "bitwise_not", "left_shift": "bitwise_left_shift", "right_shift": "bitwise_right_shift",
    "conjugate": "conj_physical", "rint": "round", "radians": "deg2rad", "degrees": "rad2deg", "fabs": "abs",
    "spacing": None, "modf": None, "frexp": "frexp", "divmod": None,
}  # fmt: skip
_REDUCTIONS = {
    "add": "sum", "multiply": "prod", "maximum": "amax", "minimum": "amin", "logical_and": "all", "logical_or": "any",
}  # fmt: skip
# NumPy's functions that mean the same here, by the name they have here.
_FUNCTIONS = {
    "sum": "sum", "prod": "prod", "mean": "mean", "max": "amax", "amax": "amax", "min": "amin", "amin": "amin",
    "argmax": "argmax", "argmin": "argmin", "all": "all", "any": "any", "where": "where", "isclose": "isclose",
    "nan_to_num": "nan_to_num", "concatenate": "cat", "concat": "cat", "stack": "stack", "broadcast_to": "broadcast_to",
    "broadcast_arrays": "broadcast_tensors", "expand_dims": "expand_dims", "squeeze": "squeeze", "reshape": "reshape",
    "ravel": "ravel", "moveaxis": "moveaxis", "swapaxes": "swapaxes", "matrix_transpose": "matrix_transpose",
    "permute_dims": "permute_dims", "tile": "tile", "real": "real", "imag": "imag", "angle": "angle", "sinc": "sinc",
    "argwhere": "argwhere", "count_nonzero": "count_nonzero", "diff": "diff", "hstack": "hstack", "vstack": "vstack",
    "dstack": "dstack", "outer": "outer", "i0": "i0", "round": "round", "around": "round", "result_type": "result_type",
}  # fmt: skip


def _std(x, axis=None, *, ddof=0, keepdims=False):
    return zs.std(x, axis, correction=ddof, keepdim=keepdims)


def _var(x, axis=None, *, ddof=0, keepdims=False):
    return zs.var(x, axis, correction=ddof, keepdim=keepdims)


def _clip(x, a_min=None, a_max=None, *, min=None, max=None, out=None):
    return zs.clamp(x, a_min if min is None else min, a_max if max is None else max, out=out)


def _transpose(x, axes=None):
    return x.T if axes is None else x.permute(axes)


def _along(function, default):
    """A function along an axis, as NumPy calls it: without one, of the flattened array."""

    def along(x, axis=default, *arguments, **keywords):
        x, axis = (x.reshape(-1), 0) if axis is None else (x, axis)
        return function(x, axis, *arguments, **keywords)

    return along


def _sort(x, axis, kind=None, *, stable=True):
    return zs.sort(x, axis).values


def _argsort(x, axis, kind=None, *, stable=True):
    return zs.argsort(x, axis)


def _take(x, axis, indices):
    return x[(slice(None),) * (axis % x.ndim) + (zs.asarray(indices),)]


def _unique(x, return_index=False, return_inverse=False, return_counts=False, *, equal_nan=False):
    values, *others = zs.unique_all(x)
    wanted = [part for part, asked in zip(others, (return_index, return_inverse, return_counts), strict=True) if asked]
    return (values, *wanted) if wanted else values


def _without_nan(function, neutral):
    """A reduction that takes NaN for its neutral element."""

    def reduce(x, axis=None, dtype=None, *, keepdims=False):
        x = x if dtype is None else x.to(dtype)
        return function(zs.where(zs.isnan(x), neutral, x), axis, keepdim=keepdims)

    return reduce


def _nanmean(x, axis=None, dtype=None, *, keepdims=False):
    counted = zs.sum(~zs.isnan(x), axis, keepdim=keepdims)
    return _OWN["nansum"](x, axis, dtype, keepdims=keepdims) / counted


def _like(x, value, dtype, shape):
    dtype = x.dtype if dtype is None else dtype
    return zs.full(x.shape if shape is None else shape, value, dtype=dtype)


_OWN = {
    "zeros_like": lambda x, dtype=None, order=None, subok=None, shape=None: _like(x, 0, dtype, shape),
    "empty_like": lambda x, dtype=None, order=None, subok=None, shape=None: _like(x, 0, dtype, shape),
    "ones_like": lambda x, dtype=None, order=None, subok=None, shape=None: _like(x, 1, dtype, shape),
    "full_like": lambda x, value, dtype=None, order=None, subok=None, shape=None: _like(x, value, dtype, shape),
    "sort": _along(_sort, -1), "argsort": _along(_argsort, -1), "cumsum": _along(zs.cumsum, None),
    "cumprod": _along(zs.cumprod, None), "unique": _unique,
    "take": lambda x, indices, axis=None: _along(_take, None)(x, axis, indices=indices),
    "take_along_axis": lambda x, indices, axis=-1: zs.take_along_dim(x, indices, axis),
    "roll": lambda x, shift, axis=None: zs.roll(x, shift, axis),
    "repeat": lambda x, repeats, axis=None: zs.repeat_interleave(x, repeats, axis),
    "flip": lambda x, axis=None: zs.flip(x, tuple(range(x.ndim)) if axis is None else axis),
    "tril": lambda x, k=0: zs.tril(x, k), "triu": lambda x, k=0: zs.triu(x, k), "copy": lambda x: zs.clone(x),
    "nonzero": lambda x: zs.nonzero(x, as_tuple=True), "tensordot": lambda a, b, axes=2: zs.tensordot(a, b, axes),
    "searchsorted": lambda x, v, side="left", sorter=None: zs.searchsorted(x, v, side=side, sorter=sorter),
    "nansum": _without_nan(zs.sum, 0), "nanprod": _without_nan(zs.prod, 1), "nanmax": _without_nan(zs.amax, float("-inf")),
    "nanmin": _without_nan(zs.amin, float("inf")), "nanmean": _nanmean,
}  # fmt: skip
_OWN |= {"std": _std, "var": _var, "clip": _clip, "transpose": _transpose}


def _lent(value):
    """Tensors as NumPy's arrays on their memory, wherever they stand in arguments."""
    if isinstance(value, zs.Tensor):
        return value.numpy()
    if type(value) in (tuple, list):
        return type(value)(map(_lent, value))
    return {name: _lent(part) for name, part in value.items()} if type(value) is dict else value


def _array_ufunc(self, ufunc, method, *inputs, out=(), **keywords):
    """NumPy's ufuncs on tensors are the operations of the table. What these do not do, NumPy does on the same memory."""
    names, known = {"__call__": (_UFUNCS, set()), "reduce": (_REDUCTIONS, {"axis", "dtype", "keepdims"})}.get(method, ({}, set()))
    name = names.get(ufunc.__name__, ufunc.__name__ if method == "__call__" else None)
    own = getattr(zs, name, None) if name else None
    given = {keyword: value for keyword, value in keywords.items() if value is not None and (keyword != "where" or value is not True)}
    if own is None or len(out) > 1 or given.keys() - known:
        returned = getattr(ufunc, method)(*_lent(inputs), **({"out": _lent(out)} if out else {}), **_lent(keywords))
        return returned if not out else out[0] if len(out) == 1 else out
    if method == "reduce":
        given.setdefault("axis", None if "axis" in keywords else 0)
    return own(*inputs, **given, **({"out": out[0]} if out else {}))


def _array_function(self, function, types, arguments, keywords):
    """NumPy's functions on tensors, those that mean the same here. The others compute in NumPy, on the same memory."""
    name = function.__name__
    own = _OWN.get(name) or getattr(zs, _FUNCTIONS.get(name, ""), None)
    return own(*arguments, **keywords) if own else function(*_lent(arguments), **_lent(keywords))


def _torch_function(cls, function, types, arguments=(), keywords=None):
    """torch's functions on traced arrays are those of the same name here."""
    own = getattr(zs, getattr(function, "__name__", ""), None)
    return own(*arguments, **(keywords or {})) if own else NotImplemented


def _array_namespace(self, *, api_version=None):
    """The array API standard as functions on tensors."""
    from . import array_api

    if api_version not in (None, "2021.12", "2022.12", "2023.12", "2024.12"):
        raise ValueError(f"the array API is that of 2024.12, not of {api_version!r}")
    return array_api


def _to_device(self, device, /, *, stream=None):
    """The tensor itself: there is one device."""
    if device != "cpu" or stream is not None:
        raise ValueError(f"arrays are on the device 'cpu', not on {device!r}")
    return self


def _numpy_dtype(self):
    """NumPy's dtype of the same name, by which ``numpy.dtype`` understands this one."""
    import numpy

    return numpy.dtype(self.name)


def _kind(self):
    """The letter of NumPy's kind of dtype."""
    return "f" if self.is_floating_point else "c" if self.is_complex else self.name[0]


def install():
    """Gives the classes the protocols."""
    for cls in (zs.Tensor, zs.Expr):
        cls.__array_ufunc__ = _array_ufunc
        cls.__array_function__ = _array_function
        cls.__array_priority__ = 1000
    zs.dtype.dtype = property(_numpy_dtype)
    zs.dtype.kind = property(_kind)
    zs.Tensor.__array_namespace__ = _array_namespace
    zs.Tensor.to_device = _to_device
    zs.Expr.__torch_function__ = classmethod(_torch_function)
