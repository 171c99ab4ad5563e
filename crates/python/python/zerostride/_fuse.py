"""Owns ``fuse``, the decorator, and the pickling of fused functions. It does not know tracing and calls,
which are native."""

import functools
import sys

from . import _zerostride
from ._pandas import Engine


class Fused(_zerostride.Fused):
    """A function that runs in one pass over its operands; made by ``fuse``."""

    def __reduce__(self):
        # By name if the name refers to this object, as functions are pickled; else by the wrapped function,
        # which cloudpickle can pickle.
        found = sys.modules.get(self.__module__)
        for name in self.__qualname__.split("."):
            found = getattr(found, name, None)
        if found is self and self.__module__ != "__main__":
            return self.__qualname__
        return fuse, (self.__wrapped__, self.rules)


def fuse(function=None, rules=None):
    """Makes a function of arrays run in one pass, without intermediate arrays.

    The function is traced once for each signature: it is called with placeholders that have a shape and dtype, and what it
    does with them becomes a plan. The signature consists of the dtypes, shapes and strides of arrays and the values of all
    other inputs: numbers, words, dtypes, lists and dicts of those, and what the function reads from outside, that is globals,
    its closure, and attributes of modules and objects. If such an input can change undetected, as an array from outside, a
    property or an object that is passed on can, the function is traced in each call. No argument is kept alive. Arrays may be
    arguments, or stand in tuples, lists and dicts that are.

    Results come back in the structure that the function returns, in arrays of the library of the arguments: torch's if one of
    them is, else JAX's, else zerostride's, else NumPy's. An argument that is returned is returned as it is. Results of
    ``dask.array`` arguments are lazy, and computed block by block.

    Only the elements that results need are computed. An operation whose result is not used raises no error, nor does the
    division of an integer by zero where slices leave its element out, as in ``(a // b)[:2]``.

    A function that is handed NumPy arrays only, beside numbers, computes what it computes when NumPy runs it: methods and
    operators of the arrays have NumPy's defaults and NumPy's promotion. If one of the arguments is an array of torch's, JAX's
    or zerostride's, they have PyTorch's. ``rules``, which is ``"numpy"`` or ``"torch"``, asks for either. Functions called by
    name keep the rules of their library: ``zs.std(a)`` divides by ``n - 1``, and ``np.std(a)`` by ``n``.

    >>> import zerostride as zs
    >>> @zs.fuse
    ... def distances(a, b):
    ...     return ((a[:, None] - b) ** 2).sum(-1)
    >>> distances(zs.ones(3, 2), zs.zeros(2, 2))
    tensor([[2., 2.],
            [2., 2.],
            [2., 2.]])
    >>> import numpy as np
    >>> a = np.array([1, 2, 3], np.int32)
    >>> zs.fuse(lambda a: a / 2)(a)
    array([0.5, 1. , 1.5])
    >>> zs.fuse(lambda a: a / 2, rules="torch")(a)
    array([0.5, 1. , 1.5], dtype=float32)
    """
    if function is None:
        return functools.partial(fuse, rules=rules)
    return functools.update_wrapper(Fused(function, rules=rules), function)


fuse.__pandas_udf__ = Engine
