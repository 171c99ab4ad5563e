"""Correctly rounded answers for the functions of the exponential and logarithmic family, from MPFR.

    python explog.py            writes <function>.<f32|f64>.bin beside this file; needs gmpy2 and numpy

Each file holds columns of equal length, little-endian: one per argument, then the correctly rounded result, then as
one signed byte per row the distance from that result to the true value in units of 1/254 of the result's last place,
so that errors below one ULP can be measured too. A function whose result there is NaN, infinite or exact has 0.

Arguments are the special values, numbers drawn over all exponents, numbers drawn where the function is interesting,
the neighbours of the points where an implementation switches or overflows, and the hardest known arguments to round.
"""

import math
import random
from pathlib import Path

import gmpy2
import numpy as np
from gmpy2 import mpfr

from worst_cases import worst_cases

# Wide enough for 1 - x with the smallest subnormal x.
gmpy2.get_context().precision = 2400
gmpy2.get_context().emin = gmpy2.get_emin_min()
gmpy2.get_context().emax = gmpy2.get_emax_max()

INF, NAN = math.inf, math.nan
LN2 = math.log(2)
FORMATS = {"f32": (np.float32, 24, -149), "f64": (np.float64, 53, -1074)}


# The functions, on mpfr arguments. Where C and PyTorch define a special value that the formula does not give,
# it is spelled out.
def sigmoid(x):
    return 1 / (1 + gmpy2.exp(-x))


def silu(x):
    return mpfr(NAN) if x == -INF else x * sigmoid(x)


def logit(x):
    if not 0 <= x <= 1:
        return mpfr(NAN)
    return mpfr(-INF) if x == 0 else mpfr(INF) if x == 1 else gmpy2.log(x / (1 - x))


def logaddexp(a, b):
    if gmpy2.is_nan(a) or gmpy2.is_nan(b):
        return mpfr(NAN)
    top = max(a, b)
    return top if gmpy2.is_infinite(top) else top + gmpy2.log1p(gmpy2.exp(-abs(a - b)))


def logaddexp2(a, b):
    if gmpy2.is_nan(a) or gmpy2.is_nan(b):
        return mpfr(NAN)
    top = max(a, b)
    return top if gmpy2.is_infinite(top) else top + gmpy2.log1p(gmpy2.exp2(-abs(a - b))) / gmpy2.const_log2()


def softplus(x, beta):
    """With a threshold of 20, and the comparison as exact as the product."""
    return x if x * beta > 20 else gmpy2.log1p(gmpy2.exp(x * beta)) / beta


def xlogy(x, y):
    if gmpy2.is_nan(y):
        return y
    return mpfr(0) if x == 0 else x * gmpy2.log(y)


def log_family(f):
    return lambda x: mpfr(-INF) if x == 0 else f(x)


def rsqrt(x):
    return 1 / gmpy2.sqrt(x)


def pow_(x, y):
    if x == 1 or y == 0:
        return mpfr(1)
    return x**y


EXP_EDGES = [709.782712893384, 710.4758600739439, -708.3964185322641, -745.1332191019412, 88.72283905206835]
EXP_EDGES += [89.41598629223294, -87.33654475055312, -103.97207708399179, 20.0, 40.0, 17.0, 36.7]
EXP_EDGES += [(k + 0.5) * LN2 for k in (-2, -1, 0, 1, 2, 10, -30, 100, 1000)] + [k * LN2 for k in (1, -1, 5, -40)]
EXP2_EDGES = [k + h for k in (0, 1, -1, 127, 128, -126, -149, -150, 1023, 1024, -1022, -1074, -1075) for h in (0, 0.5)]
LOG_EDGES = [1.0, 2.0, 0.5, 4.0, 10.0, 100.0, 1e-5, 1e22, math.sqrt(2), math.sqrt(0.5), 2 * math.sqrt(2), 0.75, math.e]
ONE_EDGES = [1.0, -1.0, 0.5, -0.5, 0.25, 1 / 3, math.sqrt(2) - 1, math.sqrt(0.5) - 1, (math.sqrt(2) - 1) / (math.sqrt(2) + 1)]

