"""Owns functions of sets of elements that the engine's table does not have. Where it holds the elements, NumPy computes them on
the arrays' memory."""

from . import _zerostride as zs

# What NumPy does not hold.
_OWN = (zs.bfloat16,)
_NUMBERS = (bool, int, float, complex)


def isin(elements, test_elements, *, assume_unique=False, invert=False, out=None):
    """Whether each of ``elements`` is among ``test_elements``; with ``invert``, whether it is not.

    One of the two may be a number. They are compared in the dtype that they promote to; NaN is among nothing.
    ``assume_unique`` promises that neither has an element twice, and changes no result.

    >>> import zerostride as zs
    >>> zs.isin(zs.tensor([[1, 2], [3, 4]]), zs.tensor([2, 3]))
    tensor([[False,  True],
            [ True, False]])

    Source: ``torch.isin``.
    """
    pair = [operand if isinstance(operand, (*_NUMBERS, zs.Expr)) else zs.asarray(operand) for operand in (elements, test_elements)]
    if all(isinstance(operand, _NUMBERS) for operand in pair):
        raise TypeError("isin(): one of elements and test_elements must be an array, and both are numbers")
    dtype = zs.result_type(*pair)
    pair = [_of_dtype(operand, dtype) if isinstance(operand, _NUMBERS) else operand.to(dtype) for operand in pair]
    if dtype in _OWN or any(isinstance(operand, zs.Expr) for operand in pair):
        found = (pair[0].unsqueeze(-1) == pair[1].reshape(-1)).any(-1)
    else:
        import numpy

        found = zs.asarray(numpy.isin(*(operand.numpy() for operand in pair), assume_unique=assume_unique))
    return zs.ne(found, invert, out=out)


def _of_dtype(number, dtype):
    """The number as a tensor; it wraps around if the dtype does not hold it, as in PyTorch."""
    try:
        return zs.tensor(number, dtype=dtype)
    except (OverflowError, RuntimeError):
        return zs.tensor(number).to(dtype)
