"""Correctly rounded answers for the trigonometric, special and complex functions, from MPFR.

    python special.py [NAME...]   writes <function>.<f32|f64|c64|c128>.bin beside this file; needs gmpy2 and numpy

The files for f32 and f64 are as `explog.py` describes. Those for complex numbers have the columns real part and
imaginary part of each argument and of the result, then the two columns of signed bytes. `<function>_reflected` holds
negative arguments of functions that have no bound relative to the result there.

Special values are those of PyTorch: i0 and i1 of an infinity are NaN, and so is gelu of -infinity. Where PyTorch
divides by the rounded sine of a multiple of pi, trigamma has its pole.
"""

import math
import random
import sys
from pathlib import Path

import gmpy2
import numpy as np
from gmpy2 import mpc, mpfr, mpq

from explog import FORMATS, INF, NAN, all_exponents, neighbours, rounded, specials, write
from worst_cases import worst_cases

PRECISION = 500
gmpy2.get_context().precision = PRECISION
gmpy2.get_context().allow_complex = False
PI = gmpy2.const_pi(2400)


def sinc(x):
    if gmpy2.is_nan(x) or gmpy2.is_infinite(x):
        return mpfr(NAN)
    if x == 0:
        return mpfr(1)
    if gmpy2.is_integer(x):
        return mpfr(0)
    # sin(pi x) from the distance to the nearest integer, which is exact.
    whole = gmpy2.rint(x)
    sine = gmpy2.sin(PI * (x - whole))
    return (-sine if gmpy2.is_odd(gmpy2.mpz(whole)) else sine) / (PI * x)


def gelu(x):
    if x == -INF:
        return mpfr(NAN)
    return x if x == 0 or x == INF else x * gmpy2.erfc(-x / gmpy2.sqrt(mpfr(2))) / 2


def gelu_tanh(x):
    if x == -INF:
        return mpfr(NAN)
    if x == 0 or x == INF:
        return x
    return x / (1 + gmpy2.exp(-2 * gmpy2.sqrt(2 / PI) * (x + mpfr("0.044715") * x**3)))


def erfinv(x):
    if x == 0 or gmpy2.is_nan(x):
        return x
    if abs(x) >= 1:
        return x * INF if abs(x) == 1 else mpfr(NAN)
    size = abs(x)
    rest = 1 - size
    y = gmpy2.sqrt(PI) / 2 * size if size < 0.7 else gmpy2.sqrt(-gmpy2.log(rest * (1 + size)))
    if size < 2.0**-60:
        # erfinv x = (sqrt(pi) / 2) (x + pi x^3 / 12 + ...)
        y = gmpy2.sqrt(PI) / 2 * (size + PI * size**3 / 12)
        return y if x > 0 else -y
    for _ in range(60):
        slope = -2 / gmpy2.sqrt(PI) * gmpy2.exp(-y * y)
        tail = gmpy2.erfc(y)
        # Newton's method, on the logarithm in the tail.
        step = gmpy2.log(tail / rest) * tail / slope if rest < 0.3 else (tail - rest) / slope
        y -= step
        if abs(step) < y * mpfr(2) ** (40 - PRECISION):
            break
    return y if x > 0 else -y


def i0(x):
    if gmpy2.is_nan(x) or gmpy2.is_infinite(x):
        return mpfr(NAN)
    if abs(x) > 800:
        return mpfr(INF)
    quarter = x * x / 4
    term = total = mpfr(1)
    k = 0
    while term > total * mpfr(2) ** -200:
        k += 1
        term *= quarter / (k * k)
        total += term
    return total


def i1(x):
    if gmpy2.is_nan(x) or gmpy2.is_infinite(x):
        return mpfr(NAN)
    if abs(x) > 800:
        return mpfr(INF) * x
    quarter = x * x / 4
    term = total = x / 2
    k = 0
    while abs(term) > abs(total) * mpfr(2) ** -200:
        k += 1
        term *= quarter / (k * (k + 1))
        total += term
    return total


def lgamma(x):
    if gmpy2.is_nan(x):
        return x
    if gmpy2.is_infinite(x) or (x <= 0 and gmpy2.is_integer(x)):
        return mpfr(INF)
    return gmpy2.lgamma(x)[0]


def digamma(x):
    if x == 0:
        return mpfr(INF) if gmpy2.is_signed(x) else mpfr(-INF)
    if x < 0 and (gmpy2.is_infinite(x) or gmpy2.is_integer(x)):
        return mpfr(NAN)
    return gmpy2.digamma(x)


