"""dask's and xarray's own tests for foreign arrays, run with tensors in the place of CuPy's, sparse's and the standard's arrays.

    cd crates/python/tests
    python -m pytest -p foreign_suites -W ignore --pyargs dask.array.tests.test_cupy_core xarray.tests.test_array_api …

Loaded as a plugin, this file is the modules ``cupy``, ``sparse`` and ``array_api_strict`` that those tests import; functions of
`cupy` are NumPy's, which hand tensors on. ``xarray.tests.test_sparse`` runs alone. Cubed's tests need no help but
``CUBED_BACKEND_ARRAY_API_MODULE=zerostride.array_api``. ``docs/python/neighbours.md`` has figures and reasons.
"""

import sys
import types

import dask.array
import numpy as np
import zerostride as zs
import zerostride.array_api as xp


def made(function):
    """A function that makes arrays, as one that makes tensors."""
    return lambda *arguments, **keywords: zs.asarray(np.asarray(function(*arguments, **keywords)))


class Generator:
    def __init__(self, *seed):
        self.generator = np.random.default_rng(*seed)

    def __getattr__(self, name):
        return made(getattr(self.generator, name))


class Cupy(types.ModuleType):
    """What dask's tests use of CuPy."""

    __version__ = "13.0.0"
    ndarray = zs.Tensor
    random = types.SimpleNamespace(default_rng=Generator, RandomState=Generator)

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        makes = ("array", "asarray", "asanyarray", "arange", "ones", "zeros", "empty", "eye", "full", "tri", "asfortranarray")
        return made(getattr(np, name)) if name in makes else getattr(np, name)

    @staticmethod
    def asnumpy(x, **_):
        return np.asarray(x)


class Sparse(types.ModuleType):
    """What xarray's tests use of sparse."""

    __version__ = "0.18.0"
    SparseArray = COO = zs.Tensor

    @staticmethod
    def random(shape, density=0.1, random_state=0):
        rng = np.random.default_rng(random_state)
        return zs.asarray(rng.random(shape) * (rng.random(shape) < density))

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        return getattr(np, name)


def with_numpys_dtype(function):
    """What dask compares of an array: its dtype by NumPy's name, as CuPy has it."""

    def looked_at(*arguments, **keywords):
        x, dtype, *rest = function(*arguments, **keywords)
        return x, np.dtype(dtype.name) if isinstance(dtype, zs.dtype) else dtype, *rest

    return looked_at


def pytest_configure(config):
    """After other plugins, which may look for CuPy."""
    zs.Tensor.get = lambda self: self.numpy()  # how CuPy's arrays become NumPy's
    if any("test_sparse" in name for name in config.args):  # dask takes what has it for a sparse array
        zs.Tensor.todense = lambda self: self.numpy()
    zs.Tensor.from_numpy = staticmethod(zs.asarray)
    dask.array.utils._get_dt_meta_computed = with_numpys_dtype(dask.array.utils._get_dt_meta_computed)
    sys.modules["cupy"] = Cupy("cupy")
    sys.modules["sparse"] = Sparse("sparse")
    sys.modules["array_api_strict"] = xp
    sys.modules["array_api_strict._array_object"] = types.SimpleNamespace(Array=zs.Tensor)
