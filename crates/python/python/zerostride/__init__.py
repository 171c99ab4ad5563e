"""PyTorch's broadcasting as a Rust engine: fused, exact, explained.

>>> import zerostride as zs
>>> zs.tensor([[1, 2, 3]]) + zs.tensor([[4], [5], [6]])
tensor([[5, 6, 7],
        [6, 7, 8],
        [7, 8, 9]])

Names, results and errors are PyTorch's; ``axis`` and ``keepdims`` are accepted, too. An operand may be a NumPy array, a torch
tensor on the CPU, a JAX array or a number, and nothing is copied on the way in or out.
"""

from math import e, inf, nan, pi  # noqa: F401

# The engine imports `_lazy`, `_outside` and `_structures` from any thread. If they were not imported here, a
# child forked during such an import would wait for it forever.
from . import _interop, _lazy, _outside, _structures, _zerostride, pool  # noqa: F401
from ._evaluate import evaluate
from ._files import open
from ._fuse import Fused, fuse
from ._gradients import grad, jvp, value_and_grad, vjp
from ._limits import finfo, iinfo
from ._policy import Record, audit, policy
from ._sets import isin
from ._zerostride import *  # noqa: F403

__all__ = [name for name in _zerostride.__all__ if not name.startswith("_")]
__all__ += ["Fused", "Record", "audit", "evaluate", "finfo", "fuse", "grad", "iinfo", "isin", "jvp", "open", "policy"]
__all__ += ["pool", "value_and_grad", "vjp"]
__version__ = _zerostride.__version__
# PyTorch's other names of dtypes. They are not in `__all__`, since `float` and `int` are Python's, too.
half, float, double = _zerostride.float16, _zerostride.float32, _zerostride.float64
cfloat, cdouble = _zerostride.complex64, _zerostride.complex128
short, int, long = _zerostride.int16, _zerostride.int32, _zerostride.int64
newaxis = None
einsum, tensordot = _interop.einsum, _interop.tensordot

_interop.install()
