"""Correctly rounded results from MPFR and MPC, independent of PyTorch.

Owns the mathematical definition of every operation that is not exactly rounded, evaluated at a
precision where the final rounding to the result's format cannot be wrong in practice. Finite
inputs only: at infinities and NaN the caller keeps PyTorch's answer.
"""

import functools
import pathlib
import sys

import gmpy2
import numpy
from gmpy2 import mpc, mpfr

from bits import FORMATS, PARTS, UNSIGNED, WIDTHS

sys.path.append(str(pathlib.Path(__file__).with_name("math")))
from special import i1, trigamma  # noqa: E402

WORK = gmpy2.context(precision=400, emax=1 << 40, emin=-(1 << 40))
# Complex expm1 and log1p cancel: one and a tiny number must both be held exactly.
DEEP = gmpy2.context(precision=2400, emax=1 << 40, emin=-(1 << 40))


@functools.cache
def target(name):
    """MPFR's context that rounds as the format does, subnormals included."""
    exponent, fraction = FORMATS[name]
    emax = 1 << (exponent - 1)
    return gmpy2.context(
        precision=fraction + 1, emax=emax, emin=4 - emax - fraction - 1, subnormalize=True
    )


def decode(pattern, name):
    """The value of a finite pattern, exactly, or None."""
    exponent, fraction = FORMATS[name]
    sign = pattern >> (exponent + fraction)
    biased = pattern >> fraction & ((1 << exponent) - 1)
    mantissa = pattern & ((1 << fraction) - 1)
    if biased == (1 << exponent) - 1:
        return None
    if biased:
        mantissa |= 1 << fraction
    shift = max(biased, 1) - ((1 << (exponent - 1)) - 1) - fraction
    scale = gmpy2.mul_2exp if shift >= 0 else gmpy2.div_2exp
    value = scale(mpfr(mantissa), abs(shift))
    return -value if sign else value


def encode(value, name):
    """The pattern of an exact value after one rounding to nearest, ties to even; None for NaN."""
    if gmpy2.is_nan(value):
        return None
    exponent, fraction = FORMATS[name]
    with target(name):
        value = mpfr(value)
    sign = int(gmpy2.is_signed(value)) << (exponent + fraction)
    if gmpy2.is_infinite(value):
        return sign | ((1 << exponent) - 1) << fraction
    if gmpy2.is_zero(value):
        return sign
    mantissa, power = abs(value).as_mantissa_exp()
    mantissa, power = int(mantissa), int(power)
    lowest = 2 - (1 << (exponent - 1)) - fraction
    shift = fraction + 1 - mantissa.bit_length()
    if power - shift < lowest:
        shift = power - lowest
    mantissa, power = mantissa << shift if shift >= 0 else mantissa >> -shift, power - shift
    if mantissa >> fraction == 0:
        return sign | mantissa
    return sign | (power - lowest + 1) << fraction | (mantissa - (1 << fraction))


def pi():
    return gmpy2.const_pi()


def sinc(x):
    if x == 0:
        return mpfr(1)
    turned = gmpy2.fmod(x, 2)
    return mpfr(0) if gmpy2.is_integer(turned) else gmpy2.sin(pi() * turned) / (pi() * x)


def i0(x):
    if abs(x) > 720:
        return gmpy2.inf()
    quarter, term, total, k = x * x / 4, mpfr(1), mpfr(1), 0
    while term > total * gmpy2.exp2(-420):
        k += 1
        term = term * quarter / (k * k)
        total += term
    return total


def erfinv(x):
    if abs(x) > 1:
        return gmpy2.nan()
    if abs(x) == 1 or x == 0:
        return x / 0 if x else x
    size = abs(x)
    if size < 0.5:
        y, tail = size * gmpy2.sqrt(pi()) / 2, False
    else:
        y, tail = gmpy2.sqrt(-gmpy2.log1p(-size)), True
    for _ in range(60):
        error = (1 - size) - gmpy2.erfc(y) if tail else gmpy2.erf(y) - size
        step = error * gmpy2.sqrt(pi()) / 2 * gmpy2.exp(y * y)
        # Newton from a start beyond the root would overshoot where erf is flat.
        step = min(step, y / 2)
        y -= step
        if abs(step) < y * gmpy2.exp2(-380):
            break
    return -y if x < 0 else y


