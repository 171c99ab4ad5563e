"""Owns ``linalg`` of the array API: NumPy's functions on the memory of tensors, where the engine has none of its own."""

import numpy
from numpy.linalg import (  # noqa: F401
    cholesky, cross, det, eigh, eigvalsh, inv, matrix_norm, matrix_power, matrix_rank, pinv, qr, slogdet, solve,
    svd, svdvals, vector_norm,
)  # fmt: skip

from . import _zerostride as zs
from .array_api import matmul, matrix_transpose, multiply, sum, tensordot, vecdot  # noqa: F401


def eig(x, /):
    values, vectors = found = numpy.linalg.eig(x)
    # NumPy's are real where all of them are.
    return found._replace(eigenvalues=_complex(values), eigenvectors=_complex(vectors))


def eigvals(x, /):
    return _complex(numpy.linalg.eigvals(x))


def _complex(x):
    return x.to(x.dtype.to_complex())


def diagonal(x, /, *, offset=0):
    return zs.diagonal(x, offset, -2, -1)


def outer(x1, x2, /):
    return multiply(zs.unsqueeze(x1, -1), x2)


def trace(x, /, *, offset=0, dtype=None):
    return sum(diagonal(x, offset=offset), axis=-1, dtype=dtype)
