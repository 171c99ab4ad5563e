"""Owns what Dask is told of tensors: their size, by the entry point ``dask.sizeof``, their names in graphs, and that they are
chunks of ``dask.array``, as soon as that is imported and meets one. All else is NumPy's protocols (``_interop.py``) and
pickling. It imports nothing of Dask's.
"""

import functools
import sys

from ._zerostride import Tensor, bfloat16


def register(sizeof):
    """Registers the size of tensors in bytes, by which Dask plans what fits in a worker."""

    @sizeof.register(Tensor)
    def sizeof_tensor(tensor):
        _register_chunks()
        return tensor.nbytes

    _register_chunks()


def token(tensor):
    """What a tensor is in the names of a graph: its dtype and its elements."""
    _register_chunks()
    elements = tensor.float() if tensor.dtype is bfloat16 else tensor
    return "zerostride.Tensor", tensor.dtype.name, elements.numpy()


def _register_chunks():
    if "dask.array" in sys.modules:
        _register_once()


@functools.cache
def _register_once():
    from dask.array import chunk_types, dispatch

    chunk_types.register_chunk_type(Tensor)

    @dispatch.percentile_lookup.register(Tensor)
    def percentile(a, q, method="linear"):
        from dask.array.percentile import _percentile

        return _percentile(a, q, method)

    @dispatch.to_numpy_dispatch.register(Tensor)
    def to_numpy(tensor, **_):
        return tensor.numpy()
