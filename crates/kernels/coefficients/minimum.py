"""Prints the constants of `src/math/minimum.rs`: where functions of f32 have their minimum, and what is above it near by.

Needs mpmath.
"""

from mpmath import diff, erfc, exp, findroot, mpf, pi, sqrt, tanh, taylor

from fit import evaluate, fit, literal, rounded, show

FUNCTIONS = {
    "GELU": (lambda x: x * erfc(-x / sqrt(mpf(2))) / 2, -0.75, mpf(7) / 128, 3),
    "GELU_TANH": (lambda x: x / 2 * (1 + tanh(sqrt(2 / pi) * (x + mpf("0.044715") * x**3))), -0.75, mpf(1) / 128, 1),
    "SILU": (lambda x: x / (1 + exp(-x)), -1.28, mpf(3) / 256, 1),
}
# Of the series at the minimum: far more than a polynomial has.
TERMS = 16


def two_words(x):
    """Two numbers of f32 whose sum is nearly this."""
    high = rounded(x, 24)
    return literal(high, 24), literal(rounded(x - high, 24), 24)


if __name__ == "__main__":
    for name, (f, near, reach, degree) in FUNCTIONS.items():
        place = findroot(lambda x: diff(f, x), near)
        above = taylor(f, place, TERMS + 2)[2:]
        coefficients, error = fit(lambda d: evaluate(above, d), lambda d: d * d, -reach, reach, degree, 24)
        print(f"{name}: minimum {two_words(f(place))} at {two_words(place)}, to a distance of {reach}")
        show(name, coefficients, error, 24)