def logit(x):
    if x == 0:
        return -gmpy2.inf()
    return gmpy2.log(x / (1 - x)) if x != 1 else gmpy2.inf()


def softplus(x):
    return x if x > 20 else gmpy2.log1p(gmpy2.exp(x))


def sigmoid(x):
    return 1 / (1 + gmpy2.exp(-x))


def gelu_tanh(x):
    inner = gmpy2.sqrt(2 / pi()) * (x + mpfr("0.044715") * x**3)
    return x * sigmoid(2 * inner)


def digamma(x):
    if x == 0:
        return gmpy2.inf() if gmpy2.is_signed(x) else -gmpy2.inf()
    return gmpy2.digamma(x)


REAL_UNARY = {
    "acos": gmpy2.acos, "acosh": gmpy2.acosh, "asin": gmpy2.asin, "asinh": gmpy2.asinh,
    "atan": gmpy2.atan, "atanh": gmpy2.atanh, "cos": gmpy2.cos, "cosh": gmpy2.cosh,
    "deg2rad": lambda x: x * pi() / 180, "rad2deg": lambda x: x * 180 / pi(),
    "digamma": digamma, "erf": gmpy2.erf, "erfc": gmpy2.erfc, "erfinv": erfinv,
    "exp": gmpy2.exp, "exp2": gmpy2.exp2, "expm1": gmpy2.expm1,
    "gelu": lambda x: x * gmpy2.erfc(-x / gmpy2.sqrt(mpfr(2))) / 2,
    "gelu(approximate=tanh)": gelu_tanh, "i0": i0, "i1": i1, "lgamma": lambda x: gmpy2.lgamma(x)[0],
    "log": gmpy2.log, "log10": gmpy2.log10, "log1p": gmpy2.log1p, "log2": gmpy2.log2,
    "logit": logit, "reciprocal": lambda x: 1 / x, "rsqrt": lambda x: 1 / gmpy2.sqrt(x),
    "sigmoid": sigmoid, "silu": lambda x: x * sigmoid(x), "sin": gmpy2.sin, "sinc": sinc,
    "sinh": gmpy2.sinh, "softplus": softplus, "sqrt": gmpy2.sqrt, "tan": gmpy2.tan,
    "tanh": gmpy2.tanh, "trigamma": trigamma,
}  # fmt: skip


def xlogy(x, y):
    return mpfr(0) if x == 0 else x * gmpy2.log(y)


def logaddexp(x, y):
    return max(x, y) + gmpy2.log1p(gmpy2.exp(-abs(x - y)))


def logaddexp2(x, y):
    return max(x, y) + gmpy2.log1p(gmpy2.exp2(-abs(x - y))) / gmpy2.log(mpfr(2))


def power(x, y):
    return x**y


def fmod(x, y):
    # MPFR computes the remainder exactly, however far apart the operands are.
    return gmpy2.fmod(x, y)


def remainder(x, y):
    rest = gmpy2.fmod(x, y)
    return rest + y if rest != 0 and gmpy2.is_signed(rest) != gmpy2.is_signed(y) else rest


def floor_divide(x, y):
    if x == 0 or y == 0:
        return gmpy2.nan()
    with DEEP:
        return gmpy2.floor(x / y)


REAL_BINARY = {
    "atan2": gmpy2.atan2, "float_power": power, "hypot": gmpy2.hypot, "logaddexp": logaddexp,
    "logaddexp2": logaddexp2, "pow": power, "xlogy": xlogy, "fmod": fmod,
    "remainder": remainder, "floor_divide": floor_divide, "div(rounding_mode=floor)": floor_divide,
    "polar": lambda r, t: mpc(r * gmpy2.cos(t), r * gmpy2.sin(t)),
}  # fmt: skip


