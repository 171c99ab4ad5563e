"""Polynomials of nearly least largest weighted error with coefficients rounded to a float format.

Used by the scripts beside this one; needs mpmath and numpy.
"""

import numpy
from mpmath import cholesky_solve, cos, matrix, mp, mpf, nint, pi

mp.prec = 240


def rounded(x, bits):
    """`x` to the nearest number with `bits` significant bits (24 for f32, 53 for f64)."""
    x = mpf(x)
    if x == 0:
        return x
    shift = bits - 1 - int(mp.floor(mp.log(abs(x), 2)))
    return mp.ldexp(nint(mp.ldexp(x, shift)), -shift)


def evaluate(coefficients, x):
    total = mpf(0)
    for c in reversed(coefficients):
        total = total * x + c
    return total


def minimax(f, weight, lo, hi, degree, fixed=()):
    """Coefficients, lowest first, with nearly least max |weight(x) * (f(x) - p(x))|; the first ones may be given.

    Lawson's algorithm: least squares on a grid, each point's weight multiplied by its error until they level out.
    Unlike Remez' exchange it does not mind given coefficients on an interval around 0.
    """
    k = len(fixed)
    free = degree + 1 - k
    lo, hi = mpf(lo), mpf(hi)
    size = max(abs(lo), abs(hi))
    count = 16 * (free + 1)
    grid = [(lo + hi) / 2 - (hi - lo) / 2 * cos(pi * i / count) for i in range(count + 1)]
    rows = [[weight(x) * (x / size) ** (k + j) for j in range(free)] for x in grid]
    values = [weight(x) * (f(x) - evaluate(fixed, x)) for x in grid]
    share = [mpf(1) / len(grid)] * len(grid)
    best = None
    for _ in range(40):
        a, b = matrix(free, free), matrix(free, 1)
        for row, value, w in zip(rows, values, share):
            for i in range(free):
                wr = w * row[i]
                b[i] += wr * value
                for j in range(free):
                    a[i, j] += wr * row[j]
        solution = cholesky_solve(a, b)
        errors = [abs(value - sum(c * r for c, r in zip(solution, row))) for row, value in zip(rows, values)]
        if best is None or max(errors) < best[0]:
            best = max(errors), [solution[j] / size ** (k + j) for j in range(free)]
        share = [w * e for w, e in zip(share, errors)]
        total = sum(share)
        if total == 0:
            break
        share = [w / total for w in share]
    return list(fixed) + best[1]


def fit(f, weight, lo, hi, degree, bits, exact=()):
    """As `minimax`, rounding the coefficients from the lowest on and refitting the rest after each.

    Returns the coefficients and the largest weighted error of the rounded polynomial."""
    fixed = [mpf(c) for c in exact]
    while len(fixed) <= degree:
        p = minimax(f, weight, lo, hi, degree, fixed)
        fixed.append(rounded(p[len(fixed)], bits))
    lo, hi = mpf(lo), mpf(hi)
    error = max(abs(weight(x) * (f(x) - evaluate(fixed, x))) for x in (lo + (hi - lo) * i / 3001 for i in range(3002)))
    return fixed, error


def literal(x, bits):
    """A Rust literal: the shortest decimal that reads back as the same float."""
    return repr(float(x)) if bits == 53 else str(numpy.float32(float(x)))


def show(name, coefficients, error, bits):
    print(f"// {name}: error 2^{float(mp.log(error, 2)):.1f}" if error else f"// {name}")
    for c in coefficients:
        print(f"    {literal(c, bits)},")


def split(name, x, bits, parts, zeros):
    """`x` as a sum of floats; the first ends in `zeros` zero bits, so that small integers multiply it exactly."""
    for i in range(parts):
        part = rounded(x, bits - zeros if i == 0 and parts > 1 else bits)
        print(f"{name}[{i}] = {literal(part, bits)}")
        x = mpf(x) - part


def series(f, terms):
    """`f` near 0 from its Taylor coefficients `terms(k)`, elsewhere as is."""

    def g(x):
        x = mpf(x)
        if abs(x) < mpf("1e-6"):
            return sum(terms(k) * x**k for k in range(12))
        return f(x)

    return g