def trigamma(x):
    if gmpy2.is_nan(x) or x == -INF:
        return mpfr(NAN)
    if x == INF:
        return mpfr(0)
    if x <= 0 and gmpy2.is_integer(x):
        return mpfr(INF)
    if x < 0:
        # pi^2 / sin^2(pi x), from the distance to the nearest integer, which is exact.
        sine = gmpy2.sin(PI * (x - gmpy2.rint(x)))
        return (PI / sine) ** 2 - trigamma(1 - x)
    if x > 2**60:
        return 1 / x + 1 / (2 * x**2) + 1 / (6 * x**3)
    # The recurrence to 100, then the asymptotic series, whose terms have Bernoulli's numbers.
    total = mpfr(0)
    while x < 100:
        total += 1 / x**2
        x += 1
    total += 1 / x + 1 / (2 * x**2)
    return total + sum((mpfr(b) / x ** (2 * k + 3) for k, b in enumerate(BERNOULLI)), mpfr(0))


def bernoulli(count):
    """Bernoulli's numbers of the even indices from 2 on."""
    numbers = [mpq(1)]
    for n in range(1, 2 * count + 1):
        numbers.append(-sum(math.comb(n + 1, k) * b for k, b in enumerate(numbers)) / (n + 1))
    return numbers[2::2]


BERNOULLI = bernoulli(60)


def scaled(constant):
    return lambda x: x * constant


QUARTERS = [k * math.pi / 4 for k in (1, 2, 3, 4, 5, 6, 7, 8, 100, 1e5, 2**20, 2**29, 2**30)]
# Close to multiples of pi/2 as no other f64, and as few f32.
HARD = [6381956970095103.0 * 2.0**797, 5.319372648326541e255, 355.0, 710.0, 103993.0, 16367173.0 * 2.0**72, 2.0**30]
ROOT = 1.4616321449683623
ATAN_EDGES = [math.tan(math.pi / 8), math.tan(3 * math.pi / 8), 1.0]

# Name: function, intervals to draw from, points whose neighbours are taken, whether negative arguments are
# reflected.
UNARY = {
    "sin": (gmpy2.sin, [(-1, 1), (-10, 10), (-1e6, 1e6), (1e9, 1e10)], QUARTERS + HARD),
    "cos": (gmpy2.cos, [(-1, 1), (-10, 10), (-1e6, 1e6), (1e9, 1e10)], QUARTERS + HARD),
    "tan": (gmpy2.tan, [(-1, 1), (-10, 10), (-1e6, 1e6), (1e9, 1e10)], QUARTERS + HARD),
    "asin": (gmpy2.asin, [(-1, 1), (0.45, 0.55), (0.99, 1)], [0.5, -0.5, 1.0, -1.0]),
    "acos": (gmpy2.acos, [(-1, 1), (0.45, 0.55), (0.99, 1)], [0.5, -0.5, 1.0, -1.0]),
    "atan": (gmpy2.atan, [(-1, 1), (-5, 5), (0.4, 0.43), (2, 100)], ATAN_EDGES),
    "sinc": (sinc, [(-1, 1), (-10, 10), (-1e5, 1e5)], [0.25, 0.5, 1.0, 7.0, 2.0**51 + 0.5, 2.0**22 + 0.5, 1e308]),
    "deg2rad": (scaled(PI / 180), [(-360, 360)], [180.0]),
    "rad2deg": (scaled(180 / PI), [(-7, 7)], [math.pi]),
    "erf": (gmpy2.erf, [(-1, 1), (-6, 6), (0.6, 0.75)], [0.6875, 1.0, 3.9, 5.9, 6.0]),
    "erfc": (gmpy2.erfc, [(-1, 1), (-6, 6), (0.4, 0.75), (6, 27.3)], [0.46875, -0.6875, 9.2, 10.05, 26.54, 27.22]),
    "erfinv": (erfinv, [(-1, 1), (0.99, 1), (0.9974, 0.9976)], [0.99999999, 0.5, 1.0, -1.0]),
    "gelu": (gelu, [(-1, 1), (-6, 6), (-38.6, -6)], [-0.6629, 0.9723, -14.4, -37.5, -38.5]),
    "gelu_tanh": (gelu_tanh, [(-1, 1), (-6, 6), (-21.2, -6)], [-10.2, -21.1, -21.2]),
    "i0": (i0, [(-1, 1), (-12, 12), (12, 80), (80, 714)], [12.0, 91.9, 713.98, 720.0]),
    "i1": (i1, [(-1, 1), (-12, 12), (12, 80), (80, 714)], [12.0, 91.9, 713.98, 713.99, 720.0]),
    "lgamma": (lgamma, [(0, 1), (0.9, 1.1), (1.9, 2.1), (1, 8), (8, 100)], [0.5, 1.0, 2.0, 3.0, 7.5, 8.0, 2.55e305, 4.08e36]),
    "digamma": (digamma, [(0, 1), (1.4, 1.5), (1, 8), (8, 100)], [0.5, 1.0, ROOT, 2.0, 7.5, 8.0]),
    "trigamma": (trigamma, [(0, 1), (1, 8), (8, 100), (-1, 0), (-30, -1), (-1e4, 0)], [0.5, 1.0, 2.0, 7.5, 8.0, 7.4583407e-155, 1e30, -0.5, -1.0]),
}
REFLECTED = {
    "lgamma": [(-1, 0), (-5, -1), (-2.5, -2.4), (-30, -5), (-1e4, 0)],
    "digamma": [(-1, 0), (-0.6, -0.4), (-5, -1), (-30, -5), (-1e4, 0)],
}
BINARY = {"atan2": (gmpy2.atan2, [((-3, 3), (-3, 3)), ((-1, 1), (-1e-9, 1e-9)), ((-1e-9, 1e-9), (-1, 1))])}


