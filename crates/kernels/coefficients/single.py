"""Prints the polynomials and tables of functions that are computed in the arithmetic of `f32`: sine, cosine and tangent
in `src/math/trig.rs`, their inverses in `src/math/single.rs`, the error function in `src/math/erf_table.rs`, the inverse
of the logistic function in `src/math/area.rs`.
"""

from mpmath import asin, atan, atanh, binomial, cos, erf, exp, factorial, findroot, log, mpf, nint, pi, sin, sqrt
from mpmath import tan, taylor

from fit import fit, literal, rounded, series, show

QUARTER = (pi / 4 * mpf("1.001")) ** 2
STEP = mpf(17) / 64
DEGREE = 5
# Below, the table has erf(x) / x, which is even; from the twelfth multiple on erf(x) is 1 but for few places.
RATIO_TO, FLAT_FROM = 3, 12


def centre(multiple):
    """A number near a multiple of the step, and what the table has there, which is nearly a number of the format."""
    at = STEP * multiple
    if multiple == 0:
        return at, rounded(2 / sqrt(pi), 24)
    if multiple >= FLAT_FROM:
        places = max(1, nint((1 - erf(at)) * 2**24))
        at = findroot(lambda x: log((1 - erf(x)) * 2**24 / places), at, tol=1e-20)
        return rounded(at, 24), 1 - places / mpf(2) ** 24
    grid = mpf(2) ** (-21 if multiple == 1 else -20)
    near = [at + i * grid for i in range(-400, 401)]
    values = [erf(x) / (x if multiple < RATIO_TO else 1) for x in near]
    missing = [abs(y / rounded(y, 24) - 1) for y in values]
    best = missing.index(min(missing))
    return near[best], rounded(values[best], 24)


def near(multiple):
    """The number, the table's value there, and the polynomial of the rest in the distance from the first power on."""
    at, value = centre(multiple)
    if multiple == 0:
        low = rounded(2 / sqrt(pi) - value, 24)
        f = lambda z: (erf(sqrt(z)) / sqrt(z) - value - low) / z
        p, error = fit(f, lambda z: z, mpf("1e-8"), (STEP * mpf("0.501")) ** 2, 1, 24)
        return [at, value, low, 0, p[0], 0, p[1], 0], error
    slope = value if multiple < RATIO_TO else 0

    def rest(t):
        if abs(t) < mpf("1e-12"):
            return 2 / sqrt(pi) * exp(-at * at) - slope
        return (erf(at + t) - (at + t if slope else 1) * value) / t

    ends = [STEP * (multiple + side) - at for side in (mpf("-0.501"), mpf("0.501"))]
    p, error = fit(rest, lambda t: t, *ends, DEGREE, 24)
    return [at, value, *p], error


def odd(name, function, term, largest, degree):
    """(f(x) - x) / x^3 of an odd function in powers of x^2, the error being relative to f(x)."""
    f = series(lambda z: (function(sqrt(z)) / sqrt(z) - 1) / z, term)
    p, error = fit(f, lambda z: z * sqrt(z) / function(sqrt(z)), mpf("1e-9"), largest, degree, 24)
    show(name, p, error, 24)


if __name__ == "__main__":
    f = series(lambda z: (sin(sqrt(z)) / sqrt(z) - 1) / z, lambda k: mpf(-1) ** (k + 1) / factorial(2 * k + 3))
    p, error = fit(f, lambda z: z, mpf("1e-9"), QUARTER, 2, 24)
    show("SIN", p, error, 24)
    f = series(lambda z: (cos(sqrt(z)) - 1 + z / 2) / z**2, lambda k: mpf(-1) ** k / factorial(2 * k + 4))
    p, error = fit(f, lambda z: z * z, mpf("1e-9"), QUARTER, 2, 24)
    show("COS", p, error, 24)
    terms = taylor(tan, 0, 29)
    odd("TAN", tan, lambda k: terms[2 * k + 3], QUARTER, 6)
    odd("ASIN", asin, lambda k: binomial(2 * k + 2, k + 1) / mpf(4) ** (k + 1) / (2 * k + 3), mpf("0.25"), 4)
    odd("ATAN", atan, lambda k: mpf(-1) ** (k + 1) / (2 * k + 3), (mpf(5) / 8 * mpf("1.0001")) ** 2, 5)
    f = series(lambda z: 2 * (atanh(sqrt(z)) / sqrt(z) - 1) / z, lambda k: mpf(2) / (2 * k + 3))
    p, error = fit(f, lambda z: z * sqrt(z) / atanh(sqrt(z)) / 2, mpf("1e-9"), mpf("0.0401"), 3, 24)
    show("TWICE_ATANH", p, error, 24)
    rest = pi / 2
    for _ in range(3):
        print("HALF_PI", repr(float(rounded(rest, 24))))
        rest -= rounded(rest, 24)
    rows, errors = zip(*(near(multiple) for multiple in range(16)))
    print(f"SHORT_CENTRES, SHORT_VALUES, SHORT_REST, error 2^{float(log(max(errors), 2)):.1f}")
    for row in zip(*rows):
        print(", ".join(literal(x, 24) if x else "0.0" for x in row))
