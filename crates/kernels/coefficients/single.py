"""Prints the polynomials and tables of functions that are computed in the arithmetic of `f32`: sine, cosine and tangent
in `src/math/trig.rs`, their inverses in `src/math/single.rs`, the error function in `src/math/erf_table.rs`.
"""

from mpmath import asin, atan, binomial, cos, erf, factorial, log, mpf, pi, sin, sqrt, tan, taylor

from fit import fit, literal, rounded, series, show

QUARTER = (pi / 4 * mpf("1.001")) ** 2
STEP = mpf(17) / 64
DEGREE = 5


def ratio(x):
    """erf(x) / x, which is even."""
    return erf(x) / x if abs(x) > mpf("1e-20") else 2 / sqrt(pi)


def near(multiple):
    """The leading coefficient in two words, and the other ones."""
    centre, half = STEP * multiple, STEP / 2 * mpf("1.001")
    first = rounded(ratio(centre), 24)
    low = rounded(ratio(centre) - first, 24)
    p, error = fit(lambda t: ratio(centre + t) - first, lambda t: 1 / ratio(centre + t), -half, half, DEGREE, 24, exact=[low])
    return [first, *p[1:], low], error


def odd(name, function, term, largest, degree):
    """(f(x) - x) / x^3 of an odd function in powers of x^2, the error being relative to f(x)."""
    f = series(lambda z: (function(sqrt(z)) / sqrt(z) - 1) / z, term)
    p, error = fit(f, lambda z: z * sqrt(z) / function(sqrt(z)), mpf("1e-9"), largest, degree, 24)
    show(name, p, error, 24)


if __name__ == "__main__":
    f = series(lambda z: (sin(sqrt(z)) / sqrt(z) - 1) / z, lambda k: mpf(-1) ** (k + 1) / factorial(2 * k + 3))
    p, error = fit(f, lambda z: z, mpf("1e-9"), QUARTER, 2, 24)
    show("SIN_SHORTEST", p, error, 24)
    f = series(lambda z: (cos(sqrt(z)) - 1 + z / 2) / z**2, lambda k: mpf(-1) ** k / factorial(2 * k + 4))
    p, error = fit(f, lambda z: z * z, mpf("1e-9"), QUARTER, 2, 24)
    show("COS_SHORTEST", p, error, 24)
    terms = taylor(tan, 0, 29)
    odd("TAN_SHORTEST", tan, lambda k: terms[2 * k + 3], QUARTER, 6)
    odd("ASIN", asin, lambda k: binomial(2 * k + 2, k + 1) / mpf(4) ** (k + 1) / (2 * k + 3), mpf("0.25"), 4)
    odd("ATAN", atan, lambda k: mpf(-1) ** (k + 1) / (2 * k + 3), (mpf(5) / 8 * mpf("1.0001")) ** 2, 5)
    rest = pi / 2
    for _ in range(3):
        print("SHORT_HALF_PI", repr(float(rounded(rest, 24))))
        rest -= rounded(rest, 24)
    rows, errors = zip(*(near(multiple) for multiple in range(16)))
    print(f"SHORT_RATIO, error 2^{float(log(max(errors), 2)):.1f}; the last row is SHORT_RATIO_LOW")
    for row in zip(*rows):
        print(", ".join(literal(x, 24) for x in row))