# Complex functions, away from the branch cuts, so that plain formulas serve.
def complex_log1p(z):
    return gmpy2.log(mpc(1 + z.real, z.imag))


def logistic(z):
    return 1 / (1 + gmpy2.exp(-z))


COMPLEX = {
    "sgn": lambda z: z / abs(z),
    "reciprocal": lambda z: 1 / z,
    "sqrt": gmpy2.sqrt,
    "rsqrt": lambda z: 1 / gmpy2.sqrt(z),
    "exp": gmpy2.exp,
    "exp2": lambda z: gmpy2.exp(z * gmpy2.const_log2()),
    "expm1": lambda z: gmpy2.exp(z) - 1,
    "log": gmpy2.log,
    "log2": lambda z: gmpy2.log(z) / gmpy2.const_log2(),
    "log10": lambda z: gmpy2.log(z) / gmpy2.log(mpfr(10)),
    "log1p": complex_log1p,
    "sigmoid": logistic,
    "silu": lambda z: z * logistic(z),
    "sin": gmpy2.sin,
    "cos": gmpy2.cos,
    "tan": gmpy2.tan,
    "sinh": gmpy2.sinh,
    "cosh": gmpy2.cosh,
    "tanh": gmpy2.tanh,
    "sinc": lambda z: gmpy2.sin(PI * z) / (PI * z),
    "asin": gmpy2.asin,
    "acos": gmpy2.acos,
    "atan": gmpy2.atan,
    "asinh": gmpy2.asinh,
    "acosh": gmpy2.acosh,
    "atanh": gmpy2.atanh,
    "mul": lambda a, b: a * b,
    "div": lambda a, b: a / b,
    "pow": lambda a, b: gmpy2.exp(b * gmpy2.log(a)),
    # The larger term's imaginary part stays unwrapped, as in PyTorch.
    "logaddexp": lambda a, b: max(a, b, key=lambda z: z.real)
    + complex_log1p(gmpy2.exp(min(a, b, key=lambda z: z.real) - max(a, b, key=lambda z: z.real))),
}
OF_ALL_SIZES = "sgn reciprocal sqrt rsqrt log log2 log10 log1p asin acos atan asinh acosh atanh tan tanh sigmoid mul div"
GROWING = "exp exp2 expm1 sinh cosh sin cos sinc"


