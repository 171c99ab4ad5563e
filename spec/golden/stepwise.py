"""Compound operations evaluated step by step in NumPy, each step rounded: no fused multiply-add.

Owns the documented order of steps of `add` and `sub` with `alpha`, `addcmul`, `addcdiv`, `lerp`
and `ldexp`. PyTorch contracts some of them on some machines; an engine that promises the same bits
everywhere does not.
"""

import numpy

from bits import UNSIGNED, WIDTHS, canonical, to_bits

KINDS = {"float32": numpy.float32, "float64": numpy.float64}


def lerp(a, b, weight, _):
    low = a + weight * (b - a)
    high = b - (b - a) * (weight.dtype.type(1) - weight)
    return numpy.where(numpy.abs(weight) < 0.5, low, high)


STEPS = {
    "add": lambda a, b, kwargs: a + kwargs["alpha"] * b,
    "sub": lambda a, b, kwargs: a - kwargs["alpha"] * b,
    "addcmul": lambda a, b, c, kwargs: a + (kwargs["value"] * b) * c,
    "addcdiv": lambda a, b, c, kwargs: a + (kwargs["value"] * b) / c,
    "lerp": lerp,
    "ldexp": lambda a, b, kwargs: a * numpy.exp2(b),
}


def stepwise(op, operands, kwargs, result):
    """The patterns of the stepwise result, or None where no order of steps is defined."""
    names = {str(operand.dtype).removeprefix("torch.") for operand in operands}
    name = str(result.dtype).removeprefix("torch.")
    if op not in STEPS or names != {name} or name not in KINDS:
        return None
    if op in ("add", "sub") and "alpha" not in kwargs:
        return None
    if any(isinstance(value, complex) for value in kwargs.values()):
        return None
    kind = KINDS[name]
    numbers = {"value": kind(1)} | {key: kind(value) for key, value in kwargs.items()}
    with numpy.errstate(all="ignore"):
        value = STEPS[op](*(to_bits(o).view(kind) for o in operands), numbers)
    return canonical(value.astype(kind).view(UNSIGNED[WIDTHS[name]]).copy(), name)
