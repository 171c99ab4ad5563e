"""Minimax polynomials of `src/math/short.rs`: evaluated in f64, as precise as f32 needs.

Run: `python short.py`. Prints each polynomial as a Rust constant, as `trig_special.py` does.
"""

from mpmath import mp, mpf

from trig_special import fit

HALF = mp.log(2) / 2 * mpf("1.0001")


def centred_erf(z):
    x = mp.sqrt(z)
    return mp.erf(x) / x


def tail(c):
    """(1 + 2x) exp(x^2) erfc x in t = (x - c) / (x + c)."""

    def f(t):
        x = c * (1 + t) / (1 - t)
        return (1 + 2 * x) * mp.exp(x * x) * mp.erfc(x)

    return f


if __name__ == "__main__":
    fit("EXP", mp.exp, lambda r: mp.exp(-r), -HALF, HALF, 7)
    # Past 11 the complement is smaller than any f32.
    centre = mpf(3)
    f = tail(centre)
    fit("TAIL", f, lambda t: 1 / f(t), -1, (11 - centre) / (11 + centre), 12)
    fit("ERF", centred_erf, lambda z: 1 / centred_erf(z), 0, mpf("0.5"), 6)
