"""Prints the polynomials and tables of functions that are computed in the arithmetic of `f32`: sine and cosine in
`src/math/trig.rs`, the error function in `src/math/erf_table.rs`.
"""

from mpmath import cos, erf, factorial, log, mpf, pi, sin, sqrt

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


if __name__ == "__main__":
    f = series(lambda z: (sin(sqrt(z)) / sqrt(z) - 1) / z, lambda k: mpf(-1) ** (k + 1) / factorial(2 * k + 3))
    p, error = fit(f, lambda z: z, mpf("1e-9"), QUARTER, 2, 24)
    show("SIN_SHORTEST", p, error, 24)
    f = series(lambda z: (cos(sqrt(z)) - 1 + z / 2) / z**2, lambda k: mpf(-1) ** k / factorial(2 * k + 4))
    p, error = fit(f, lambda z: z * z, mpf("1e-9"), QUARTER, 2, 24)
    show("COS_SHORTEST", p, error, 24)
    rest = pi / 2
    for _ in range(3):
        print("SHORT_HALF_PI", repr(float(rounded(rest, 24))))
        rest -= rounded(rest, 24)
    rows, errors = zip(*(near(multiple) for multiple in range(16)))
    print(f"SHORT_RATIO, error 2^{float(log(max(errors), 2)):.1f}; the last row is SHORT_RATIO_LOW")
    for row in zip(*rows):
        print(", ".join(literal(x, 24) for x in row))
