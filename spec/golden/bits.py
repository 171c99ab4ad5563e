"""Tensors as bit patterns: what the corpus stores instead of decimal numbers.

Owns the conversion in both directions, the canonical NaN, ULP distances and the pools that hold
all patterns of one file. Knows nothing of operations.
"""

import numpy
import torch

from operations import DTYPES, NAMES

# Bits of one component, for each dtype; a complex number is two components, real part first.
WIDTHS = {
    "bool": 8, "uint8": 8, "int8": 8, "uint16": 16, "int16": 16, "float16": 16, "bfloat16": 16,
    "uint32": 32, "int32": 32, "float32": 32, "complex64": 32,
    "uint64": 64, "int64": 64, "float64": 64, "complex128": 64,
    "complex32": 16, "bcomplex32": 16,
}  # fmt: skip
# Bits of the exponent and of the stored fraction.
FORMATS = {"float16": (5, 10), "bfloat16": (8, 7), "float32": (8, 23), "float64": (11, 52)}
PARTS = {
    "complex64": "float32",
    "complex128": "float64",
    "complex32": "float16",
    "bcomplex32": "bfloat16",
}
UNSIGNED = {8: numpy.uint8, 16: numpy.uint16, 32: numpy.uint32, 64: numpy.uint64}


def to_bits(tensor):
    """The patterns of a tensor's elements in order, with every NaN made the positive quiet one."""
    name = NAMES[tensor.dtype]
    flat = tensor.detach().resolve_conj().resolve_neg().contiguous().reshape(-1)
    if tensor.dtype.is_complex:
        flat = torch.view_as_real(flat).reshape(-1)
    width = WIDTHS[name]
    raw = flat.view(getattr(torch, f"uint{width}")) if width != 8 else flat.view(torch.uint8)
    return canonical(raw.numpy().copy(), PARTS.get(name, name))


def from_bits(patterns, name):
    """The one-dimensional tensor with these patterns."""
    raw = torch.from_numpy(numpy.ascontiguousarray(patterns, UNSIGNED[WIDTHS[name]]).copy())
    if name in PARTS:
        return torch.view_as_complex(raw.view(DTYPES[PARTS[name]]).reshape(-1, 2)).clone()
    return raw.view(DTYPES[name])


def canonical(patterns, name):
    """The patterns with NaN payloads and signs removed."""
    if name in FORMATS:
        exponent, fraction = FORMATS[name]
        kind = patterns.dtype.type
        infinity = ((1 << exponent) - 1) << fraction
        nan = (patterns & kind((1 << (exponent + fraction)) - 1)) > kind(infinity)
        patterns[nan] = kind(infinity | 1 << (fraction - 1))
    return patterns


def is_nan(patterns, name):
    """Which of the (canonical) patterns of a real format are NaN."""
    exponent, fraction = FORMATS[name]
    return patterns == patterns.dtype.type(((1 << exponent) - 1) << fraction | 1 << (fraction - 1))


def ulps(left, right, name):
    """Distances in units in the last place as Python integers; -1 where one side alone is NaN."""
    top = WIDTHS[name] - 1
    ordered = []
    for patterns in (left, right):
        values = [int(p) for p in patterns]
        ordered.append([p if p >> top == 0 else -(p & ((1 << top) - 1)) for p in values])
    one_nan = is_nan(left, name) ^ is_nan(right, name)
    return [-1 if bad else abs(a - b) for a, b, bad in zip(*ordered, one_nan)]


class Pool:
    """All patterns of one file: four arrays by width, equal slices stored once."""

    def __init__(self):
        self.parts = {width: [] for width in UNSIGNED}
        self.lengths = {width: 0 for width in UNSIGNED}
        self.known = {}

    def add(self, patterns):
        """The offset of these patterns in the array of their width."""
        width = patterns.dtype.itemsize * 8
        key = (width, patterns.tobytes())
        if key not in self.known:
            self.known[key] = self.lengths[width]
            self.parts[width].append(patterns.copy())
            self.lengths[width] += len(patterns)
        return self.known[key]

    def tensor(self, tensor):
        """`dtype`, `at` and `n` of a stored tensor; `n` counts elements, not components."""
        name = NAMES[tensor.dtype]
        return {"dtype": name, "at": self.add(to_bits(tensor)), "n": tensor.numel()}

    def arrays(self):
        """The four arrays under the names `u8`, `u16`, `u32`, `u64`."""
        return {
            f"u{width}": numpy.concatenate(parts) if parts else numpy.empty(0, UNSIGNED[width])
            for width, parts in self.parts.items()
        }