def c_sinc(z):
    return mpc(1) if z == 0 else gmpy2.sin(pi() * z) / (pi() * z)


def c_sgn(z):
    return z if z == 0 else z / abs(z)


def c_sigmoid(z):
    return 1 / (1 + gmpy2.exp(-z))


COMPLEX_UNARY = {
    "abs": abs, "angle": lambda z: gmpy2.atan2(z.imag, z.real),
    "acos": gmpy2.acos, "acosh": gmpy2.acosh, "asin": gmpy2.asin, "asinh": gmpy2.asinh,
    "atan": gmpy2.atan, "atanh": gmpy2.atanh, "cos": gmpy2.cos, "cosh": gmpy2.cosh,
    "exp": gmpy2.exp, "exp2": lambda z: gmpy2.exp(z * gmpy2.log(mpfr(2))),
    "expm1": lambda z: gmpy2.exp(z) - 1, "log": gmpy2.log, "log10": gmpy2.log10,
    "log1p": lambda z: gmpy2.log(1 + z), "log2": lambda z: gmpy2.log(z) / gmpy2.log(mpfr(2)),
    "reciprocal": lambda z: 1 / z, "rsqrt": lambda z: 1 / gmpy2.sqrt(z), "sgn": c_sgn,
    "sigmoid": c_sigmoid, "silu": lambda z: z * c_sigmoid(z), "sin": gmpy2.sin, "sinc": c_sinc,
    "sinh": gmpy2.sinh, "sqrt": gmpy2.sqrt, "square": lambda z: z * z, "tan": gmpy2.tan,
    "tanh": gmpy2.tanh, "trigamma": trigamma,
}  # fmt: skip
COMPLEX_BINARY = {
    "div": lambda x, y: x / y,
    "float_power": power,
    "logaddexp": lambda x, y: gmpy2.log(gmpy2.exp(x) + gmpy2.exp(y)),
    "mul": lambda x, y: x * y,
    "pow": power,
}
CANCELLING = {"expm1", "log1p"}


def values(patterns, name):
    """The operands as MPFR or MPC numbers; None where one is not finite."""
    if name not in PARTS:
        return [decode(int(p), name) for p in patterns]
    decoded = [decode(int(p), PARTS[name]) for p in patterns]
    pairs = zip(decoded[::2], decoded[1::2])
    return [None if re is None or im is None else mpc(re, im) for re, im in pairs]


def correctly_rounded(label, operands, name, answer, result):
    """The patterns of the correctly rounded results, or None for an operation that has none here.

    `operands` are arrays of patterns in the dtype `name`; `answer` holds PyTorch's patterns in the
    dtype `result`, which are kept where an operand or the result is not a finite number.
    """
    plain = label.partition("(")[0]
    table = {
        (False, 1): REAL_UNARY, (False, 2): REAL_BINARY,
        (True, 1): COMPLEX_UNARY, (True, 2): COMPLEX_BINARY,
    }[name in PARTS, len(operands)]  # fmt: skip
    call = table.get(label)
    if call is None:
        return None
    part = PARTS.get(result, result)
    per_element = 2 if result in PARTS else 1
    reference = [int(p) for p in answer]
    with DEEP if name in PARTS and plain in CANCELLING else WORK:
        for index, picked in enumerate(zip(*(values(o, name) for o in operands))):
            if any(value is None for value in picked):
                continue
            try:
                value = call(*picked)
            except (ZeroDivisionError, ValueError):
                continue
            components = (value.real, value.imag) if result in PARTS else (value,)
            coded = [encode(c, part) for c in components]
            for offset, code in enumerate(coded):
                if code is not None:
                    reference[index * per_element + offset] = code
    return numpy.array(reference, dtype=UNSIGNED[WIDTHS[result]])
