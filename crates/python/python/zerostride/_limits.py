"""Owns ``finfo`` and ``iinfo``: the limits of dtypes."""

from . import _zerostride

# Bits of the fraction, and the largest exponent as a power of 2.
_FLOATS = {"float16": (10, 15), "bfloat16": (7, 127), "float32": (23, 127), "float64": (52, 1023)}


class finfo:
    """The limits of a floating-point dtype; of a complex one, those of its parts."""

    def __init__(self, type=_zerostride.float32):
        dtype = _zerostride.result_type(type)
        real = dtype.to_real()
        if real.name not in _FLOATS:
            raise TypeError(f"torch.finfo() requires a floating point input type. Use torch.iinfo to handle '{dtype!r}'")
        fraction, exponent = _FLOATS[real.name]
        self.dtype = real
        self.bits = 8 * real.itemsize
        self.eps = 2.0**-fraction
        self.max = (2 - 2.0**-fraction) * 2.0**exponent
        self.min = -self.max
        self.tiny = self.smallest_normal = 2.0 ** (1 - exponent)
        self.resolution = 10.0 ** -int(fraction * 0.30103)

    def __repr__(self):
        return f"finfo(resolution={self.resolution}, min={self.min}, max={self.max}, eps={self.eps}, smallest_normal={self.smallest_normal}, tiny={self.tiny}, dtype={self.dtype.name})"


class iinfo:
    """The limits of an integer dtype."""

    def __init__(self, type):
        self.dtype = _zerostride.result_type(type)
        self.min, self.max = self.dtype._int_range()
        if self.dtype.is_floating_point or self.dtype.is_complex or self.dtype is _zerostride.bool:
            raise TypeError(f"torch.iinfo() requires an integer input type. Use torch.finfo to handle '{self.dtype!r}'")
        self.bits = 8 * self.dtype.itemsize

    def __repr__(self):
        return f"iinfo(min={self.min}, max={self.max}, dtype={self.dtype.name})"
