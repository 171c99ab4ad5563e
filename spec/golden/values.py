"""The inputs of the corpus: special, extreme and ordinary values of every dtype.

Owns the choice of values. `wide` sets feed unary operations, `cross` sets feed every combination of
two values, `zip_a` with `zip_b` feed pairs of different dtypes, `tame` sets feed reductions.
"""

import numpy
import torch

from bits import FORMATS, PARTS, UNSIGNED, WIDTHS, from_bits
from operations import DTYPES

PI = 3.141592653589793
ORDINARY = [
    0.0, -0.0, 1.0, -1.0, 0.5, -0.5, 1.5, -1.5, 2.5, -2.5, 3.5, 0.25, -0.75, 2.0, -2.0, 3.0, -3.0,
    4.0, 10.0, -10.0, 0.1, -0.1, 0.3, 0.7, 1e-3, -1e-3, 1e-5, 1e-7, -1e-7, 1e-10, 0.9990234375,
    0.99999994, 1.00000012, 0.9999, -0.9999, -0.99999994, 1.0078125, -1.0078125, PI, -PI, PI / 2,
    -PI / 2, PI / 4, 2 * PI, 3 * PI / 2, 100 * PI, 5.5, -5.5, -1.25, -2.125, -3.875, -10.5, -20.25,
    -33.4, 1.4616321449683623, 12.25, 20.0, 19.9, 20.1, 25.0, 33.0, 50.0, -20.0, -50.0, 87.5, 88.0,
    88.8, -87.5, -88.0, -104.0, 100.0, -100.0, 127.5, 128.0, 129.0, -126.5, -149.5, 255.0, 256.5,
    300.0, 700.0, 709.7, 710.5, -708.5, -745.5, 1000.0, -1000.0, 1023.5, -1074.5, 2047.0, 4097.5,
    65504.0, 1e4, -1e4, 12345.678, 1e5, -1e5, 1e6, 8388607.5, 8388608.0, 16777217.0, 1e9, -1e9,
    2147483648.0, 4503599627370495.5, 9007199254740993.0, 1e15, 9.3e18, 1e22, 1e30, -1e30, 1e38,
    0.6931471805599453, 2.718281828459045, 0.36787944117144233, 0.4, -0.4, 0.8, 9.0, 90.0, 180.0,
    -180.0, 360.0, 45.0, 57.29577951308232, 8.0, 16.0, 1024.0, 0.0625, 0.001953125, -4.0, -5.0,
]  # fmt: skip
CROSS = [0.0, -0.0, 1.0, -1.0, 0.5, -2.5, 3.0, 7.25, 0.1, -40.0, 1e4]
ZIP_A = [0.0, -0.0, 1.0, -1.0, 2.0, -3.0, 0.5, 2.5, -7.25, 100.0, 0.1, 3.0, -2.0, 7.0, 1.5, -0.3]
ZIP_B = [1.0, 2.0, -1.0, 3.0, 0.5, 2.0, -0.5, -2.5, 3.0, 7.0, 0.7, 5.0, 2.0, -3.0, 1.25, 4.0]


def specials(name):
    """Extremes of a real floating-point format: zeros, subnormals, normals, infinities, NaN."""
    exponent, fraction = FORMATS[name]
    sign = 1 << (exponent + fraction)
    infinity = ((1 << exponent) - 1) << fraction
    one = ((1 << (exponent - 1)) - 1) << fraction
    positive = [
        0, 1, 2, (1 << fraction) - 1, 1 << (fraction - 1), 1 << fraction, (1 << fraction) + 1,
        infinity - 1, infinity - (1 << fraction), infinity, one - 1, one + 1,
    ]  # fmt: skip
    return [p | s for p in positive for s in (0, sign)] + [infinity | 1 << (fraction - 1)]


def rounded(values, name):
    """The patterns of decimal values, rounded to the format, without infinities from overflow."""
    tensor = torch.tensor(values, dtype=torch.float64).to(DTYPES[name])
    tensor = tensor[torch.isfinite(tensor)]
    return tensor.view(getattr(torch, f"uint{WIDTHS[name]}")).tolist()


