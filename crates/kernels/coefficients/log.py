"""Prints the constants of `src/math/log.rs`."""

from mpmath import atanh, log, log1p, mpf, sqrt

from fit import fit, series, show, split

S2 = mpf("0.04") * mpf("1.001")


def atanh_tail(z):
    s = sqrt(z)
    return (atanh(s) / s - 1 - z / 3) / z**2


for bits, degree, integer_bits in [(24, 2, 8), (53, 7, 11)]:
    print(f"\n===== {bits} bits")
    split("ONE_THIRD", mpf(1) / 3, bits, 2, 0)
    split("INV_LN2", 1 / log(mpf(2)), bits, 2, 0)
    split("INV_LN10", 1 / log(mpf(10)), bits, 2, 0)
    split("LOG10_2", log(mpf(2)) / log(mpf(10)), bits, 2, integer_bits)
    # The error is that of atanh(s) relative to itself.
    f = series(atanh_tail, lambda k: mpf(1) / (2 * k + 5))
    p, error = fit(f, lambda z: z * z + mpf(2) ** -40, 0, S2, degree, bits)
    show("ATANH", p, error, bits)

# (log(1 + f) - f + f^2/2) / f^3, the error being relative to log(1 + f).
g = series(lambda f: (log1p(f) - f + f * f / 2) / f**3, lambda k: mpf(-1) ** k / (k + 3))
weight = lambda f: f * f if f == 0 else abs(f**3 / log1p(f))
for bits, degree in [(24, 7), (53, 20)]:
    print(f"\n===== {bits} bits, whole polynomial")
    p, error = fit(g, weight, mpf(-1) / 4, mpf(1) / 2, degree, bits)
    show("LOG", p, error, bits)
