"""Minimax polynomials of `src/math/short.rs`: evaluated in f64, as precise as f32 needs.

Run: `python short.py`. Prints each polynomial as a Rust constant, as `trig_special.py` does.
"""

from mpmath import mp, mpf

from trig_special import erfinv_of_logarithm, fit

HALF = mp.log(2) / 2 * mpf("1.0001")


def ratio(f):
    """f(x) / x."""
    return lambda x: f(x) / x


def in_square(f):
    """f of an even function's square."""
    return lambda z: f(mp.sqrt(z))


def lgamma_factor(v):
    """lgamma(t) / ((t - 1) (t - 2)) for t = v + 3/2."""
    t = v + mpf(3) / 2
    return mp.loggamma(t) / ((t - 1) * (t - 2))


def stirling(z):
    """What Stirling's formula misses of lgamma(x), times x, for z = 1/x^2."""
    x = 1 / mp.sqrt(z)
    return (mp.loggamma(x) - (x - mpf(1) / 2) * mp.log(x) + x - mp.log(2 * mp.pi) / 2) * x


def digamma_factor(v):
    """digamma(t) / (t - root) for t = v + 3/2."""
    t = v + mpf(3) / 2
    return mp.digamma(t) / (t - mp.findroot(mp.digamma, mpf("1.4616321449683623")))


def digamma_series(z):
    """(log x - 1/(2x) - digamma(x)) x^2 for z = 1/x^2."""
    x = 1 / mp.sqrt(z)
    return (mp.log(x) - 1 / (2 * x) - mp.digamma(x)) * x * x


def fit_ratio(name, f, low, high, degree):
    """A function that is about its argument: f(x) / x with an error relative to itself."""
    fit(name, f, lambda x: 1 / f(x), low, high, degree)


if __name__ == "__main__":
    fit("EXP", mp.exp, lambda r: mp.exp(-r), -HALF, HALF, 7)
    fit_ratio("EXPM1", ratio(mp.expm1), -HALF, HALF, 7)
    fit_ratio("SINH", in_square(ratio(mp.sinh)), mpf("1e-30"), HALF**2, 3)
    fit_ratio("COSH", in_square(mp.cosh), 0, HALF**2, 3)
    fit_ratio("TWICE_ATANH", in_square(ratio(lambda s: 2 * mp.atanh(s))), mpf("1e-30"), mpf("0.2005") ** 2, 4)
    fit_ratio("ATAN", in_square(ratio(mp.atan)), mpf("1e-30"), 1, 11)
    fit("LGAMMA", lgamma_factor, lambda v: 1 / lgamma_factor(v), mpf("-0.5"), mpf("0.5"), 11)
    # lgamma(x) = (x - 1/2) log x - x + log(2 pi) / 2 + STIRLING(1/x^2) / x for x >= 3.
    fit("STIRLING", stirling, lambda z: mp.sqrt(z) / mp.loggamma(1 / mp.sqrt(z)), mpf("1e-6"), mpf(1) / 9, 5)
    fit("DIGAMMA", digamma_factor, lambda v: 1 / digamma_factor(v), mpf("-0.5"), mpf("0.5"), 13)
    fit("DIGAMMA_SERIES", digamma_series, lambda z: z / mp.digamma(1 / mp.sqrt(z)), mpf("1e-6"), mpf(1) / 4, 7)
    # The largest f32 below 1 has the logarithm -15.95.
    middle = mpf("3.25")
    fit_ratio("ERFINV", lambda s: erfinv_of_logarithm(s + 3), -3, 3, 16)
    fit_ratio("ERFINV_NEAR_1", lambda s: erfinv_of_logarithm((s + middle) ** 2), mp.sqrt(6) - middle, mpf("0.75"), 13)
