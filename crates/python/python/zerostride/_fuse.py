"""Owns ``fuse``: the decorator, and how a fused function is pickled. Tracing and calls are native."""

import functools
import sys

from . import _zerostride


class Fused(_zerostride.Fused):
    """A function that runs in one pass over its operands; made by ``fuse``."""

    def __reduce__(self):
        # By name where the name leads here, as functions are pickled; else by the function itself, as
        # cloudpickle can.
        found = sys.modules.get(self.__module__)
        for name in self.__qualname__.split("."):
            found = getattr(found, name, None)
        if found is self and self.__module__ != "__main__":
            return self.__qualname__
        return fuse, (self.__wrapped__,)


def fuse(function):
    """Makes a function of arrays run in one pass, without intermediate arrays.

    The function is traced once for each signature: it is called with placeholders that know their shape and dtype, and
    what it does with them becomes a plan. The signature is the dtypes, shapes and strides of arrays, and the values of all
    else: numbers, words, dtypes, lists and dicts of those, and what the function reads from outside, which is globals, its
    closure, and attributes of modules and objects. Where that can change unseen, as an array from outside, a property or an
    object that is handed on can, the function is traced anew in each call. Nothing that it was called with is kept alive.

    Results come back as the function has put them together, in arrays of the library that the arguments are from: torch's
    if one of them is, else JAX's, else zerostride's, else NumPy's. An argument that is returned is that argument.

    >>> import zerostride as zs
    >>> @zs.fuse
    ... def distances(a, b):
    ...     return ((a[:, None] - b) ** 2).sum(-1)
    >>> distances(zs.ones(3, 2), zs.zeros(2, 2))
    tensor([[2., 2.],
            [2., 2.],
            [2., 2.]])
    """
    return functools.update_wrapper(Fused(function), function)