# Name: function, intervals to draw from, points whose neighbours are taken.
UNARY = {
    "exp": (gmpy2.exp, [(-1, 1), (-104, 89), (-746, 710)], EXP_EDGES),
    "exp2": (gmpy2.exp2, [(-1, 1), (-150, 128), (-1076, 1024)], EXP2_EDGES),
    "expm1": (gmpy2.expm1, [(-1, 1), (-0.01, 0.01), (-40, 89), (-40, 710)], EXP_EDGES),
    "log": (log_family(gmpy2.log), [(0.5, 2), (0.99, 1.01), (0, 1e4)], LOG_EDGES),
    "log2": (log_family(gmpy2.log2), [(0.5, 2), (0.99, 1.01), (0, 1e4)], LOG_EDGES),
    "log10": (log_family(gmpy2.log10), [(0.5, 2), (0.99, 1.01), (0, 1e4)], LOG_EDGES + [10.0**k for k in range(2, 23)]),
    "log1p": (gmpy2.log1p, [(-1, 1), (-0.01, 0.01), (0, 1e4)], ONE_EDGES + LOG_EDGES),
    "sinh": (gmpy2.sinh, [(-1, 1), (-25, 25), (-90, 90), (-711, 711)], EXP_EDGES),
    "cosh": (gmpy2.cosh, [(-1, 1), (-25, 25), (-90, 90), (-711, 711)], EXP_EDGES),
    "tanh": (gmpy2.tanh, [(-1, 1), (-2, 2), (-20, 20)], [x / 2 for x in EXP_EDGES] + ONE_EDGES),
    "sigmoid": (sigmoid, [(-1, 1), (-20, 20), (-105, 40), (-746, 40)], EXP_EDGES),
    "silu": (silu, [(-1, 1), (-20, 20), (-110, 40), (-752, 40)], EXP_EDGES),
    "asinh": (gmpy2.asinh, [(-1, 1), (-0.01, 0.01), (-1e5, 1e5)], ONE_EDGES + LOG_EDGES),
    "acosh": (gmpy2.acosh, [(1, 1.01), (1, 3), (1, 1e5)], LOG_EDGES),
    "atanh": (gmpy2.atanh, [(-1, 1), (-0.01, 0.01), (0.99, 1)], ONE_EDGES),
    "logit": (logit, [(0, 1), (0.49, 0.51), (0.99, 1), (0, 0.01)], ONE_EDGES + [2 / 3]),
    "rsqrt": (rsqrt, [(0.5, 4), (0, 1e4)], LOG_EDGES),
}
# As above, with a box to draw pairs from.
BINARY = {
    "pow": (pow_, [((0, 2), (-100, 100)), ((0.9, 1.1), (-1000, 1000)), ((0, 1e5), (-60, 60)), ((-9, 9), (-5, 5))]),
    "hypot": (gmpy2.hypot, [((-1, 1), (-1, 1)), ((-1e-3, 1e-3), (-1, 1))]),
    "xlogy": (xlogy, [((-10, 10), (0.5, 2)), ((-10, 10), (0, 1e4))]),
    "logaddexp": (logaddexp, [((-2, 20), (-2, 20)), ((-800, 800), (-800, 800)), ((0, 10), (-100, 10))]),
    "logaddexp2": (logaddexp2, [((-2, 20), (-2, 20)), ((-1000, 1000), (-1000, 1000)), ((0, 10), (-100, 10))]),
    "softplus": (softplus, [((-20, 19), (1, 1)), ((-110, 19), (1, 1)), ((-746, 19), (1, 1)), ((-5, 5), (0.5, 3))]),
}


