"""Owns the detection of other libraries' arrays whose elements are not in memory, so that no operation loads
them silently. It does not know how memory is shared."""

import sys

from ._zerostride import Tensor

# Libraries whose arrays are in files, or are computed later.
_ELSEWHERE = {"zarr", "h5py", "h5netcdf", "netCDF4", "tensorstore", "cubed"}

# The operators whose ufuncs in NumPy, which dask takes, have other names.
UFUNCS = {
    "sub": "subtract", "mul": "multiply", "div": "divide", "pow": "power", "eq": "equal", "ne": "not_equal", "lt": "less",
    "le": "less_equal", "gt": "greater", "ge": "greater_equal", "bitwise_left_shift": "left_shift",
    "bitwise_right_shift": "right_shift", "neg": "negative",
}  # fmt: skip


def check_in_memory(array):
    """Raises ``TypeError``, with what to write instead, for an array whose elements are not in memory."""
    why = _why(array)
    if why is not None:
        raise TypeError(why)


def later(name, a, b):
    """What an operator gives of a tensor and an array of dask's: one that is computed later. ``None`` of other operands."""
    dask = sys.modules.get("dask.array")
    if dask is None or {type(a), type(b)} != {dask.Array, Tensor}:
        return None
    import numpy

    return getattr(numpy, UFUNCS.get(name, name))(a, b)


def loaded(array):
    """The array, or a NumPy array of its elements if they are not in memory."""
    if _why(array) is None:
        return array
    import numpy

    return numpy.asarray(array)


def in_chunks(function, positional, named):
    """What a fused function returns where arrays of dask's are among its arguments; ``NotImplemented`` if there are
    none."""
    dask = sys.modules.get("dask.array")
    if dask is None or not any(isinstance(argument, dask.Array) for argument in (*positional, *named.values())):
        return NotImplemented
    from . import _chunked

    return _chunked.call(function, positional, named)


def _why(array):
    """What to write instead of an array whose elements are not in memory; ``None`` for one in memory."""
    kind = type(array)
    name = f"{kind.__module__.partition('.')[0]}.{kind.__qualname__}"
    graph = getattr(array, "__dask_graph__", None)
    if graph is not None and graph() is not None:
        return (
            f"a {name} is computed in chunks, and this would load it whole: compute chunk by chunk, as zerostride.fuse(f)(x) and "
            f"evaluate('x + 1', x=x) do with a dask.array, dask.array.map_blocks(f, x), and "
            f"xarray.apply_ufunc(f, x, dask='parallelized'), or load it with x.compute()"
        )
    if getattr(array, "_in_memory", True) is False:
        return f"a {name} is in a file, and this would load it whole: take the part that is needed, or load it with x.load()"
    if any(base.__module__.partition(".")[0] in _ELSEWHERE for base in kind.__mro__):
        return (
            f"the elements of a {name} are not in memory, and this would load it whole: take the part that is needed, as in "
            f"x[:1000], convert all of it with zerostride.asarray(x), or compute in pieces over zerostride.open(path)"
        )
    return None
