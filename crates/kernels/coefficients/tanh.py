"""Prints the constants of `src/math/hyperbolic.rs`."""

from mpmath import mpf, sqrt, tanh

from fit import fit, series, show

TAYLOR = [mpf(-1) / 3, mpf(2) / 15, mpf(-17) / 315, mpf(62) / 2835, mpf(-1382) / 155925, mpf(21844) / 6081075]


def tail(z):
    x = sqrt(z)
    return (tanh(x) / x - 1) / z


f = series(tail, lambda k: TAYLOR[k] if k < len(TAYLOR) else 0)
# The error is relative to tanh x, for |x| <= 1.
p, error = fit(f, lambda z: z + mpf(2) ** -30, 0, 1, 7, 24)
show("TANH_NEAR_0", p, error, 24)