def specials(kind):
    info = np.finfo(kind)
    tiny, least = float(info.tiny), float(info.smallest_subnormal)
    ends = [0.0, 1.0, least, tiny - least, tiny, float(info.max), INF, 2.0, 3.0, 0.5, float(info.eps), 1 + float(info.eps)]
    return [s * x for x in ends for s in (1, -1)] + [NAN]


def neighbours(kind, x):
    values = [kind(x)]
    up = down = kind(x)
    for _ in range(3):
        up, down = np.nextafter(up, kind(INF)), np.nextafter(down, kind(-INF))
        values += [up, down]
    return [float(v) for v in values]


def all_exponents(kind, rng, count):
    width = np.dtype(kind).itemsize * 8
    bits = np.array([rng.getrandbits(width) for _ in range(count)], dtype=f"u{width // 8}")
    return [float(x) for x in bits.view(kind) if np.isfinite(x)]


def rounded(value, precision, least):
    """The correctly rounded result, and what is missing in units of its last place."""
    if gmpy2.is_nan(value) or gmpy2.is_infinite(value) or value == 0:
        return float(value), 0.0

    quantum = max(gmpy2.get_exp(value) - precision, least)
    nearest = gmpy2.rint(value * mpfr(2) ** -quantum)
    result = nearest * mpfr(2) ** quantum
    if nearest == 0:
        return math.copysign(0.0, value), float(value * mpfr(2) ** -least)
    if gmpy2.get_exp(result) > (128 if precision == 24 else 1024):
        return math.copysign(INF, value), 0.0
    quantum = max(gmpy2.get_exp(result) - precision, least)
    return float(result), float((value - result) * mpfr(2) ** -quantum)


def write(name, dtype, function, rows):
    kind, precision, least = FORMATS[dtype]
    seen, columns, results, missing = set(), [], [], []
    for row in rows:
        row = tuple(float(kind(x)) for x in row)
        key = np.array(row, dtype=kind).tobytes()
        if key in seen:
            continue
        seen.add(key)
        result, rest = rounded(function(*map(mpfr, row)), precision, least)
        columns.append(row)
        results.append(result)
        missing.append(round(rest * 254))
    little = np.dtype(kind).newbyteorder("<")
    with np.errstate(over="ignore"):
        data = np.array(columns, dtype=little).T.tobytes() + np.array(results, dtype=little).tobytes()
    Path(__file__).with_name(f"{name}.{dtype}.bin").write_bytes(data + np.array(missing, dtype=np.int8).tobytes())
    return len(columns)


def main():
    for dtype, (kind, _, _) in FORMATS.items():
        for name, (function, intervals, edges) in UNARY.items():
            rng = random.Random(f"{name} {dtype}")
            values = specials(kind) + [v for edge in edges for v in neighbours(kind, edge)]
            values += all_exponents(kind, rng, 200)
            values += [rng.uniform(*interval) for interval in intervals for _ in range(250)]
            rows = [(v,) for v in values] + worst_cases(name, dtype, function)
            print(name, dtype, write(name, dtype, function, rows))
        for name, (function, boxes) in BINARY.items():
            rng = random.Random(f"{name} {dtype}")
            ends = [0.0, 1.0, 2.0, 3.0, 0.5, 2.5, 1e6 + 1, float(np.finfo(kind).tiny) / 4, float(np.finfo(kind).max), INF]
            ends = [s * x for x in ends for s in (1, -1)] + [NAN]
            # softplus divides by its second argument; what a beta of 0 or infinity gives is PyTorch's affair.
            others = [1.0, 2.0, 0.3, -1.0] if name == "softplus" else ends
            rows = [(x, y) for x in ends for y in others]
            if name != "softplus":
                rows += list(zip(all_exponents(kind, rng, 150), all_exponents(kind, rng, 150)))
            rows += [(rng.uniform(*a), rng.uniform(*b)) for a, b in boxes for _ in range(250)]
            rows += worst_cases(name, dtype, function)
            print(name, dtype, write(name, dtype, function, rows))


if __name__ == "__main__":
    main()