def complex_points(name, rng, largest):
    def spread(low, high):
        return rng.choice((-1, 1)) * math.exp(rng.uniform(math.log(low), math.log(high)))

    points = [complex(rng.uniform(-4, 4), rng.uniform(-4, 4)) for _ in range(70)]
    points += [complex(spread(1e-6, 30), spread(1e-6, 30)) for _ in range(60)]
    for centre in (1, -1, 1j, -1j, 2, 3.141592653589793j, 1.5707963267948966):
        points += [centre + complex(spread(1e-14, 0.3), spread(1e-14, 0.3)) for _ in range(8)]
    for _ in range(20):
        angle, size = rng.uniform(0, 7), 1 + spread(1e-15, 1e-2)
        points.append(complex(size * math.cos(angle), size * math.sin(angle)))
    if name in OF_ALL_SIZES.split():
        points += [complex(spread(1 / largest, largest), spread(1 / largest, largest)) for _ in range(50)]
    if name in GROWING.split():
        edge = math.log(largest) * 1.05
        points += [complex(rng.uniform(-edge, edge), rng.uniform(-edge, edge)) for _ in range(50)]
    return points


def write_complex(name, dtype, function):
    kind, precision, least = FORMATS[{"c64": "f32", "c128": "f64"}[dtype]]
    rng = random.Random(f"{name} {dtype}")
    points = complex_points(name, rng, 1e37 if dtype == "c64" else 1e300)
    with np.errstate(all="ignore"):
        points = [complex(float(kind(z.real)), float(kind(z.imag))) for z in points]
    others = rng.sample(points, len(points)) if name in ("mul", "div", "pow", "logaddexp") else None
    # Wide enough for 1 + z with the smallest z.
    gmpy2.get_context().precision = 2200
    gmpy2.get_context().allow_complex = True
    rows, missing = [], []
    for i, z in enumerate(points):
        arguments = [z] if others is None else [z, others[i]]
        try:
            value = function(*map(mpc, arguments))
        except ZeroDivisionError:
            continue
        parts = [rounded(part, precision, least) for part in (value.real, value.imag)]
        if not all(math.isfinite(result) for result, _ in parts):
            continue
        rows.append([part for z in arguments for part in (z.real, z.imag)] + [result for result, _ in parts])
        missing.append([round(rest * 254) for _, rest in parts])
    gmpy2.get_context().allow_complex = False
    gmpy2.get_context().precision = PRECISION
    little = np.dtype(kind).newbyteorder("<")
    data = np.array(rows, dtype=little).T.tobytes() + np.array(missing, dtype=np.int8).T.tobytes()
    Path(__file__).with_name(f"{name}.{dtype}.bin").write_bytes(data)
    return len(rows)


def main(names):
    for dtype, (kind, _, _) in FORMATS.items():
        for name, (function, intervals, edges) in UNARY.items():
            if names and name not in names:
                continue
            rng = random.Random(f"{name} {dtype}")
            with np.errstate(all="ignore"):
                values = specials(kind) + [v for edge in edges for v in neighbours(kind, edge)]
                values += [abs(v) if name in REFLECTED else v for v in all_exponents(kind, rng, 200)]
                values += [rng.uniform(*interval) for interval in intervals for _ in range(200)]
                values = [v for v in values if not (name in REFLECTED and v < 0 and kind(v) != np.rint(kind(v)))]
            rows = [(v,) for v in values] + worst_cases(name, dtype, function)
            print(name, dtype, write(name, dtype, function, rows))
        for name, intervals in REFLECTED.items():
            if names and name not in names:
                continue
            rng = random.Random(f"{name} {dtype} reflected")
            values = [rng.uniform(*interval) for interval in intervals for _ in range(120)]
            values += [-abs(v) for v in all_exponents(kind, rng, 100)]
            rows = [(v,) for v in values if v < 0 and kind(v) != np.rint(kind(v))]
            print(name, dtype, "reflected", write(f"{name}_reflected", dtype, UNARY[name][0], rows))
        for name, (function, boxes) in BINARY.items():
            if names and name not in names:
                continue
            rng = random.Random(f"{name} {dtype}")
            ends = [0.0, 1.0, 2.0, float(np.finfo(kind).tiny) / 4, float(np.finfo(kind).max), INF]
            ends = [s * x for x in ends for s in (1, -1)] + [NAN]
            rows = [(x, y) for x in ends for y in ends]
            rows += list(zip(all_exponents(kind, rng, 300), all_exponents(kind, rng, 300)))
            rows += [(rng.uniform(*a), rng.uniform(*b)) for a, b in boxes for _ in range(250)]
            rows += worst_cases(name, dtype, function)
            print(name, dtype, write(name, dtype, function, rows))
    for dtype in ("c64", "c128"):
        for name, function in COMPLEX.items():
            if not names or name in names:
                print(name, dtype, write_complex(name, dtype, function))


if __name__ == "__main__":
    main(sys.argv[1:])