def drawn(generator, name, count):
    """Patterns spread over all exponents, half of them within 2^-8 .. 2^8."""
    exponent, fraction = FORMATS[name]
    bias = (1 << (exponent - 1)) - 1
    wide = generator.integers(0, 2 * bias, count // 2)
    near = generator.integers(bias - 8, bias + 8, count - count // 2)
    fractions = generator.integers(0, 1 << fraction, count, dtype=numpy.int64)
    signs = generator.integers(0, 2, count)
    exponents = numpy.concatenate([wide, near])
    return [
        int(s) << (exponent + fraction) | int(e) << fraction | int(f)
        for s, e, f in zip(signs, exponents, fractions)
    ]


def unique(patterns):
    """The patterns without repetition, in order of first appearance."""
    return list(dict.fromkeys(patterns))


def integers(name):
    """Ordinary and extreme integers of a dtype, as values."""
    info = torch.iinfo(DTYPES[name])
    wanted = [0, 1, -1, 2, -2, 3, -3, 4, 5, 6, 7, 8, 9, 10, -10, 12, 15, 16, 17, 31, 32, 33, 42]
    wanted += [63, 64, 65, 100, -100, 127, 128, 255, 256, 1000, -1000, 32767, 32768, 65535, 65536]
    wanted += [12345, -12345, 10**6, 2**24 + 1, 2**31 - 1, 2**31, 2**32 - 1, 10**9, -(10**9)]
    wanted += [2**53 + 1, 2**62, -(2**62), 2**63 - 1]
    wanted += [info.min, info.min + 1, info.min // 2, info.max, info.max - 1, info.max // 2]
    return [v for v in unique(wanted) if info.min <= v <= info.max]


def masked(values, name):
    """Integers as patterns of their width."""
    return [v & ((1 << WIDTHS[name]) - 1) for v in values]


def wide(name):
    """The inputs of unary operations, as patterns."""
    if name == "bool":
        return [0, 1]
    if WIDTHS[name] == 8:
        return list(range(256))
    if name in FORMATS:
        generator = numpy.random.default_rng(20)
        return unique(specials(name) + rounded(ORDINARY, name) + drawn(generator, name, 480))
    if name in PARTS:
        return complexes(name)
    return masked(integers(name), name)


def complexes(name):
    """Pairs of parts: all combinations of special ones, then drawn ones."""
    part = PARTS[name]
    corner = [0.0, -0.0, 1.0, -1.0, 0.5, -2.5, float("inf"), float("-inf"), float("nan")]
    corner = torch.tensor(corner, dtype=DTYPES[part])
    patterns = corner.view(getattr(torch, f"uint{WIDTHS[part]}")).tolist()
    pairs = [p for real in patterns for imag in patterns for p in (real, imag)]
    # Moderate magnitudes: components beyond the square root of the largest overflow in products.
    extra = [1e-3, -3.0, 0.25, 7.5, -20.0, 50.0, -0.7, 2.0, 1e-8, -1e-8, PI, 100.0, 1e4, -300.0]
    extra = rounded(extra, part)
    generator = numpy.random.default_rng(21)
    chosen = generator.integers(0, len(extra), 160)
    pairs += [extra[i] for i in chosen]
    exponent, fraction = FORMATS[part]
    bias = (1 << (exponent - 1)) - 1
    for _ in range(160):
        near, sign = generator.integers(bias - 3, bias + 4), generator.integers(0, 2)
        random = generator.integers(0, 1 << fraction, dtype=numpy.int64)
        pairs.append(int(sign) << (exponent + fraction) | int(near) << fraction | int(random))
    return pairs


def cross(name):
    """The values whose every ordered pair is an input of a binary operation."""
    if name == "bool":
        return [0, 1]
    if name in FORMATS:
        exponent, fraction = FORMATS[name]
        infinity = ((1 << exponent) - 1) << fraction
        extremes = [infinity, infinity | 1 << (exponent + fraction), infinity | 1 << (fraction - 1)]
        return rounded(CROSS, name) + extremes + [infinity - 1, 1 << fraction, 3]
    if name in PARTS:
        values = [
            0,
            complex(-0.0, 0.0),
            1,
            -1,
            1j,
            complex(0.0, -1.0),
            1 + 1j,
            2 - 3j,
            -0.5 + 0.25j,
        ]
        values += [complex("inf"), complex(0.0, float("inf")), complex("nan"), 100 - 7j, 0.1 + 0.2j]
        return parts(values, name)
    info = torch.iinfo(DTYPES[name])
    values = [0, 1, -1, 2, -2, 3, -3, 7, 8, -7, 12, 31, 64, 100, info.max, info.min, info.max - 1]
    return masked(unique(v for v in values if info.min <= v <= info.max), name)


def parts(values, name):
    """Complex numbers as patterns, real part first; NaN in one part stays in one part."""
    flat = [part for value in values for part in (complex(value).real, complex(value).imag)]
    tensor = torch.tensor(flat, dtype=torch.float64).to(DTYPES[PARTS[name]])
    return tensor.view(getattr(torch, f"uint{WIDTHS[name]}")).tolist()


def zipped(name, values):
    """Twenty-four values: sixteen ordinary ones and eight of the dtype's own extremes."""
    if name == "bool":
        return [int(v > 0.4) for v in values] + [0, 1, 1, 0, 1, 1, 0, 1]
    if name in PARTS:
        numbers = [complex(v, w) for v, w in zip(values, reversed(values))]
        return parts(numbers + [complex("inf"), complex("nan"), 1j, -1j, 3, -2, 0.5, 1 - 1j], name)
    if name in FORMATS:
        exponent, fraction = FORMATS[name]
        infinity = ((1 << exponent) - 1) << fraction
        sign = 1 << (exponent + fraction)
        nan = infinity | 1 << (fraction - 1)
        own = [infinity, infinity | sign, nan, infinity - 1, 1 << fraction, 1, sign | 5, 0]
        return rounded(values, name) + own
    info = torch.iinfo(DTYPES[name])
    whole = [max(info.min, int(v)) or 1 for v in values]
    own = [info.max, info.min or 3, info.max - 1, info.min + 1, 1, 5, 7, info.max // 3]
    return masked(whole + own, name)


def tame(name):
    """Sixty ordinary values of moderate size for reductions."""
    generator = numpy.random.default_rng(22)
    floats = generator.standard_normal(120)
    if name == "bool":
        return [int(v > -1.0) for v in floats[:60]]
    if name in PARTS:
        return parts([complex(a, b) for a, b in zip(floats[:60], floats[60:])], name)
    if name in FORMATS:
        return rounded(floats[:60], name)
    low = 0 if torch.iinfo(DTYPES[name]).min == 0 else -40
    return masked([int(v) for v in generator.integers(low, 41, 60)], name)


def sets():
    """Every named set: `kind/dtype` to its tensor."""
    named = {}
    for name in DTYPES:
        every = {
            "wide": wide(name),
            "cross": cross(name),
            "zip_a": zipped(name, ZIP_A),
            "zip_b": zipped(name, ZIP_B),
            "tame": tame(name),
        }
        for kind, patterns in every.items():
            bits = numpy.array(patterns, dtype=UNSIGNED[WIDTHS[name]])
            named[f"{kind}/{name}"] = from_bits(bits, name)
    return named
